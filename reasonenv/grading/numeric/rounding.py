"""Equality of values up to rounding of decimals, and angles in degrees or radians."""

from fractions import Fraction
from math import floor, log10
from typing import NamedTuple

from reasonenv.grading.numeric.equality import exact_value, float_value, same_expression
from reasonenv.grading.parsing.nodes import PI, Node, num, product

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
    return _is_degrees_as_arc(answer, reference) or _rounds(answer, reference)


def omits_base(answer: Node, reference: Node) -> bool:
    """True if an answer has the digits of a number in another base, 4210_7, without the base."""
    digits, _, base = reference.args[0].partition("_")
    is_number = digits.isdecimal() and base.isdecimal() and max(map(int, digits)) < int(base)
    return is_number and answer.args == (Fraction(int(digits)), 0)


def to_radians(degrees: Node) -> Node:
    """A number of degrees, in radians."""
    return product([degrees, PI, num(Fraction(1, 180))])


def _is_degrees_as_arc(a: Node, b: Node) -> bool:
    """True if one is an angle in degrees and the other the same angle as a multiple of π."""
    return any(
        angle.op == "deg"
        and arc.op != "deg"
        and "pi" in arc.kinds
        and same_expression(to_radians(angle.args[0]), arc) is True
        for angle, arc in ((a, b), (b, a))
    )


def _rounds(answer: Node, reference: Node) -> bool:
    """True if one value is a decimal that rounds the other."""
    x, y = float_value(answer), float_value(reference)
    if not x or not y:
        return False
    distance = abs(x - y)
    decimal, target = _decimal(answer), _decimal(reference)
    if decimal and target:
        is_finer = target.digits >= CUT_DIGITS and decimal.digits > target.digits
        return is_finer and distance <= target.unit / 2
    if target:
        is_close = distance <= target.unit / 2
        return target.digits >= ROUNDED_DIGITS and is_close and not _is_whole(answer)
    return (
        decimal is not None
        and decimal.digits >= ENOUGH_DIGITS
        and distance < decimal.unit
        and not _is_whole(reference)
    )


def _is_whole(node: Node) -> bool:
    value = exact_value(node)
    return value is not None and value.denominator == 1


def _decimal(node: Node) -> Decimal | None:
    """Precision of a decimal such as 0.50 or 1.5 x 10^8; None for any other node."""
    if node.op == "mul" and len(node.args) == 2 and node.args[1].op == "pow":
        inner, scale = _decimal(node.args[0]), float_value(node.args[1])
        return Decimal(inner.digits, inner.unit * abs(scale)) if inner and scale else None
    if node.op != "num" or not node.args[0] or not node.args[1]:
        return None
    value, places = node.args
    return Decimal(places + floor(log10(abs(value))) + 1, 10.0**-places)
