"""Exact evaluation of rational expressions to fractions, of bounded size.

No intermediate number has more than 24,000 bits. That admits 2024^2024 and 2000!, and is cheap: a
sum of such numbers takes a fraction of a millisecond, and one expression has 100 of them at most.
"""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

from reasonenv.grading.budget import counted_cache, spend
from reasonenv.grading.parsing.nodes import Node

MAX_BITS = 24_000
"""Bits of a numerator or a denominator at most."""
MAX_FACTORIAL = 3000
"""The largest n of n! and of a binomial coefficient."""
MAX_ROOT_BITS = 1000
"""Bits at most of a number whose root is computed."""
MAX_DEGREE = 64
"""The highest degree of a root that is computed."""


class Undefined(ArithmeticError):  # noqa: N818 - a property of a value, not a program's error
    """The expression has no value: division by zero, a pole, an unknown operation."""


class TooLarge(ArithmeticError):  # noqa: N818 - as above
    """The value has too many digits to be computed."""


class _NotRational(ArithmeticError):  # noqa: N818 - as above
    """The value is not rational, or not obviously so."""


def exact_value(node: Node) -> Fraction | None:
    """The value of a rational expression, None if it is not obviously rational.

    Raises:
        TooLarge: An intermediate number has more than 24,000 bits.
        Undefined: Division by zero.
    """
    if node.op == "num":
        return node.args[0]
    value = _cached_value(node)
    if value is TooLarge or value is Undefined:
        raise value
    return value


# One tree of a hostile answer takes 50 kB.
@counted_cache(maxsize=512)
def _cached_value(node: Node) -> Any:
    try:
        return _value(node)
    except _NotRational:
        return None
    except ZeroDivisionError:
        return Undefined
    except TooLarge:
        return TooLarge


def check_bits(value: Fraction) -> Fraction:
    """The value itself; raises TooLarge if it has more than 24,000 bits."""
    above, below = value.numerator.bit_length(), value.denominator.bit_length()
    if above > MAX_BITS or below > MAX_BITS:
        raise TooLarge
    # A product is nearly linear in the bits, a common divisor takes those of both.
    spend(1 + (above + below >> 8) + (above * below >> 19))
    return value


def _value(node: Node) -> Fraction:
    match node.op, node.args:
        case "num", (value, _):
            return value
        case "add" | "mul", terms:
            join = operator.add if node.op == "add" else operator.mul
            return reduce(lambda total, term: check_bits(join(total, _value(term))), terms[1:],
                          _value(terms[0]))  # fmt: skip
        case "pow", (base, exponent):
            return _power(_value(base), _value(exponent))
        case "deg", (value,):
            return _value(value)
        case "fn", (name, inner) if name in _FUNCTIONS:
            return check_bits(_FUNCTIONS[name](*map(_value, inner)))
    raise _NotRational


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        base, exponent = _root(base, Fraction(exponent.denominator)), Fraction(exponent.numerator)
    if abs(base) == 1:
        return base if exponent % 2 else Fraction(1)
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if bits * abs(exponent) > MAX_BITS:
        raise TooLarge
    return base**exponent.numerator


def _root(value: Fraction, degree: Fraction) -> Fraction:
    if value < 0 or degree.denominator != 1 or not 0 < degree <= MAX_DEGREE:
        raise _NotRational
    above, below = value.as_integer_ratio()
    if max(above, below).bit_length() > MAX_ROOT_BITS:
        raise _NotRational
    n = int(degree)
    roots = [math.isqrt(x) if n == 2 else round(x ** (1 / n)) for x in (above, below)]
    if [root**n for root in roots] != [above, below]:
        raise _NotRational
    return Fraction(*roots)


def _count(n: Fraction) -> int:
    if n.denominator != 1 or n < 0:
        raise _NotRational
    if n > MAX_FACTORIAL:
        raise TooLarge
    return int(n)


_FUNCTIONS: dict[str, Callable[..., Fraction]] = {
    "root": _root,
    "factorial": lambda n: Fraction(math.factorial(_count(n))),
    "binomial": lambda n, k: Fraction(math.comb(_count(n), _count(k)) if k >= 0 else 0),
    "abs": Fraction.__abs__,
    "mod": operator.mod,
    "floor": lambda x: Fraction(math.floor(x)),
    "ceil": lambda x: Fraction(math.ceil(x)),
}
