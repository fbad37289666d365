"""Collections: lists and sets without order; points, intervals and matrices with order."""

from collections import Counter
from collections.abc import Sequence

from reasonenv.grading.equivalence.normal_form import defined_value, definition
from reasonenv.grading.equivalence.verdicts import Match, Verdict, conjunction
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
        return _values_of_name(a, r, matches)
    if a.op == "set" and len(a.args) == 1:
        return matches(a.args[0], r)
    return matches(a, r.args[0]) if r.op == "set" and len(r.args) == 1 else False


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
    return conjunction(matches(a, r) for a, r in zip(answers, references, strict=True))


def same_tuple(a: Node, r: Node, matches: Match) -> Verdict:
    """Points and intervals: brackets and order count."""
    if a.op == r.op:
        return a.args[0] == r.args[0] and same_ordered(a.args[1], r.args[1], matches)
    return same_ordered(_cells(a), _cells(r), matches) if "matrix" in (a.op, r.op) else False


def same_matrix(a: Node, r: Node, matches: Match) -> Verdict:
    """Matrices, cell by cell; a row or a column may be written as a point."""
    a, r = _as_matrix(a), _as_matrix(r)
    if a.op != r.op:
        return same_tuple(a, r, matches) if "tuple" in (a.op, r.op) else False
    if len(a.args) != len(r.args):
        return False
    return conjunction(same_ordered(x, y, matches) for x, y in zip(a.args, r.args, strict=True))


def _as_matrix(node: Node) -> Node:
    """[[1, 2], [3, 4]] as a matrix; any other node unchanged."""
    if node.op == "tuple" and all(row.op == "tuple" for row in node.args[1]):
        return Node("matrix", tuple(row.args[1] for row in node.args[1]))
    return node


def _cells(node: Node) -> Sequence[Node]:
    """The coordinates of a point, or of a matrix that is one row or one column."""
    if node.op == "tuple":
        return node.args[1]
    rows = node.args
    return rows[0] if len(rows) == 1 else tuple(row[0] for row in rows if len(row) == 1)


def _same_coordinates(a: Node, r: Node, matches: Match) -> Verdict:
    """(1, 2) against x = 1, y = 2: a list has an order only if all its elements have names."""
    point, listed = (a, r) if a.op == "tuple" else (r, a)
    if point.args[0] != "()" or not all(definition(item) for item in listed.args):
        return False
    values = [defined_value(item) for item in listed.args]
    if point is r:
        return same_ordered(values, r.args[1], matches)
    return same_ordered(a.args[1], values, matches)


def _values_of_name(a: Node, r: Node, matches: Match) -> Verdict:
    """The values of x = {1, 2} against 1, 2, and (a, b) = (3, 4) against a = 3, b = 4."""
    relation = a if a.op == "relation" else r
    equation = definition(relation)
    value = equation and equation[1]
    if value is not None and value.op == "tuple":
        names, values = relation.args[1]
        if names.op != "tuple" or len(names.args[1]) != len(values.args[1]):
            return False
        pairs = zip(names.args[1], values.args[1], strict=True)
        value = Node("list", tuple(Node("relation", (("=",), pair)) for pair in pairs))
    elif value is None or value.op not in _UNORDERED:
        return False
    return matches(value, r) if relation is a else matches(a, value)


def _without_names(
    answers: Sequence[Node], references: Sequence[Node]
) -> tuple[Sequence[Node], Sequence[Node]]:
    """Elements without names that only one side has, or that are all the same.

    If one side has several names and the other none, the order assigns the values, so each side
    becomes one point.
    """
    sides = (answers, references)
    names = [{equation[0] for equation in map(definition, side) if equation} for side in sides]
    values = [[defined_value(item) for item in side] for side in sides]
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
