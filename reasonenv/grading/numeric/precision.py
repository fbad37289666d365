"""Numbers of two precisions: rough ones, in floating point, and fine ones, to 150 digits.

Rough numbers tell apart most of what differs, in microseconds; what they cannot tell, fine ones
do. Each precision knows how far its numbers can be trusted, and refuses what lies beyond: terms so
small that they are lost beside another, functions so close to a limit that they are taken for it.
"""

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
from mpmath import libmp

from reasonenv.grading.numeric.exact import TooLarge, Undefined, check_size

DIGITS = 150
"""Decimals of fine numbers."""
_GUARD = 20
# Of roots of a higher degree all are too close to 1 to be told from it.
_MAX_DEGREE = 1000
_MAX_GAMMA = 150
# Where tanh is 1 and sinh is cosh, to floating point.
_SATURATED = 40
# Where sin x is x and cos x is 1, to floating point and nearly to 150 digits.
_TINY = 1e-30
_SATURATING = frozenset(["sinh", "cosh", "tanh"])


@dataclass(frozen=True, eq=False)
class Precision:
    """Complex numbers of one precision, and how far they can be trusted.

    Args:
        number: From a fraction to a number.
        functions: Those of one number, by their names; log and isfinite among them.
        constants: π, e and i, by their names.
        reach: The largest exponent times logarithm of its base, and the largest argument of a
            function, that are computed.
        span: The largest ratio of the terms of a sum.
        rounding: What terms of size 1 that cancel may leave.
        separates: Whether what they leave, being less than that, is zero; else that is not known.
    """

    number: Callable[[Fraction], Any]
    functions: Mapping[str, Callable[..., Any]]
    constants: Mapping[str, Any]
    reach: float
    span: float
    rounding: Any
    separates: bool

    def finite(self, value: Any) -> Any:
        """The value, when it is a number."""
        if not self.functions["isfinite"](value):
            raise TooLarge
        return value

    def total(self, terms: Sequence[Any]) -> Any:
        """Their sum, when none is so small that it would be lost beside another."""
        sizes = [size for size in map(abs, terms) if size]
        if not sizes:
            return self.number(Fraction(0))
        largest = max(sizes)
        if largest > min(sizes) * self.span:
            raise TooLarge
        return self.cancelled(sum(terms, self.number(Fraction(0))), largest)

    def cancelled(self, value: Any, size: Any) -> Any:
        """A value, or 0 where it is but the rounding of terms of some size that cancel."""
        if abs(value) > self.rounding * size:
            return self.finite(value)
        if value and not self.separates:
            raise TooLarge
        return self.number(Fraction(0))

    def power(self, base: Any, exponent: Any) -> Any:
        """The principal value of base^exponent."""
        if base == 0:
            raise Undefined
        self._check_power(base, exponent)
        return base**exponent

    def rational_power(self, base: Any, exponent: Fraction) -> Any:
        """base^(p / q): real where an odd root of a negative number is taken."""
        if base == 0:
            if exponent <= 0:
                raise Undefined
            return base
        self._check_power(base, exponent)
        if exponent.denominator == 1:
            return base ** int(exponent)
        if exponent.denominator > _MAX_DEGREE:
            raise TooLarge
        power = self.number(exponent)
        if exponent.denominator % 2 and is_real(base) and base.real < 0:
            sign = -1 if exponent.numerator % 2 else 1
            return sign * (-base) ** power
        return base**power

    def _check_power(self, base: Any, exponent: Any) -> None:
        if abs(exponent) * (1 + abs(self.functions["log"](base))) > self.reach:
            raise TooLarge

    def logarithm(self, value: Any, base: Any) -> Any:
        """The logarithm to a base, the natural one where that is None."""
        if value == 0:
            raise Undefined
        log = self.functions["log"]
        return log(value) if base is None else log(value) / log(base)

    def check_argument(self, name: str, value: Any) -> None:
        """Refuses the argument of a function that is too large, or too close to a limit."""
        size = abs(value)
        if size > self.reach or 0 < size < _TINY:
            raise TooLarge
        if name in _SATURATING and size > _SATURATED:
            raise TooLarge

    def elementary(self, name: str, value: Any) -> Any:
        """The value of a function that has no pole or branch of its own: sin, arctan, exp."""
        result = self.functions[name](value)
        return result if name == "exp" else self.cancelled(result, min(1, abs(value)))

    def gamma(self, value: Any) -> Any:
        """(value - 1)!, of real numbers only."""
        if not is_real(value) or abs(value) > _MAX_GAMMA:
            raise Undefined
        return self.functions["gamma"](value.real)


def is_real(value: Any) -> bool:
    """True if a number is real, up to rounding."""
    return abs(value.imag) <= 1e-12 * (1 + abs(value.real))


def _rough(value: Fraction) -> complex:
    check_size(value)
    try:
        return complex(value.numerator / value.denominator)
    except OverflowError:
        raise TooLarge from None


# A context of its own, of which nothing is ever changed: threads may share it.
_FINE: Any = mpmath.mp.clone()
_FINE.dps = DIGITS
# Two threads that ask mpmath for more bits of a constant than it has may get a wrong one: it has
# them all from here on, many times those of a fine number.
for _constant in (libmp.pi_fixed, libmp.ln2_fixed, libmp.ln10_fixed, libmp.e_fixed):
    _constant(8 * _FINE.prec)


def _fine(value: Fraction) -> Any:
    check_size(value)
    return _FINE.mpc(_FINE.mpf(value.numerator) / value.denominator)


def _functions(library: Any, gamma: Callable[[Any], Any]) -> dict[str, Callable[..., Any]]:
    """The functions of a library by the names that mathematicians give them."""
    names = ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "isfinite"]
    table = {name: getattr(library, name) for name in names}
    table |= {f"arc{name}": getattr(library, f"a{name}") for name in ("sin", "cos", "tan")}
    return table | {"gamma": gamma}


ROUGH = Precision(
    number=_rough,
    functions=_functions(cmath, math.gamma),
    constants={"pi": cmath.pi, "e": cmath.e, "i": 1j},
    reach=700,
    span=1e300,
    rounding=1e-9,
    separates=False,
)
"""Floating point."""
FINE = Precision(
    number=_fine,
    functions=_functions(_FINE, _FINE.gamma),
    constants={"pi": _FINE.pi, "e": _FINE.e, "i": _FINE.mpc(0, 1)},
    reach=10_000,
    span=1e100,
    rounding=_FINE.mpf(10) ** (_GUARD - DIGITS),
    separates=True,
)
"""150 digits, of which 130 are trusted."""
