"""Sets of real numbers: intervals, inequalities and their unions, in one form."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from reasonenv.grading.budget import spend
from reasonenv.grading.equivalence import Verdict, conjunction
from reasonenv.grading.numeric.equality import float_value, same_expression
from reasonenv.grading.parsing.nodes import (
    MIRRORED,
    Node,
    inverse,
    is_inequality,
    is_known,
    negative,
    num,
    product,
)

_COMPOUNDS = frozenset(["relation", "list", "set", "tuple", "union"])
MAX_CONDITIONS = 16
"""Conditions at most whose intersection is computed."""
REAL_LINE = Node("sym", ("mathbb R",))


class Interval(NamedTuple):
    """The numbers between two endpoints; None is infinite."""

    low: Node | None
    low_closed: bool
    high: Node | None
    high_closed: bool

    @property
    def ends(self) -> tuple[float, float]:
        """The endpoints as floating-point numbers."""
        low, high = (end and float_value(end) for end in (self.low, self.high))
        return -inf if low is None else low, inf if high is None else high


_ALL = Interval(None, False, None, False)
Intervals = list[Interval]
SolutionSet = tuple[Intervals, str | None]
"""A union of intervals, and the name of the variable that it restricts, if any."""


def solution_set(node: Node) -> SolutionSet | None:
    """The union of intervals that a node describes, with its variable; None for any other set."""
    if node == REAL_LINE:
        return [_ALL], None
    return _RULES[node.op](node.args) if node.op in _RULES else None


def same_intervals(a: Intervals, b: Intervals) -> Verdict:
    """True if two unions consist of the same intervals, in any order."""
    if len(a) != len(b):
        return False
    a, b = (sorted(each, key=lambda interval: interval.ends) for each in (a, b))
    pairs = list(zip(a, b, strict=True))
    if any(x.low_closed != y.low_closed or x.high_closed != y.high_closed for x, y in pairs):
        return False
    ends = (end for x, y in pairs for end in ((x.low, y.low), (x.high, y.high)))
    return conjunction(x is y if x is None or y is None else same_expression(x, y) for x, y in ends)


def _interval(args: tuple[str, Sequence[Node]]) -> SolutionSet | None:
    brackets, items = args
    if len(items) != 2:
        return None
    low, high = map(_endpoint, items)
    return [Interval(low, brackets[0] == "[", high, brackets[1] == "]")], None


def _endpoint(node: Node) -> Node | None:
    """An endpoint: None if it is infinite, of either sign."""
    return None if "infty" in node.kinds else node


def _relation(args: tuple[Sequence[str], Sequence[Node]]) -> SolutionSet | None:
    ops, (left, *_, right) = args
    if ops == ("=",) and (name := _variable(left)) is not None and _is_bound(right):
        return [Interval(right, True, right, True)], name
    if not all(op in MIRRORED for op in ops):
        return None
    if len(ops) == 1:
        return _comparison(ops[0], left, right)
    return _between(ops, args[1]) if len(ops) == 2 else None


def _comparison(op: str, left: Node, right: Node) -> SolutionSet | None:
    """2 x + 1 < 5 as x < 2."""
    spend(5)
    if _is_bound(left):
        op, left, right = MIRRORED[op], right, left
    solution = _solved(left, right) if _is_bound(right) else None
    if solution is None:
        return None
    variable, bound, is_falling = solution
    op = MIRRORED[op] if is_falling else op
    closed = op in ("<=", ">=")
    below, above = Interval(None, False, bound, closed), Interval(bound, closed, None, False)
    if op == "!=":
        return [below, above], variable
    return [below if op in ("<", "<=") else above], variable


def _between(ops: Sequence[str], sides: Sequence[Node]) -> SolutionSet | None:
    """1 < x < 2, in either direction."""
    low, middle, high = sides
    if ops[0] in (">", ">="):
        ops, low, high = [MIRRORED[op] for op in reversed(ops)], high, low
    variable = _variable(middle)
    is_rising = all(op in ("<", "<=") for op in ops)
    if not is_rising or variable is None or not (_is_bound(low) and _is_bound(high)):
        return None
    return [Interval(_endpoint(low), ops[0] == "<=", _endpoint(high), ops[1] == "<=")], variable


def _solved(left: Node, bound: Node) -> tuple[str, Node, bool] | None:
    """Variable, bound and the sign of a: a x + b < c as x < (c - b) / a, True if a < 0."""
    if (variable := _variable(left)) is not None:
        return variable, bound, False
    terms = left.args if left.op == "add" else (left,)
    rising = [term for term in terms if not _is_bound(term)]
    factors = rising[0].args if len(rising) == 1 and rising[0].op == "mul" else rising
    names = [factor for factor in factors if not _is_bound(factor)]
    if len(rising) != 1 or len(names) != 1 or names[0].op != "sym":
        return None
    slope = product([*(factor for factor in factors if _is_bound(factor)), num(1)])
    if (value := float_value(slope)) is None:
        return None
    shifted = Node("add", (bound, *(negative(term) for term in terms if _is_bound(term))))
    return names[0].args[0], product([shifted, inverse(slope)]), value < 0


def _variable(node: Node) -> str | None:
    """The name of a variable or of a function value; None for any other node."""
    if node.op == "sym":
        return node.args[0]
    return f"{node.args[0]}()" if node.op == "call" else None


def _is_bound(node: Node) -> bool:
    """True if a node can bound an interval: a constant, finite or infinite."""
    return node.op not in _COMPOUNDS and is_known(node)


def _union(items: Sequence[Node]) -> SolutionSet | None:
    solutions = [solution for item in items if (solution := solution_set(item))]
    names = {name for _, name in solutions if name}
    if len(solutions) < len(items) or len(names) > 1:
        return None
    return [
        each for intervals, _ in solutions for each in intervals
    ], names.pop() if names else None


def _system(items: Sequence[Node]) -> SolutionSet | None:
    """The intersection of all items; if it is empty, the union, as in "x < 1, x > 4"."""
    union = _union(items)
    if union is None or union[1] is None or len(items) > MAX_CONDITIONS:
        return union
    is_system = all(item.op == "relation" for item in items)
    return ((is_system and _common(items)) or union[0]), union[1]


def _conjunction(items: Sequence[Node]) -> SolutionSet | None:
    """The intersection of inequalities with "and" between them, which may be empty."""
    union = _union(items)
    if union is None or not all(map(is_inequality, items)) or len(items) > MAX_CONDITIONS:
        return None
    return _common(items), union[1]


def _common(items: Sequence[Node]) -> Intervals:
    common = [_ALL]
    for item in items:
        solutions = solution_set(item)
        common = _intersection(common, solutions[0]) if solutions else []
    return common


def _difference(args: Sequence[Node]) -> SolutionSet | None:
    r"""R \setminus { 2 }, R \setminus { 2 } \setminus { 3 }."""
    whole, *removed = args
    solutions = solution_set(whole)
    points = [point for each in removed if each.op == "set" for point in each.args]
    is_finite = all(each.op == "set" for each in removed) and all(map(_is_bound, points))
    if solutions is None or not is_finite or len(points) > MAX_CONDITIONS:
        return None
    intervals, variable = solutions
    for point in points:
        complement = [Interval(None, False, point, False), Interval(point, False, None, False)]
        intervals = _intersection(intervals, complement)
    return intervals, variable


def _intersection(a: Intervals, b: Intervals) -> Intervals:
    spend(5 * len(a) * len(b))
    overlaps = [_overlap(x, y) for x in a for y in b]
    return [overlap for overlap in overlaps if overlap]


def _overlap(x: Interval, y: Interval) -> Interval | None:
    lower = max((x, y), key=lambda each: (each.ends[0], not each.low_closed))
    upper = min((x, y), key=lambda each: (each.ends[1], each.high_closed))
    low, high = lower.ends[0], upper.ends[1]
    if low > high or (low == high and not (lower.low_closed and upper.high_closed)):
        return None
    return Interval(lower.low, lower.low_closed, upper.high, upper.high_closed)


def _points(items: Sequence[Node]) -> SolutionSet | None:
    """{ 1, 2 } as closed intervals of one point each."""
    if not items or not all(map(_is_bound, items)):
        return None
    return [Interval(item, True, item, True) for item in items], None


_RULES: Mapping[str, Callable[[Any], SolutionSet | None]] = {
    "tuple": _interval,
    "relation": _relation,
    "list": _system,
    "union": _union,
    "intersection": _conjunction,
    "minus": _difference,
    "set": _points,
    "builder": lambda args: solution_set(args[1]),
}
