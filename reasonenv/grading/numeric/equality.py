"""Equality of expressions: agreement at every point where both are real, and up to rounding.

Rational expressions are compared exactly. All others are evaluated at fixed values of their
symbols: in floating point at eight points, enough to separate most different ones, and in 150
digits at two of the points where those agree.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor, log10
from typing import Any, NamedTuple

from reasonenv.grading.budget import counted_cache
from reasonenv.grading.numeric.evaluation import (
    FINE,
    ROUGH,
    ExpressionEvaluator,
    Precision,
    is_real,
)
from reasonenv.grading.numeric.exact import TooLarge, exact_value
from reasonenv.grading.parsing.nodes import PI, Node, is_known, num, product

NUM_POINTS = 8
"""Points of the comparison in floating point."""
NUM_FINE_POINTS = 2
"""Points of the comparison in 150 digits."""
# Relative difference above which floating-point values are different; below it nothing is decided.
_ROUGH_TOLERANCE = 1e-6


def same_expression(a: Node, b: Node) -> bool | None:
    """True if two expressions are equal at all points where both are real; None if undecided.

    Args:
        a: An expression without ±.
        b: Another.

    Raises:
        TooLarge: A number in either has too many digits.
    """
    if a == b:
        return True
    left, right = exact_value(a), exact_value(b)
    if left is not None and right is not None:
        return left == right
    kinds = a.kinds | b.kinds
    verdict = _agree_at_points(a, b, natural=True)
    if verdict is False and "log" in kinds:
        verdict = _agree_at_points(a, b, natural=False)
    return None if verdict is False and "opaque" in kinds else verdict


def _pairs(a: Node, b: Node, points: range, natural: bool = True) -> Iterator[tuple[int, Any, Any]]:
    """The points where both expressions have a floating-point value, or the class TooLarge."""
    for point in points:
        left, right = (
            _value(node, ROUGH, 0 if is_known(node) else point, natural) for node in (a, b)
        )
        if left is not None and right is not None:
            yield point, left, right


def float_value(node: Node) -> float | None:
    """The floating-point value of a real constant, None if there is none."""
    value = _value(node, ROUGH, 0, True) if is_known(node) else None
    return value.real if value is not None and value is not TooLarge and is_real(value) else None


def constant_factor(a: Node, b: Node) -> float | None:
    """The real constant k with a = k b, None if there is none.

    Args:
        a: An expression, not identically 0.
        b: Another.
    """
    pairs = [pair for _, *pair in _pairs(a, b, range(6)) if TooLarge not in pair]
    ratios = [x / y for x, y in pairs if abs(x) >= 1e-9 and abs(y) >= 1e-9]
    if len(ratios) < 3 or abs(ratios[0].imag) > 1e-9:
        return None
    first = ratios[0]
    is_constant = all(abs(ratio - first) <= 1e-9 * abs(first) for ratio in ratios)
    return first.real if is_constant and _is_proportional(a, b) else None


def _is_proportional(a: Node, b: Node) -> bool:
    """True if a / b has the same value in 150 digits at two points."""
    above, other_above = (_value(a, FINE, point, True) for point in range(2))
    below, other_below = (_value(b, FINE, point, True) for point in range(2))
    if not {None, TooLarge}.isdisjoint((above, below, other_above, other_below)):
        return False
    # Of constants any two are proportional.
    is_constant = above == other_above
    return not is_constant and _near(above * other_below, other_above * below, FINE.rounding)


def _agree_at_points(a: Node, b: Node, natural: bool) -> bool | None:
    r"""True if two expressions agree, with \log to base e (natural) or 10; None if undecided."""
    varies = not (is_known(a) and is_known(b))
    is_complex = "i" in a.kinds | b.kinds
    points = range(NUM_POINTS if varies else 1)
    agreeing: list[int] = []
    num_apart = 0
    for point, left, right in _pairs(a, b, points, natural):
        if TooLarge in (left, right):
            if len(agreeing) == NUM_FINE_POINTS:
                break  # values too large for floating point are left to 150 digits
        elif not _near(left, right, _ROUGH_TOLERANCE):
            if not varies or is_complex or (is_real(left) and is_real(right)):
                return False
            num_apart += 1  # or another branch of a root or a logarithm
            continue
        agreeing.append(point)
    if num_apart == NUM_POINTS and is_known(a) != is_known(b):
        return False  # a number and what is never real
    if len(agreeing) < min(NUM_FINE_POINTS, len(points)):
        return None
    return _agree_precisely(a, b, agreeing[:NUM_FINE_POINTS], natural)


def _agree_precisely(a: Node, b: Node, points: Sequence[int], natural: bool) -> bool | None:
    """True if two expressions have the same value in 150 digits at every point.

    Raises:
        TooLarge: Either is too large to evaluate at one of them.
    """
    verdict: bool | None = True
    for point in points:
        values = [_value(node, FINE, point, natural) for node in (a, b)]
        if None in values:
            verdict = None
        elif TooLarge in values:
            raise TooLarge
        elif not _near(values[0], values[1], FINE.rounding):
            return False
    return verdict


def _near(left: Any, right: Any, tolerance: Any) -> bool:
    return bool(abs(left - right) <= tolerance * max(abs(left), abs(right)))


# Elements of lists are compared many times, at ten points; all trees in the cache take 20 MB.
@counted_cache(maxsize=1024)
def _value(node: Node, precision: Precision, point: int, natural: bool) -> Any:
    try:
        return ExpressionEvaluator(precision, point, natural).value(node)
    except TooLarge:
        return TooLarge
    except (ArithmeticError, ValueError):
        return None


ENOUGH_DIGITS = 6
"""Significant digits at least of a decimal answer that is accepted for an exact value."""
ROUNDED_DIGITS = 3
"""Significant digits at least of a reference that counts as a rounded exact value."""
CUT_DIGITS = 4
"""Significant digits at least of a reference that counts as a rounded longer decimal."""


class Decimal(NamedTuple):
    """Precision of a written decimal.

    Attributes:
        digits: Number of significant digits.
        unit: Unit of the last of them, 0.01 for 1.25.
    """

    digits: int
    unit: float


def same_value(answer: Node, reference: Node) -> bool | None:
    """True if two expressions are equal, or one is the other rounded or in degrees.

    Raises:
        TooLarge: A number in either has too many digits.
    """
    verdict = same_expression(answer, reference)
    if verdict is not False:
        return verdict
    for angle, arc in ((answer, reference), (reference, answer)):
        is_arc = arc.op != "deg" and "pi" in arc.kinds
        if angle.op == "deg" and is_arc and same_expression(to_radians(angle.args[0]), arc):
            return True
    return _rounds(answer, reference)


def to_radians(degrees: Node) -> Node:
    """A number of degrees, in radians."""
    return product([degrees, PI, num(Fraction(1, 180))])


def _rounds(answer: Node, reference: Node) -> bool:
    """True if one value is a decimal that rounds the other."""
    x, y = float_value(answer), float_value(reference)
    if not x or not y:
        return False
    distance = abs(x - y)
    decimal, target = decimal_of(answer), decimal_of(reference)
    if decimal and target:
        is_finer = target.digits >= CUT_DIGITS and decimal.digits > target.digits
        return is_finer and distance <= target.unit / 2
    if target:
        is_close = target.digits >= ROUNDED_DIGITS and distance <= target.unit / 2
        return is_close and not _is_whole(answer)
    if decimal is None or decimal.digits < ENOUGH_DIGITS or distance >= decimal.unit:
        return False
    return not _is_whole(reference)


def _is_whole(node: Node) -> bool:
    value = exact_value(node)
    return value is not None and value.denominator == 1


def decimal_of(node: Node) -> Decimal | None:
    """Digits of a decimal such as 0.50 or 1.5 x 10^8; None for any other node."""
    if node.op == "mul" and len(node.args) == 2 and node.args[1].op == "pow":
        inner, scale = decimal_of(node.args[0]), float_value(node.args[1])
        return Decimal(inner.digits, inner.unit * abs(scale)) if inner and scale else None
    if node.op != "num" or not node.args[0] or not node.args[1]:
        return None
    value, places = node.args
    return Decimal(places + floor(log10(abs(value))) + 1, 10.0**-places)
