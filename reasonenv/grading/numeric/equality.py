"""Are two expressions equal? They are when they agree wherever both are real.

Rational expressions are compared exactly. All others are evaluated where their symbols stand for
fixed numbers: at eight points with rough numbers, which settles most that differ, and at two where
those agree with fine ones.
"""

from functools import lru_cache
from typing import Any

from reasonenv.grading.numeric.evaluation import Evaluator
from reasonenv.grading.numeric.exact import TooLarge, exact_value
from reasonenv.grading.numeric.precision import FINE, ROUGH, Precision, is_real
from reasonenv.grading.parsing.nodes import Node, is_known

NUM_POINTS = 8
"""Points at which rough numbers are compared."""
NUM_FINE_POINTS = 2
"""Points at which fine ones are."""
# What rough numbers that are equal may differ by, relative to the larger; they only tell apart.
_ROUGH_TOLERANCE = 1e-6


def same_expression(a: Node, b: Node) -> bool | None:
    """True if two expressions are equal wherever both are real; None when that stays open.

    Args:
        a: An expression, without ± in it.
        b: Another.

    Raises:
        TooLarge: A number in one of them has too many digits.
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


def float_value(node: Node) -> float | None:
    """The value of a real constant in floating point, None when there is none."""
    value = _value(node, ROUGH, 0, True) if is_known(node) else None
    return value.real if value is not None and value is not TooLarge and is_real(value) else None


def constant_factor(a: Node, b: Node) -> float | None:
    """The real constant k with a = k b, None when there is none.

    Args:
        a: An expression.
        b: Another; neither is equal to 0 everywhere.
    """
    ratios: list[complex] = []
    for point in range(6):
        above, below = (_value(node, ROUGH, point, True) for node in (a, b))
        if None in (above, below) or TooLarge in (above, below):
            continue
        if abs(below) >= 1e-9 and abs(above) >= 1e-9:
            ratios.append(above / below)
    if len(ratios) < 3 or abs(ratios[0].imag) > 1e-9:
        return None
    first = ratios[0]
    is_constant = all(abs(ratio - first) <= 1e-9 * abs(first) for ratio in ratios)
    return first.real if is_constant and _is_proportional(a, b) else None


def _is_proportional(a: Node, b: Node) -> bool:
    """True if a / b is the same fine number at two points."""
    first, second = (_values(a, b, FINE, point, True) for point in range(2))
    if first is None or second is None:
        return False
    (above, below), (other_above, other_below) = first, second
    if above == other_above:
        return False  # nothing varies, and of two constants each is so many of the other
    return _near(above * other_below, other_above * below, FINE.rounding)


def _agree_at_points(a: Node, b: Node, natural: bool) -> bool | None:
    r"""True if two expressions agree, with \log as that to base e or 10."""
    varies = not (is_known(a) and is_known(b))
    points = range(NUM_POINTS if varies else 1)
    agreeing: list[int] = []
    for point in points:
        try:
            values = _values(a, b, ROUGH, point, natural)
        except TooLarge:
            agreeing.append(point)  # for all that rough numbers tell
            continue
        if values is None or (varies and is_real(values[0]) != is_real(values[1])):
            continue
        if not _near(*values, _ROUGH_TOLERANCE):
            return False
        agreeing.append(point)
    if len(agreeing) < min(NUM_FINE_POINTS, len(points)):
        return None
    return _agree_precisely(a, b, agreeing[:NUM_FINE_POINTS], natural)


def _agree_precisely(a: Node, b: Node, points: list[int], natural: bool) -> bool | None:
    """True if the fine values of two expressions are the same at every point."""
    pairs = [_values(a, b, FINE, point, natural) for point in points]
    verdicts = [None if pair is None else _near(*pair, FINE.rounding) for pair in pairs]
    return False if False in verdicts else None if None in verdicts else True


def _near(left: Any, right: Any, tolerance: Any) -> bool:
    return bool(abs(left - right) <= tolerance * max(abs(left), abs(right)))


def _values(
    a: Node, b: Node, precision: Precision, point: int, natural: bool
) -> tuple[Any, Any] | None:
    """The values of both, None where one of them has none.

    Raises:
        TooLarge: One cannot be computed.
    """
    values = tuple(_value(node, precision, point, natural) for node in (a, b))
    for value in values:
        if value is None:
            return None
        if value is TooLarge:
            raise TooLarge
    return values


# Members of lists and items of a group of responses are compared again and again.
@lru_cache(maxsize=4096)
def _value(node: Node, precision: Precision, point: int, natural: bool) -> Any:
    """The value of an expression, None where it has none; TooLarge, the class, where it is that."""
    try:
        return Evaluator(precision, point, natural).value(node)
    except TooLarge:
        return TooLarge
    except (ArithmeticError, ValueError):
        return None
