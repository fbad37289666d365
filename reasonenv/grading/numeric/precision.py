"""Two precisions: ROUGH, floating point, and FINE, 150 digits.

Floating point separates most different values in microseconds; 150 digits decide the rest. Each
precision has limits of accuracy, beyond which the evaluation raises `TooLarge`: a term too small to
count in its sum, a function too close to its limit to be distinguished from it.
"""

import cmath
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
from mpmath import libmp

from reasonenv.grading.numeric.exact import TooLarge, check_bits

DIGITS = 150
"""Decimal digits of FINE."""
_GUARD = 20


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


_RECIPROCALS = {
    "cot": "tan", "sec": "cos", "csc": "sin", "coth": "tanh", "sech": "cosh", "csch": "sinh",
}  # fmt: skip


def _functions(library: Any, gamma: Callable[[Any], Any]) -> dict[str, Callable[..., Any]]:
    """The functions of a library by their mathematical names; arccot is between 0 and π."""
    names = ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "isfinite"]
    table = {name: getattr(library, name) for name in names} | {"gamma": gamma}
    table |= {f"arc{name}": getattr(library, f"a{name}") for name in ("sin", "cos", "tan")}
    table |= {f"ar{name}": getattr(library, f"a{name}") for name in ("sinh", "cosh", "tanh")}
    table |= {name: lambda x, f=table[of]: 1 / f(x) for name, of in _RECIPROCALS.items()}
    table["arccot"] = lambda x: library.pi / 2 - library.atan(x)
    table["arcsec"], table["arccsc"] = lambda x: library.acos(1 / x), lambda x: library.asin(1 / x)
    return table


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
