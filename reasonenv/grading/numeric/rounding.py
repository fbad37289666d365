"""Values that are equal, and decimals that round them."""

from fractions import Fraction
from math import floor, log10
from typing import NamedTuple

from reasonenv.grading.numeric.equality import exact_value, float_value, same_expression
from reasonenv.grading.parsing.nodes import PI, Node, num, product

ENOUGH_DIGITS = 6
"""Significant digits of an answer that may stand for an exact value."""
ROUNDED_DIGITS = 3
"""Those of a reference that is taken for the rounding of an exact value."""
CUT_DIGITS = 4
"""Those of a reference that is taken for the rounding of a decimal with more of them."""


class Decimal(NamedTuple):
    """How precisely a decimal is written.

    Attributes:
        digits: The significant ones.
        unit: Of the last of them.
    """

    digits: int
    unit: float


def same_value(answer: Node, reference: Node) -> bool | None:
    """True if two expressions are equal, or one is the other rounded, or in degrees.

    Raises:
        TooLarge: A number in one of them has too many digits.
    """
    verdict = same_expression(answer, reference)
    if verdict is not False:
        return verdict
    return _is_degrees_as_arc(answer, reference) or _rounds(answer, reference)


def omits_base(answer: Node, reference: Node) -> bool:
    """True if an answer has the digits of a number in another base, 4210_7, without that."""
    digits, _, base = reference.args[0].partition("_")
    is_number = digits.isdecimal() and base.isdecimal() and max(map(int, digits)) < int(base)
    return is_number and answer.args == (Fraction(int(digits)), 0)


def to_radians(degrees: Node) -> Node:
    """A number of degrees as a multiple of π."""
    return product([degrees, PI, num(Fraction(1, 180))])


def _is_degrees_as_arc(a: Node, b: Node) -> bool:
    """True if one is an angle in degrees and the other the same in multiples of π."""
    return any(
        angle.op == "deg"
        and arc.op != "deg"
        and "pi" in arc.kinds
        and same_expression(to_radians(angle.args[0]), arc) is True
        for angle, arc in ((a, b), (b, a))
    )


def _rounds(answer: Node, reference: Node) -> bool:
    """True if a decimal is the other value, rounded."""
    x, y = float_value(answer), float_value(reference)
    if not x or not y:
        return False
    distance = abs(x - y)
    given, asked = _decimal(answer), _decimal(reference)
    if given and asked:
        is_finer = asked.digits >= CUT_DIGITS and given.digits > asked.digits
        return is_finer and distance <= asked.unit / 2
    if asked:
        return (
            asked.digits >= ROUNDED_DIGITS and distance <= asked.unit / 2 and not _is_whole(answer)
        )
    return (
        given is not None
        and given.digits >= ENOUGH_DIGITS
        and distance < given.unit
        and not _is_whole(reference)
    )


def _is_whole(node: Node) -> bool:
    value = exact_value(node)
    return value is not None and value.denominator == 1


def _decimal(node: Node) -> Decimal | None:
    """The precision of 0.50 or of 1.5 x 10^8; None for what is no decimal."""
    if node.op == "mul" and len(node.args) == 2 and node.args[1].op == "pow":
        inner, scale = _decimal(node.args[0]), float_value(node.args[1])
        return Decimal(inner.digits, inner.unit * abs(scale)) if inner and scale else None
    if node.op != "num" or not node.args[0] or not node.args[1]:
        return None
    value, places = node.args
    return Decimal(places + floor(log10(abs(value))) + 1, 10.0**-places)
