"""Two precisions: ROUGH, floating point, and FINE, 150 digits.

Floating point separates most different values in microseconds; 150 digits decide the rest. Each
precision has limits of accuracy and raises `TooLarge` beyond them: a term too small to count in its
sum, a function too close to its limit to be distinguished from it.
"""

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
from mpmath import libmp

from reasonenv.grading.numeric.exact import TooLarge, Undefined, check_bits

DIGITS = 150
"""Decimal digits of FINE."""
_GUARD = 20
# Roots of a higher degree are too close to 1.
_MAX_DEGREE = 1000
_MAX_GAMMA = 150
# Beyond it tanh is 1 and sinh is cosh in floating point.
_SATURATED = 40
# Below it sin x is x and cos x is 1 in floating point and nearly in 150 digits.
_TINY = 1e-30
_SATURATING = frozenset(["sinh", "cosh", "tanh"])


@dataclass(frozen=True, eq=False)
class Precision:
    """Complex arithmetic of one precision, with its limits of accuracy.

    Args:
        number: Conversion of a fraction to a number.
        functions: Functions of one number by name, log and isfinite included.
        constants: π, e and i by name.
        reach: Largest |exponent| (1 + |log base|), and largest argument of a function.
        span: Largest ratio of two terms of a sum.
        rounding: Largest rounding error of a sum whose terms of size 1 cancel.
        separates: True if a smaller result than that is zero; else it is undecided.
        cost: Operations that the evaluation of one node counts as.
    """

    number: Callable[[Fraction], Any]
    functions: Mapping[str, Callable[..., Any]]
    constants: Mapping[str, Any]
    reach: float
    span: float
    rounding: Any
    separates: bool
    cost: int

    def check_finite(self, value: Any) -> Any:
        """The value itself; raises TooLarge if it is not finite."""
        if not self.functions["isfinite"](value):
            raise TooLarge
        return value

    def total(self, terms: Sequence[Any]) -> Any:
        """Sum of the terms; raises TooLarge if one is too small relative to another."""
        sizes = [size for size in map(abs, terms) if size]
        if not sizes:
            return self.number(Fraction(0))
        largest = max(sizes)
        if largest > min(sizes) * self.span:
            raise TooLarge
        return self.flush_to_zero(sum(terms, self.number(Fraction(0))), largest)

    def flush_to_zero(self, value: Any, size: Any) -> Any:
        """The value, or 0 if it is a rounding error of cancelling terms of this size."""
        if abs(value) > self.rounding * size:
            return self.check_finite(value)
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
        """base^(p / q); the odd root of a negative number is real."""
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
        """The logarithm to a base, natural if it is None."""
        if value == 0:
            raise Undefined
        log = self.functions["log"]
        return log(value) if base is None else log(value) / log(base)

    def check_argument(self, name: str, value: Any) -> None:
        """Raises TooLarge for an argument too large or too close to a limit of the function."""
        size = abs(value)
        if size > self.reach or 0 < size < _TINY:
            raise TooLarge
        if name in _SATURATING and size > _SATURATED:
            raise TooLarge

    def elementary(self, name: str, value: Any) -> Any:
        """The value of an elementary function: sin, arctan, exp."""
        result = self.functions[name](value)
        return result if name == "exp" else self.flush_to_zero(result, min(1, abs(value)))

    def gamma(self, value: Any) -> Any:
        """(value - 1)!, of real numbers only."""
        if not is_real(value) or abs(value) > _MAX_GAMMA:
            raise Undefined
        return self.functions["gamma"](value.real)


def is_real(value: Any) -> bool:
    """True if a number is real, up to rounding."""
    return abs(value.imag) <= 1e-12 * (1 + abs(value.real))


def _rough(value: Fraction) -> complex:
    check_bits(value)
    try:
        return complex(value.numerator / value.denominator)
    except OverflowError:
        raise TooLarge from None


# A separate context that is never changed, so that threads may share it.
_FINE: Any = mpmath.mp.clone()
_FINE.dps = DIGITS
# mpmath's cache of constants is not thread-safe when it grows: fill it here with many times the
# bits of FINE.
for _constant in (libmp.pi_fixed, libmp.ln2_fixed, libmp.ln10_fixed, libmp.e_fixed):
    _constant(8 * _FINE.prec)


def _fine(value: Fraction) -> Any:
    check_bits(value)
    return _FINE.mpc(_FINE.mpf(value.numerator) / value.denominator)


def _functions(library: Any, gamma: Callable[[Any], Any]) -> dict[str, Callable[..., Any]]:
    """The functions of a library by their mathematical names."""
    names = ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "isfinite"]
    table = {name: getattr(library, name) for name in names}
    table |= {f"arc{name}": getattr(library, f"a{name}") for name in ("sin", "cos", "tan")}
    table |= {f"ar{name}": getattr(library, f"a{name}") for name in ("sinh", "cosh", "tanh")}
    return table | {"gamma": gamma}


ROUGH = Precision(
    number=_rough,
    functions=_functions(cmath, math.gamma),
    constants={"pi": cmath.pi, "e": cmath.e, "i": 1j},
    reach=700,
    span=1e300,
    rounding=1e-9,
    separates=False,
    cost=1,
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
    cost=25,
)
"""150 digits, 130 of them accurate."""
