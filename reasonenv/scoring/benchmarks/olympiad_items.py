"""Equality of two items of OlympiadBench answers, by the rules of its judge.

OpenBMB/OlympiadBench, eval/auto_scoring_judge.py. An item is equal to another as a text, an
interval, a number, an expression or an equation, whichever comes first. Only in a worker that can
be killed.
"""

import math
from typing import Any

from reasonenv.scoring.latex import parse_latex

# The judge's own bounds: on differences of numbers, on those of formulas, on exponents.
_SLACK = 1.01
_SAME_FORMULA = 1e-3
_LARGEST_EXPONENT = 1000


def equal_items(first: str, second: str, precision: float) -> bool:
    """True if two items are equal.

    Args:
        first: Of the pair; a hundredth of it and a hundred times it count as well.
        second: The other.
        precision: Largest difference of numbers.
    """
    if first == second and first:
        return True
    if _is_interval(first) and _is_interval(second):
        try:
            if _same_intervals(first, second, precision):
                return True
        # An interval with an unreadable end is wrong; the other rules do not apply.
        except Exception:
            return False
    return (
        _holds(_same_number, first, second, precision)
        or _holds(_same_value, first, second, precision)
        or _holds(_same_equation, first, second)
    )


def _holds(rule: Any, *arguments: Any) -> bool:
    """True if a rule applies; sympy raises exceptions of many types on items it cannot parse."""
    try:
        return bool(rule(*arguments))
    except MemoryError:
        raise
    except Exception:
        return False


def _is_interval(item: str) -> bool:
    return item.startswith(("(", "[")) and item.endswith((")", "]"))


def _same_intervals(first: str, second: str, precision: float) -> bool:
    """Brackets and ends, union by union, in order; tuples are compared by the same rule."""
    if first == second:
        return True
    ours, theirs = first.split("\\cup"), second.split("\\cup")
    if len(ours) != len(theirs):
        return False
    for a, b in zip(ours, theirs, strict=True):
        if a[0] != b[0] or a[-1] != b[-1]:
            return False
        # As in the official judge: of tuples of different length the common part counts.
        ends = zip(a.strip("[]()").split(","), b.strip("[]()").split(","), strict=False)
        if not all(_same_expression(x, y, precision) for x, y in ends):
            return False
    return True


def _same_number(first: str, second: str, precision: float) -> bool:
    number, other = float(first), float(second)
    scaled = (number / 100, number, number * 100)
    return any(abs(each - other) <= precision * _SLACK for each in scaled)


def _same_value(first: str, second: str, precision: float) -> bool:
    is_equation = "=" in first and "=" in second
    return _same_expression(first, second, precision) and not is_equation


def _same_expression(first: str, second: str, precision: float) -> bool:
    """True if the parts after the first equality sign of each are equal."""
    from sympy import Symbol, simplify

    ours, theirs = (parse_latex(_right_side(item)) for item in (first, second))
    if ours == theirs:
        return True
    pi = Symbol("pi")
    ours, theirs = ours.subs(pi, math.pi), theirs.subs(pi, math.pi)
    if ours.has(Symbol) != theirs.has(Symbol):
        return False
    if ours.has(Symbol):
        return bool(abs(simplify(ours - theirs).evalf()) < _SAME_FORMULA)
    if not (_is_affordable(ours) and _is_affordable(theirs)):
        return False
    return bool(abs(ours.evalf() - theirs.evalf()) <= precision * _SLACK)


def _right_side(item: str) -> str:
    return (item.split("=")[1] if "=" in item else item).strip()


def _is_affordable(expression: Any) -> bool:
    """True if it is no power, or one with a small exponent."""
    if not expression.is_Pow:
        return True
    base, exponent = expression.as_base_exp()
    is_number = base.is_number and exponent.is_number
    return is_number and bool(abs(exponent.evalf()) <= _LARGEST_EXPONENT)


def _same_equation(first: str, second: str) -> bool:
    """True if the difference of sides of one is a whole multiple of the other's."""
    from sympy import simplify

    ours, theirs = _difference(first), _difference(second)
    quotients = simplify(ours / theirs), simplify(theirs / ours)
    return any(quotient.is_Integer and quotient != 0 for quotient in quotients)


def _difference(equation: str) -> Any:
    from sympy import simplify

    left, right = equation.split("=")
    return simplify(parse_latex(left) - parse_latex(right))
