"""Equality of values with units.

A unit of the reference may be missing; a different one is converted; one of another dimension is
wrong.
"""

import re
from fractions import Fraction
from typing import NamedTuple

from reasonenv.grading.equivalence import Match, Verdict
from reasonenv.grading.numeric.equality import float_value, same_expression, to_radians
from reasonenv.grading.parsing.nodes import EXPRESSIONS, Node, num, product
from reasonenv.grading.parsing.units import UNITS, Unit, changes_value, leaves_value

_DEGREE, _PERCENT = UNITS["degree"], UNITS["%"]
_DIRECTION = re.compile(
    r"\b(?:north|south|east|west|up|down|left|right|forward|backward|inward|outward"
    r"|(?:counter|anti)?clockwise)"
)


class Quantity(NamedTuple):
    """A value with its unit, and words that are no unit, such as "apples" or "north"."""

    value: Node
    unit: Unit | None
    words: str

    @property
    def base_value(self) -> Node:
        """The value in base units."""
        factor = Fraction(1) if self.unit is None else self.unit.factor
        if self.value.op != "num":
            return product([self.value, num(factor)])
        value, places = self.value.args
        digits = str(factor.denominator)
        is_finer = places and factor.numerator == 1 and set(digits) == {"1", "0"}
        return num(value * factor, places + is_finer * (len(digits) - 1))


def same_quantity(answer: Node, reference: Node, matches: Match) -> Verdict:
    """True if two values are equal, at least one of them with a unit."""
    a, r = _quantity(answer), _quantity(reference)
    if a is None or r is None or _is_changed(a, r):
        return False
    if r.unit is None:
        return _against_plain_number(a, r, matches)
    if a.unit is None:
        verdict = False if a.words else matches(a.value, r.value)
        is_percent = not r.unit.dimension and not a.words  # 0.5 and 50 are both 50 %
        return matches(a.value, r.base_value) if is_percent and not verdict else verdict
    if a.unit.dimension != r.unit.dimension:
        if {*a.unit.dimension, *r.unit.dimension} != {"angle", "arc"}:
            return False
        units = ((a.value, a.unit), (r.value, r.unit))
        left, right = (to_radians(v) if "angle" in unit.dimension else v for v, unit in units)
        return same_expression(left, right)
    is_same = a.unit.factor == r.unit.factor
    return matches(a.value, r.value) if is_same else matches(a.base_value, r.base_value)


def _quantity(node: Node) -> Quantity | None:
    if node.op == "quantity":
        value, unit, words = node.args
        is_angle = value.op == "deg" and unit is None
        return Quantity(value.args[0], _DEGREE, words) if is_angle else Quantity(*node.args)
    if node.op == "deg":
        return Quantity(node.args[0], _DEGREE, "")
    return Quantity(node, None, "") if node.op in EXPRESSIONS else None


def is_measured(node: Node | None) -> bool:
    """True for a value with a unit, or an equation with one."""
    if node is not None and node.op == "relation":
        return is_measured(node.args[1][-1])
    return node is not None and node.op == "quantity" and node.args[1] is not None


def _against_plain_number(a: Quantity, r: Quantity, matches: Match) -> Verdict:
    """Against a number without a unit: any unit is accepted, but no other words."""
    if a.words and r.words and not _related(a.words, r.words):
        return False
    if a.unit is None or a.unit.dimension:
        return matches(a.value, r.value)
    if matches(a.base_value, r.value):
        return True
    # 50% is 50 as well, but 0.5% is not 0.5.
    size = float_value(r.value)
    is_percentage = a.unit.factor == _PERCENT.factor and size is not None and abs(size) >= 1
    return matches(a.value, r.value) if is_percentage else False


def _is_changed(a: Quantity, r: Quantity) -> bool:
    """True if the words of one side alone change its value, or may do so after the answer."""
    if a.words == r.words:
        return False
    left, right = (set(_DIRECTION.findall(each.words.lower())) for each in (a, r))
    if left and right and left != right:
        return True
    size = float_value(a.value)
    is_one = size is not None and 0 < abs(size) <= 1
    is_known = leaves_value(a.words, a.unit is not None, is_one)
    return not is_known or changes_value(a.words) or changes_value(r.words)


def _related(words: str, others: str) -> bool:
    """True if two notes have a word in common, singular or plural."""
    left, right = ({word.rstrip("s") for word in text.lower().split()} for text in (words, others))
    return bool(left & right)
