"""Quantities: when two values with units are the same.

A unit that the reference has may be missing; a different one is converted; one that measures
something else is wrong.
"""

import re
from fractions import Fraction
from typing import NamedTuple

from reasonenv.grading.equivalence.verdicts import Match, Verdict
from reasonenv.grading.numeric.equality import same_expression
from reasonenv.grading.numeric.rounding import to_radians
from reasonenv.grading.parsing.nodes import EXPRESSIONS, FALSE, Node, num, product
from reasonenv.grading.parsing.units import UNITS, Unit

_DEGREE = UNITS["degree"]
_DIRECTION = re.compile(
    r"\b(?:north|south|east|west|up|down|left|right|forward|backward|inward|outward"
    r"|(?:counter|anti)?clockwise)"
)


class Quantity(NamedTuple):
    """A value with its unit, and words that are no unit but name what is counted."""

    value: Node
    unit: Unit | None
    words: str

    @property
    def scaled(self) -> Node:
        """The value in base units."""
        factor = Fraction(1) if self.unit is None else self.unit.factor
        if self.value.op == "num":
            return num(self.value.args[0] * factor, self.value.args[1])
        return product([self.value, num(factor)])


def same_quantity(answer: Node, reference: Node, matches: Match) -> Verdict:
    """True if two values are the same, at least one of them with a unit."""
    given, asked = as_quantity(answer), as_quantity(reference)
    if given is None or asked is None or _opposed(given.words, asked.words):
        return False
    if asked.unit is None:
        return _against_plain_number(given, asked, matches)
    if given.unit is None:
        return _without_unit(given, asked, matches)
    if not given.unit.measures_like(asked.unit):
        return _same_angle(given, asked)
    if given.unit.factor == asked.unit.factor:
        return matches(given.value, asked.value)
    return matches(given.scaled, asked.scaled)


def as_quantity(node: Node) -> Quantity | None:
    """Value, unit and words of a quantity or a number; 2 h 30 min is 2.5 h; None for no such."""
    if node.op == "quantity":
        value, unit, words = node.args
        is_angle = value.op == "deg" and unit is None
        return Quantity(value.args[0], _DEGREE, words) if is_angle else Quantity(*node.args)
    if node.op == "deg":
        return Quantity(node.args[0], _DEGREE, "")
    if node.op == "compound":
        return _compound(*node.args)
    return Quantity(node, None, "") if node.op in EXPRESSIONS else None


def _compound(first: Node, second: Node) -> Quantity:
    large, small = as_quantity(first), as_quantity(second)
    if not (large and small and large.unit and small.unit):
        return Quantity(FALSE, None, "")
    if not large.unit.measures_like(small.unit):
        return Quantity(FALSE, None, "")
    rest = product([small.value, num(small.unit.factor / large.unit.factor)])
    return Quantity(Node("add", (large.value, rest)), large.unit, small.words)


def _against_plain_number(given: Quantity, asked: Quantity, matches: Match) -> Verdict:
    """Against a number without a unit: any unit will do, but not another thing."""
    if given.words and asked.words and not _related(given.words, asked.words):
        return False
    is_percent = given.unit is not None and not given.unit.dimension
    if is_percent and matches(given.scaled, asked.value):
        return True
    return matches(given.value, asked.value)


def _without_unit(given: Quantity, asked: Quantity, matches: Match) -> Verdict:
    """A number against one with a unit; 0.5 and 50 are both 50 %."""
    if given.words:
        return False
    verdict = matches(given.value, asked.value)
    is_percent = asked.unit is not None and not asked.unit.dimension
    return matches(given.value, asked.scaled) if is_percent and not verdict else verdict


def _related(words: str, others: str) -> bool:
    """True if two notes name a thing in common, in the singular or the plural."""
    left, right = ({word.rstrip("s") for word in text.lower().split()} for text in (words, others))
    return bool(left & right)


def _opposed(words: str, others: str) -> bool:
    """True if both notes say which way, and not the same one."""
    left, right = (set(_DIRECTION.findall(text.lower())) for text in (words, others))
    return bool(left and right) and left != right


def _same_angle(given: Quantity, asked: Quantity) -> Verdict:
    """Degrees against radians; any other two units that measure different things are wrong."""
    dimensions = [set(each.unit.dimension) for each in (given, asked) if each.unit]
    if dimensions == [{"angle"}, {"arc"}]:
        return same_expression(to_radians(given.value), asked.value)
    if dimensions == [{"arc"}, {"angle"}]:
        return same_expression(given.value, to_radians(asked.value))
    return False
