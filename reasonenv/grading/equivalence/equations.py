"""Equality of equations, inequalities, systems and ratios."""

from collections.abc import Sequence

from reasonenv.grading.equivalence.collections import same_unordered
from reasonenv.grading.equivalence.intervals import REAL_LINE, same_intervals, solution_set
from reasonenv.grading.equivalence.normal_form import contains, definition, labeled_value
from reasonenv.grading.equivalence.verdicts import Match, Verdict, conjunction
from reasonenv.grading.numeric.equality import constant_factor, same_expression
from reasonenv.grading.numeric.exact import exact_value
from reasonenv.grading.parsing.nodes import (
    EXPRESSIONS,
    FALSE,
    MINUS_ONE,
    MIRRORED,
    SYMMETRIC,
    Node,
    inverse,
    is_constant,
    is_inequality,
    negative,
    num,
    product,
    substituted,
    walk,
)


def is_interval_set(node: Node) -> bool:
    """True if a node can only be a set of real numbers, or a part of the plane."""
    return node.op in ("union", "minus", "builder") or node == REAL_LINE or is_inequality(node)


def is_inequality_system(node: Node) -> bool:
    """True if a node is a list with inequalities in it."""
    return node.op == "list" and any(is_interval_set(item) for item in node.args)


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
    if a.op == "builder":
        return conjunction(matches(x, y) for x, y in zip(a.args, r.args, strict=True))
    return same_unordered(a.args, r.args, matches) if a.op in ("list", "union") else False


def same_equation(a: Node, r: Node, matches: Match) -> Verdict:
    """Equations are equal up to a factor; x = 5 may be written 5, and 5 as a + b = 5."""
    left, right = definition(a), definition(r)
    if a.op == r.op:
        if set(a.args[0]) != {"="} or set(r.args[0]) != {"="}:
            return _same_statement(a, r, matches)
        if left and right and _is_same_name(left[0], right[0]):
            return matches(_in_variable_of(r, a, left[1]), right[1])
        is_same = len(a.args[0]) == len(r.args[0]) and _same_up_to_factor(a, r, matches)
        return is_same or _solves(left, r) or _solves(right, a)
    value = left[1] if left is not None else labeled_value(a)
    if value is not None and r.op != "relation":
        return matches(value, r)
    if right is not None and a.op != "relation":
        return matches(a, right[1])
    return False


def _same_statement(a: Node, r: Node, matches: Match) -> Verdict:
    """Statements such as A ⊂ B, p ⇒ q and AB ∥ CD: the order counts unless they are symmetric."""
    (ops, sides), (ref_ops, ref_sides) = a.args, r.args
    if ops != ref_ops:
        return False
    verdict = conjunction(matches(x, y) for x, y in zip(sides, ref_sides, strict=True))
    if verdict or not SYMMETRIC.issuperset(ops):
        return verdict
    return conjunction(matches(x, y) for x, y in zip(sides[::-1], ref_sides, strict=True))


def _solves(solution: tuple[str, Node] | None, equation: Node) -> bool:
    """True if y = 1/x satisfies x y = 1, but y = 1/x + 1 does not; y occurs once and isolable."""
    if solution is None or len(equation.args[1]) != 2:
        return False
    name, value = Node("sym", (solution[0],)), solution[1]
    if value.op not in EXPRESSIONS or not _isolable(equation, name):
        return False
    if _has_other_zeros(equation, name, value):
        return False
    other = Node("add", (value, num(1)))
    return _holds(equation, name, value) is True and _holds(equation, name, other) is False


def _holds(equation: Node, name: Node, value: Node) -> Verdict:
    """True if both sides of an equation are equal at a value of a name."""
    left, right = (substituted(side, name, value) for side in equation.args[1])
    is_expression = left.op in EXPRESSIONS and right.op in EXPRESSIONS
    return same_expression(left, right) if is_expression else None


def _isolable(equation: Node, name: Node) -> bool:
    """True if a name occurs once in an equation, inside sums, products and quotients alone."""
    if sum(part == name for part in walk(equation)) != 1:
        return False
    ancestors = [part for part in walk(equation) if part != name and contains(part, name)]
    return all(part.op in ("relation", "add", "mul") or _is_reciprocal(part) for part in ancestors)


def _has_other_zeros(equation: Node, name: Node, value: Node) -> bool:
    """True if a factor of the name may be zero where its value exists, as in x (y - x^2) = 0.

    The x of x y = 1 may not: 0 is not 1. Nor may that of x y + 1 = 0, where -1/x has no value.
    """
    divisors = [part.args[0] for part in walk(value) if _is_reciprocal(part)]
    poles = {*divisors, *(part for each in divisors if each.op == "mul" for part in each.args)}
    sides = equation.args[1]
    is_nonzero = any(is_constant(side) and not _is_zero(side) for side in sides)
    return any(
        not (is_constant(factor) or contains(factor, name) or _is_reciprocal(factor))
        and factor not in poles
        for part in walk(equation)
        if part.op == "mul" and contains(part, name) and not (is_nonzero and part in sides)
        for factor in part.args
    )


def _is_reciprocal(node: Node) -> bool:
    return node.op == "pow" and node.args[1] == MINUS_ONE


def same_ratio(a: Node, r: Node, matches: Match) -> Verdict:
    """2 : 3 is 4 : 6 and 2/3; 2 : 0 is no ratio, but 0 : 2 is one."""
    if a.op != r.op:
        left, right = _quotient(a), _quotient(r)
        return left is not None and right is not None and matches(left, right)
    if len(a.args) != len(r.args) or [_is_zero(x) for x in a.args] != [_is_zero(x) for x in r.args]:
        return False
    terms = [(x, y) for x, y in zip(a.args, r.args, strict=True) if not _is_zero(x)]
    if not terms or _is_zero(a.args[-1]):
        return False
    (first, other), *rest = terms
    return conjunction(same_expression(product([first, y]), product([x, other])) for x, y in rest)


def _is_zero(node: Node) -> bool:
    return is_constant(node) and exact_value(node) == 0


def _same_inequality(a: Node, r: Node, matches: Match) -> Verdict:
    """Two inequalities, up to a positive factor of the difference of their sides."""
    (ops, sides), (ref_ops, ref_sides) = a.args, r.args
    if len(ops) != len(ref_ops):
        return False
    if len(ops) > 1:
        if ops[0][0] != ref_ops[0][0]:
            sides, ops = sides[::-1], tuple(MIRRORED[op] for op in ops[::-1])
        pairs = zip(sides, ref_sides, strict=True)
        return ops == ref_ops and conjunction(matches(x, y) for x, y in pairs)
    if _strictness(ops[0]) != _strictness(ref_ops[0]):
        return False
    ratio = constant_factor(_difference(ops[0], sides), _difference(ref_ops[0], ref_sides))
    return ratio is not None and (ratio > 0 or "!=" in ops)


def _strictness(op: str) -> str:
    """A comparison operator without its direction."""
    return op.strip("<>")


def _difference(op: str, sides: Sequence[Node]) -> Node:
    """Difference of the sides: negative where a < b, zero where a = b."""
    left, right = sides[::-1] if op in (">", ">=") else sides
    return Node("add", (left, negative(right)))


def _same_up_to_factor(a: Node, r: Node, matches: Match) -> Verdict:
    left, right = a.args[1], r.args[1]
    for sides in (right, right[::-1]):
        if conjunction(matches(x, y) for x, y in zip(left, sides, strict=True)):
            return True
    if len(left) > 2:
        return False
    return constant_factor(_difference("=", left), _difference("=", right)) is not None


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


def _quotient(node: Node) -> Node | None:
    """The value of a ratio of two, or of an expression."""
    if node.op != "ratio":
        return node if node.op in EXPRESSIONS else None
    return product([node.args[0], inverse(node.args[1])]) if len(node.args) == 2 else None
