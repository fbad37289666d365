"""Sets of real numbers: intervals, inequalities and their unions, in one form."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reasonenv.mathematics.arithmetic import approximate, parts, same
from reasonenv.mathematics.syntax import Node, negative, num, product

INFINITY = Node("const", ("infty",))
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}


class Interval(NamedTuple):
    """The numbers between two ends; an end of None is infinite."""

    low: Node | None
    low_closed: bool
    high: Node | None
    high_closed: bool


Region = list[Interval]


def region(node: Node) -> tuple[Region, str | None] | None:
    """The set that a tree describes, and the variable that it speaks of; None for no such set."""
    if node.op == "tuple" and len(node.args[1]) == 2:
        return _interval(*node.args)
    if node.op == "relation":
        return _relation(*node.args)
    if node.op in ("union", "list"):
        return _union(node.args)
    if node.op == "set" and node.args and all(_is_constant(item) for item in node.args):
        return [Interval(item, True, item, True) for item in node.args], None
    if node.op == "builder":
        return region(node.args[1])
    return None


def same_region(a: Region, b: Region) -> bool | None:
    """Whether two sets of intervals are the same, in any order."""
    if len(a) != len(b):
        return False
    left, right = sorted(a, key=_key), sorted(b, key=_key)
    verdicts = [_same_interval(x, y) for x, y in zip(left, right, strict=True)]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def is_inequality(node: Node) -> bool:
    """Whether a tree is a chain of comparisons, none of them an equation."""
    return node.op == "relation" and all(op in _FLIPPED for op in node.args[0])


def _interval(brackets: str, items: Sequence[Node]) -> tuple[Region, str | None] | None:
    low, high = (_end(item) for item in items)
    return [Interval(low, brackets[0] == "[", high, brackets[1] == "]")], None


def _end(node: Node) -> Node | None:
    return None if any(part == INFINITY for part in parts(node)) else node


def _relation(ops: Sequence[str], sides: Sequence[Node]) -> tuple[Region, str | None] | None:
    if len(ops) == 1 and ops[0] == "in":
        inner = region(sides[1])
        return (inner[0], _subject(sides[0])) if inner else None
    if any(op not in _FLIPPED for op in ops):
        return None
    if len(ops) == 1:
        return _comparison(ops[0], *sides)
    if len(ops) == 2:
        return _between(ops, sides)
    return None


def _comparison(op: str, left: Node, right: Node) -> tuple[Region, str | None] | None:
    if _is_constant(left):
        op, left, right = _FLIPPED[op], right, left
    if not _is_constant(right):
        return None
    solved = _solved(left, right)
    if solved is None:
        return None
    subject, bound, falling = solved
    op = _FLIPPED[op] if falling else op
    closed = op in ("<=", ">=")
    below = Interval(None, False, bound, closed)
    above = Interval(bound, closed, None, False)
    if op == "!=":
        return [below, above], subject
    return [below if op in ("<", "<=") else above], subject


def _between(ops: Sequence[str], sides: Sequence[Node]) -> tuple[Region, str | None] | None:
    low, middle, high = sides
    if ops[0] in (">", ">="):
        ops, low, high = [_FLIPPED[ops[1]], _FLIPPED[ops[0]]], high, low
    subject = _subject(middle)
    if any(op not in ("<", "<=") for op in ops) or subject is None:
        return None
    if not (_is_constant(low) and _is_constant(high)):
        return None
    return [Interval(_end(low), ops[0] == "<=", _end(high), ops[1] == "<=")], subject


def _union(items: Sequence[Node]) -> tuple[Region, str | None] | None:
    total: Region = []
    subjects: set[str] = set()
    for item in items:
        found = region(item)
        if found is None:
            return None
        total += found[0]
        subjects |= {found[1]} if found[1] else set()
    return (total, subjects.pop() if subjects else None) if len(subjects) < 2 else None


def _solved(left: Node, bound: Node) -> tuple[str, Node, bool] | None:
    """The name alone on one side: a x + b < c as x < (c - b) / a, and whether a is negative."""
    subject = _subject(left)
    if subject is not None:
        return subject, bound, False
    slope, offset, name = _line(left)
    if name is None or not slope:
        return None
    shifted = Node("add", (bound, negative(offset)))
    solution = product([shifted, Node("pow", (num(1) if slope is None else slope, num(-1)))])
    value = approximate(slope)
    return None if value is None else (name, solution, value < 0)


def _line(node: Node) -> tuple[Node | None, Node, str | None]:
    """a, b and x of a x + b."""
    terms = node.args if node.op == "add" else (node,)
    offset: list[Node] = []
    slope: Node | None = None
    name: str | None = None
    for term in terms:
        if _is_constant(term):
            offset.append(term)
            continue
        factors = term.args if term.op == "mul" else (term,)
        names = [factor for factor in factors if not _is_constant(factor)]
        if name is not None or len(names) != 1 or names[0].op != "sym":
            return None, num(0), None
        name = names[0].args[0]
        slope = product([*(f for f in factors if _is_constant(f)), num(1)])
    total = Node("add", tuple(offset)) if offset else num(0)
    return slope, total, name


def _subject(node: Node) -> str | None:
    """The name of a lone variable or of a function's value."""
    if node.op == "sym":
        return node.args[0]
    return f"{node.args[0]}()" if node.op == "call" else None


def _is_constant(node: Node) -> bool:
    return node.op not in ("relation", "list", "set", "tuple", "union") and not any(
        part.op in ("sym", "call", "opaque") for part in parts(node)
    )


def _key(interval: Interval) -> tuple[float, float]:
    low = None if interval.low is None else approximate(interval.low)
    high = None if interval.high is None else approximate(interval.high)
    return (float("-inf") if low is None else low, float("inf") if high is None else high)


def _same_interval(a: Interval, b: Interval) -> bool | None:
    if (a.low_closed, a.high_closed) != (b.low_closed, b.high_closed):
        return False
    verdicts = list(_same_ends(a, b))
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _same_ends(a: Interval, b: Interval) -> Iterator[bool | None]:
    for x, y in ((a.low, b.low), (a.high, b.high)):
        yield (x is y) if x is None or y is None else same(x, y)
