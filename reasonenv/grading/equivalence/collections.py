"""Collections: lists and sets without order; points, intervals and matrices with order."""

from collections import Counter
from collections.abc import Sequence

from reasonenv.grading.equivalence import Match, Verdict, conjunction
from reasonenv.grading.equivalence.normal_form import defined_value, definition
from reasonenv.grading.numeric.exact import TooLarge
from reasonenv.grading.parsing.nodes import Node

MAX_PAIRS = 4096
"""Pairs of elements at most that are compared, when the order is free."""
_UNORDERED = frozenset(["list", "set"])


def same_collection(a: Node, r: Node, matches: Match) -> Verdict:
    """Two lists or sets, in any order; or one of them and an equivalent form without it."""
    if a.op in _UNORDERED and r.op in _UNORDERED:
        return same_unordered(a.args, r.args, matches)
    if "tuple" in (a.op, r.op):
        return _same_coordinates(a, r, matches)
    if "relation" in (a.op, r.op):
        left, right = _values_of_name(a), _values_of_name(r)
        return False if left is None or right is None else matches(left, right)
    left, right = (n.args[0] if n.op == "set" and len(n.args) == 1 else n for n in (a, r))
    return (left is not a or right is not r) and matches(left, right)


def same_unordered(answers: Sequence[Node], references: Sequence[Node], matches: Match) -> Verdict:
    """True if answers and references pair up one to one, in any order.

    Identical ones are paired first, and of the others each reference with the first answer that
    matches no other reference better.

    Raises:
        TooLarge: More than 4096 pairs would have to be compared.
    """
    answers, references = _without_names(answers, references)
    if len(answers) != len(references):
        return False
    left, right = Counter(answers), Counter(references)
    answers, references = list((left - right).elements()), list((right - left).elements())
    if len(answers) ** 2 > MAX_PAIRS:
        raise TooLarge
    verdicts = [[matches(answer, each) for answer in answers] for each in references]
    is_undecided = any(None in row for row in verdicts)
    while verdicts:
        # The reference with the fewest matches first: 127/6 is 21.2 to three digits as well.
        row = min(verdicts, key=lambda row: row.count(True))
        if True not in row:
            return None if is_undecided else False
        verdicts.remove(row)
        column = min(
            (k for k, verdict in enumerate(row) if verdict),
            key=lambda k: sum(other[k] is True for other in verdicts),
        )
        verdicts = [other[:column] + other[column + 1 :] for other in verdicts]
    return True


def same_ordered(answers: Sequence[Node], references: Sequence[Node], matches: Match) -> Verdict:
    """True if each answer equals the reference at the same position."""
    if len(answers) != len(references):
        return False
    return conjunction(map(matches, answers, references))


def same_rows(a: Node, r: Node, matches: Match) -> Verdict:
    """Points, intervals and matrices; a row or a column of a matrix may be written as a point."""
    if a.op == r.op == "tuple":
        return a.args[0] == r.args[0] and same_ordered(a.args[1], r.args[1], matches)
    rows, others = _rows(a), _rows(r)
    if a.op != r.op:
        rows, others = ([sum(n, ())] if {len(x) for x in n} == {1} else n for n in (rows, others))
    if not rows or len(rows) != len(others):
        return False
    return conjunction(same_ordered(x, y, matches) for x, y in zip(rows, others, strict=True))


def _rows(node: Node) -> Sequence[tuple[Node, ...]]:
    """The rows of a matrix, also of one written as [[1, 2], [3, 4]]; a point is one row."""
    if node.op != "tuple":
        return node.args if node.op == "matrix" else ()
    items = node.args[1]
    return [row.args[1] for row in items] if all(x.op == "tuple" for x in items) else [items]


def _same_coordinates(a: Node, r: Node, matches: Match) -> Verdict:
    """(1, 2) against x = 1, y = 2: a list has an order only if all its elements have names."""
    point, listed = (a, r) if a.op == "tuple" else (r, a)
    if point.args[0] != "()" or not all(definition(item) for item in listed.args):
        return False
    left, right = (
        node.args[1] if node is point else list(map(defined_value, node.args)) for node in (a, r)
    )
    return same_ordered(left, right, matches)


def _values_of_name(node: Node) -> Node | None:
    """The values of x = {1, 2}; other collections as such."""
    if node.op != "relation":
        return node
    defined = definition(node)
    return defined[1] if defined and defined[1].op in _UNORDERED else None


def _without_names(
    answers: Sequence[Node], references: Sequence[Node]
) -> tuple[Sequence[Node], Sequence[Node]]:
    """Elements without names that only one side has, or that are all the same.

    If one side has several names and the other none, the order assigns the values, so each side
    becomes one point.
    """
    sides = (answers, references)
    names = [{defined[0] for defined in map(definition, side) if defined} for side in sides]
    values = [list(map(defined_value, side)) for side in sides]
    if _are_numbered(*names) or _are_numbered(*reversed(names)):
        return values[0], values[1]
    if names[0] != names[1] and all(not each or _are_roots(each) for each in names):
        return values[0], values[1]
    most = max(map(len, names))
    if most == 0 or (all(names) and len(names[0] | names[1]) > 1):
        return answers, references
    if most > 1:
        return [Node("tuple", ("()", tuple(values[0])))], [Node("tuple", ("()", tuple(values[1])))]
    return values[0], values[1]


def _are_roots(names: set[str]) -> bool:
    """True for x_1, x_2: the values of one unknown, in any order, and no sequence."""
    return len({name.partition("_")[0] for name in names}) == 1 and all(
        name[:2] in ("x_", "z_", "t_") and name[2:].isdecimal() for name in names
    )


def _are_numbered(names: set[str], plain: set[str]) -> bool:
    """True if one side has x_1 and x_2 for the x of the other."""
    return len(names) > len(plain) == 1 and {name.partition("_")[0] for name in names} == plain
