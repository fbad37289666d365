"""Equality of collections, equations, inequalities, systems and ratios.

Lists and sets have no order; points, intervals and matrices have one.
"""

from collections import Counter
from collections.abc import Sequence

from reasonenv.grading.equivalence import Match, Verdict, conjunction
from reasonenv.grading.equivalence.intervals import REAL_LINE, same_intervals, solution_set
from reasonenv.grading.equivalence.normal_form import (
    contains,
    defined_value,
    definition,
    labeled_value,
)
from reasonenv.grading.numeric.equality import constant_factor, same_expression
from reasonenv.grading.numeric.exact import TooLarge, exact_value
from reasonenv.grading.parsing.nodes import (
    EXPRESSIONS,
    FALSE,
    MINUS_ONE,
    SYMMETRIC,
    Node,
    inverse,
    is_constant,
    is_inequality,
    is_known,
    negative,
    num,
    product,
    substituted,
    walk,
)

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


def is_interval_set(node: Node) -> bool:
    """True if a node can only be a set of real numbers, or a part of the plane."""
    return node.op in ("union", "minus", "builder") or node == REAL_LINE or is_inequality(node)


def same_solution_set(a: Node, r: Node, matches: Match) -> Verdict:
    """Intervals, inequalities and unions, as sets of numbers or term by term."""
    left, right = solution_set(a), solution_set(r)
    if left is not None and right is not None:
        is_same_variable = left[1] == right[1] or None in (left[1], right[1])
        return is_same_variable and same_intervals(left[0], right[0])
    if is_inequality(a) and is_inequality(r):
        return _same_inequality(a, r, matches)
    if a.op != r.op:
        return False
    return same_unordered(a.args, r.args, matches) if a.op in ("list", "union") else False


def same_equation(a: Node, r: Node, matches: Match) -> Verdict:
    """Equations are equal up to a factor; x = 5 may be written 5, and 5 as a + b = 5."""
    left, right = definition(a), definition(r)
    if a.op == r.op:
        (ops, sides), (ref_ops, ref_sides) = a.args, r.args
        if {*ops, *ref_ops} == {"="}:
            if left and right and _is_same_name(left[0], right[0]):
                return matches(_in_variable_of(r, a, left[1]), right[1])
            return len(ops) == len(ref_ops) and _same_up_to_factor(sides, ref_sides, matches)
        # Of statements such as A ⊂ B, p ⇒ q and AB ∥ CD the order counts unless it says nothing.
        verdict = ops == ref_ops and same_ordered(sides, ref_sides, matches)
        is_turned = ops == ref_ops and not verdict and SYMMETRIC.issuperset(ops)
        return same_ordered(sides[::-1], ref_sides, matches) if is_turned else verdict
    value = left[1] if left is not None else labeled_value(a)
    if value is not None and r.op != "relation":
        return matches(value, r)
    return matches(a, right[1]) if right is not None and a.op != "relation" else False


def same_congruence(a: Node, r: Node, matches: Match) -> Verdict:
    """7 mod 10 and x ≡ 7 mod 10: the same modulus, and residues that differ by a multiple of it."""
    if a.op != r.op or not matches(a.args[1], r.args[1]):
        return False
    (*names, value), (*others, right) = a.args[0], r.args[0]
    if names and others and names != others:
        return False
    difference = Node("add", (value, negative(right)))
    return same_expression(Node("fn", ("mod", (difference, r.args[1]))), num(0))


def same_ratio(a: Node, r: Node, matches: Match) -> Verdict:
    """2 : 3 is 4 : 6 and 2/3; 2 : 0 is no ratio, but 0 : 2 is one."""
    if a.op != r.op:
        left, right = _quotient(a), _quotient(r)
        return left is not None and right is not None and matches(left, right)
    zeros, others = ([is_constant(x) and exact_value(x) == 0 for x in n.args] for n in (a, r))
    if zeros != others or zeros[-1]:
        return False
    pairs = [pair for *pair, zero in zip(a.args, r.args, zeros, strict=True) if not zero]
    first, other = pairs[0]
    return conjunction(
        same_expression(product([first, y]), product([x, other])) for x, y in pairs[1:]
    )


def _quotient(node: Node) -> Node | None:
    """The value of a ratio of two, or of an expression."""
    if node.op != "ratio":
        return node if node.op in EXPRESSIONS else None
    return product([node.args[0], inverse(node.args[1])]) if len(node.args) == 2 else None


def _same_inequality(a: Node, r: Node, matches: Match) -> Verdict:
    """Two inequalities, up to a positive factor of the difference of their sides."""
    (ops, sides), (ref_ops, ref_sides) = a.args, r.args
    if len(ops) > 1 or len(ref_ops) > 1:
        return ops == ref_ops and same_ordered(sides, ref_sides, matches)
    if ops[0].strip("<>") != ref_ops[0].strip("<>"):
        return False
    ratio = constant_factor(_difference(ops[0], sides), _difference(ref_ops[0], ref_sides))
    return ratio is not None and (ratio > 0 or "!=" in ops)


def _difference(op: str, sides: Sequence[Node]) -> Node:
    """Difference of the sides: negative where a < b, zero where a = b."""
    left, right = sides[::-1] if op in (">", ">=") else sides
    return Node("add", (left, negative(right)))


def _same_up_to_factor(left: Sequence[Node], right: Sequence[Node], matches: Match) -> Verdict:
    if any(same_ordered(left, sides, matches) for sides in (right, right[::-1])):
        return True
    differences = [_cleared(_difference("=", each)) for each in (left, right) if len(each) == 2]
    return len(differences) == 2 and constant_factor(*differences) is not None


def _cleared(difference: Node) -> Node:
    """A difference times its denominators: of y = 1/x the same as of x y = 1."""
    divisors = {
        part.args[0]
        for part in walk(difference)
        if part.op == "pow" and part.args[1] == MINUS_ONE and not is_known(part)
    }
    return product([difference, *sorted(divisors, key=repr)])


def _is_same_name(a: str, b: str) -> bool:
    """True if two names are equal, or y and a function value: y = 2x and f(x) = 2x."""
    return a == b or ("y" in (a, b) and (a.endswith("()") or b.endswith("()")))


def _in_variable_of(reference: Node, answer: Node, value: Node) -> Node:
    """The value t^2 of f(t) as x^2, where the reference defines f(x)."""
    left, right = answer.args[1][0], reference.args[1][0]
    if not (left.op == right.op == "call" and len(left.args[1]) == len(right.args[1]) == 1):
        return value
    old, new = left.args[1][0], right.args[1][0]
    if old.op == new.op == "sym" and old != new:
        return FALSE if contains(value, new) else substituted(value, old, new)
    return value
