"""Comparison of two trees: one rule for each pair of forms that answers take.

The comparison is not symmetric: the answer may lack the unit of the reference, and a decimal
reference counts as a rounded number. A unit of the reference may be missing; a different one is
converted; one of another dimension is wrong.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from reasonenv.grading.budget import spend
from reasonenv.grading.equivalence import Match, Verdict
from reasonenv.grading.equivalence.equations import (
    is_interval_set,
    same_collection,
    same_congruence,
    same_equation,
    same_ordered,
    same_ratio,
    same_rows,
    same_solution_set,
    same_unordered,
)
from reasonenv.grading.equivalence.intervals import solution_set
from reasonenv.grading.equivalence.normal_form import (
    normal_form,
    splits_alternatives,
    with_shared_names,
)
from reasonenv.grading.numeric.equality import (
    float_value,
    same_expression,
    same_value,
    to_radians,
)
from reasonenv.grading.parsing.nodes import EXPRESSIONS, Node, is_inequality, num, product
from reasonenv.grading.parsing.units import UNITS, Unit, changes_value, leaves_value

_Rule = Callable[[Node, Node, Match], Verdict]


def matches(answer: Node, reference: Node) -> Verdict:
    """True if an answer equals the reference; None if undecided.

    Raises:
        TooLarge: A number in either has too many digits.
        Undefined: Either has no value.
    """
    spend(10)
    if answer == reference:
        return True
    if splits_alternatives(answer, reference):
        return False
    if answer.op == "intersection" and reference.op not in ("list", "intersection"):
        solutions = solution_set(answer)
        if solutions is not None and not solutions[0]:
            return False  # no number is below 1 and above 4
    a, r = map(normal_form, with_shared_names(_listed(answer), _listed(reference)))
    if a is None or r is None or "false" in a.kinds:
        return False
    if _is_solution_set(a) or _is_solution_set(r):
        return same_solution_set(a, r, matches)
    rule = next((rule for op, rule in _RULES.items() if op in (a.op, r.op)), _same_values)
    return rule(a, r, matches)


def _is_solution_set(node: Node) -> bool:
    return is_interval_set(node) or (node.op == "list" and any(map(is_interval_set, node.args)))


def _listed(node: Node) -> Node:
    """Alternatives, and inequalities that hold together, as a list; other nodes unchanged."""
    is_listed = node.op == "either" or (node.op == "intersection" and is_inequality(node.args[0]))
    return Node("list", node.args) if is_listed else node


def _same_values(a: Node, r: Node, _: Match) -> Verdict:
    """Values of expressions; infinite ones are equal if written identically."""
    if a.op not in EXPRESSIONS or r.op not in EXPRESSIONS:
        return False
    if "infty" in a.kinds or "infty" in r.kinds:
        return a == r
    if (a.op, r.op) == ("num", "sym"):  # 4210 for 4210_7
        digits, _, base = r.args[0].partition("_")
        is_number = digits.isdecimal() and base.isdecimal() and max(map(int, digits)) < int(base)
        return is_number and a.args == (int(digits), 0)
    return same_value(a, r)


_DEGREE, _PERCENT = UNITS["degree"], UNITS["%"]
_DIRECTION = re.compile(
    r"\b(?:north|south|east|west|up|down|left|right|forward|backward|inward|outward"
    r"|(?:counter|anti)?clockwise)"
)


class _Quantity(NamedTuple):
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


def _same_quantity(answer: Node, reference: Node, _: Match) -> Verdict:
    """True if two values are equal, at least one of them with a unit."""
    a, r = _quantity(answer), _quantity(reference)
    if a is None or r is None or _is_changed(a, r):
        return False
    if r.unit is None:
        return _against_plain_number(a, r)
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


def _quantity(node: Node) -> _Quantity | None:
    if node.op == "quantity":
        value, unit, words = node.args
        is_angle = value.op == "deg" and unit is None
        return _Quantity(value.args[0], _DEGREE, words) if is_angle else _Quantity(*node.args)
    if node.op == "deg":
        return _Quantity(node.args[0], _DEGREE, "")
    return _Quantity(node, None, "") if node.op in EXPRESSIONS else None


def is_measured(node: Node | None) -> bool:
    """True for a value with a unit, or an equation with one."""
    if node is not None and node.op == "relation":
        return is_measured(node.args[1][-1])
    return node is not None and node.op == "quantity" and node.args[1] is not None


def _against_plain_number(a: _Quantity, r: _Quantity) -> Verdict:
    """Against a number without a unit: any unit is accepted, but no other words."""
    words, others = ({word.rstrip("s") for word in q.words.lower().split()} for q in (a, r))
    if words and others and words.isdisjoint(others):
        return False
    if a.unit is None or a.unit.dimension:
        return matches(a.value, r.value)
    if matches(a.base_value, r.value):
        return True
    # 50% is 50 as well, but 0.5% is not 0.5.
    size = float_value(r.value)
    is_percentage = a.unit.factor == _PERCENT.factor and size is not None and abs(size) >= 1
    return matches(a.value, r.value) if is_percentage else False


def _is_changed(a: _Quantity, r: _Quantity) -> bool:
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


_RULES: dict[str, _Rule] = {
    "false": lambda a, r, _: False,
    "congruence": same_congruence,
    **dict.fromkeys(
        ["and", "or", "not"],
        lambda a, r, matches: a.op == r.op and same_unordered(a.args, r.args, matches),
    ),
    "list": same_collection,
    "set": same_collection,
    "case": lambda a, r, matches: a.op == r.op and same_ordered(a.args, r.args, matches),
    "intersection": lambda a, r, matches: a.op == r.op and same_unordered(a.args, r.args, matches),
    "relation": same_equation,
    "matrix": same_rows,
    "tuple": same_rows,
    "ratio": same_ratio,
    "quantity": _same_quantity,
}
"""Rules by operation, in order of precedence."""
