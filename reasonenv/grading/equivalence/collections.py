"""Collections: lists and sets without order; points, intervals and matrices with order."""

from collections import Counter
from collections.abc import Sequence

from reasonenv.grading.equivalence.normal_form import defined_value, definition
from reasonenv.grading.equivalence.verdicts import Match, Verdict, conjunction
from reasonenv.grading.numeric.exact import TooLarge
from reasonenv.grading.parsing.nodes import Node

MAX_PAIRS = 1024
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
    if r.op == "set" and len(r.args) == 1:
        return matches(a, r.args[0])
    return False


def same_unordered(answers: Sequence[Node], references: Sequence[Node], matches: Match) -> Verdict:
    """True if answers and references pair up one to one, in any order.

    Raises:
        TooLarge: More than 1024 pairs would have to be compared.
    """
    answers, references = _without_names(answers, references)
    if len(answers) != len(references):
        return False
    return _Pairing(*_unequal(answers, references), matches).verdict()


class _Pairing:
    """Pairs of unequal answers and references, by augmenting paths.

    A reference takes the first free answer that matches it. Where none is free, the references of
    those that match give up theirs for another, since one answer may match several references:
    127/6 is 21.2 to three digits.
    """

    def __init__(self, answers: list[Node], references: list[Node], matches: Match) -> None:
        self._answers, self._references, self._matches = answers, references, matches
        self._verdicts: dict[tuple[int, int], Verdict] = {}
        self._owners: dict[int, int] = {}
        """Reference of each answer that is paired."""

    def verdict(self) -> Verdict:
        """True if all references have an answer of their own; None if that is not known."""
        if all(map(self._augment, range(len(self._references)))):
            return True
        return None if None in self._verdicts.values() else False

    def _augment(self, reference: int) -> bool:
        """Pairs one more reference, if there is a path to an answer that is free."""
        sources: dict[int, int] = {}
        references = [reference]
        for current in references:
            for answer in sorted(range(len(self._answers)), key=self._owners.__contains__):
                if answer in sources or not self._compare(answer, current):
                    continue
                sources[answer] = current
                if answer not in self._owners:
                    self._pair(answer, sources)
                    return True
                references.append(self._owners[answer])
        return False

    def _pair(self, answer: int | None, sources: dict[int, int]) -> None:
        """Pairs the answers of a path, from a free one back to the reference it began with."""
        answer_of = {reference: answer for answer, reference in self._owners.items()}
        while answer is not None:
            reference = sources[answer]
            self._owners[answer] = reference
            answer = answer_of.get(reference)

    def _compare(self, answer: int, reference: int) -> Verdict:
        pair = answer, reference
        if pair not in self._verdicts:
            if len(self._verdicts) >= MAX_PAIRS:
                raise TooLarge
            self._verdicts[pair] = self._matches(self._answers[answer], self._references[reference])
        return self._verdicts[pair]


def _unequal(a: Sequence[Node], b: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """Elements of each side that have no identical node on the other."""
    left, right = Counter(a), Counter(b)
    return list((left - right).elements()), list((right - left).elements())


def same_ordered(answers: Sequence[Node], references: Sequence[Node], matches: Match) -> Verdict:
    """True if each answer equals the reference at the same position."""
    if len(answers) != len(references):
        return False
    return conjunction(matches(a, r) for a, r in zip(answers, references, strict=True))


def same_tuple(a: Node, r: Node, matches: Match) -> Verdict:
    """Points and intervals: brackets and order count."""
    if a.op == r.op:
        return a.args[0] == r.args[0] and same_ordered(a.args[1], r.args[1], matches)
    if "matrix" in (a.op, r.op):
        return same_ordered(_cells(a), _cells(r), matches)
    return False


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
    """The values of x = {1, 2} against 1, 2."""
    relation = a if a.op == "relation" else r
    equation = definition(relation)
    if equation is not None and equation[1].op == "tuple":
        split = _component_equations(*relation.args[1])
        return split is not None and (matches(split, r) if relation is a else matches(a, split))
    if equation is None or equation[1].op not in _UNORDERED:
        return False
    return matches(equation[1], r) if a.op == "relation" else matches(a, equation[1])


def _component_equations(names: Node, values: Node) -> Node | None:
    """(a, b) = (3, 4) as a = 3, b = 4."""
    if names.op != "tuple" or len(names.args[1]) != len(values.args[1]):
        return None
    pairs = zip(names.args[1], values.args[1], strict=True)
    return Node("list", tuple(Node("relation", (("=",), pair)) for pair in pairs))


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
    if most == 0 or (all(names) and (len(names[0] | names[1]) > 1)):
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
