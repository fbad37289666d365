"""Numerical evaluation of an expression, in floating point and in 150 digits.

Floating point separates most different values in microseconds; 150 digits decide the rest. Each
precision has limits of accuracy, beyond which it raises `TooLarge`: a term too small to count in
its sum, a function too close to its limit to be distinguished from it.
"""

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import mpmath
from mpmath import libmp

from reasonenv.grading.budget import spend
from reasonenv.grading.numeric.exact import TooLarge, Undefined, check_bits, exact_value
from reasonenv.grading.parsing.nodes import Node

DIGITS = 150
"""Decimal digits of FINE."""
_GUARD = 20
_MAX_DETERMINANT = 3
# Roots of a higher degree are too close to 1.
_MAX_DEGREE = 1000
_MAX_GAMMA = 150
# Beyond it tanh is 1 and sinh is cosh in floating point.
_SATURATED = 40
_SATURATING = frozenset(["sinh", "cosh", "tanh"])
# Below it sin x is x and cos x is 1 in floating point and nearly in 150 digits.
_TINY = 1e-30
_RECIPROCALS = {
    "cot": "tan", "sec": "cos", "csc": "sin", "coth": "tanh", "sech": "cosh", "csch": "sinh",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Precision:
    """Complex arithmetic of one precision, with its limits of accuracy.

    Attributes:
        number: Conversion of a fraction to a number.
        library: Its functions and constants: cmath, or a context of mpmath.
        functions: Elementary functions by their mathematical names.
        reach: Largest |exponent| (1 + |log base|), and largest argument of a function.
        span: Largest ratio of two terms of a sum.
        rounding: Largest rounding error of a sum whose terms of size 1 cancel.
        separates: True if a smaller result than that is zero; else it is undecided.
        cost: Operations that the evaluation of one node counts as.
    """

    number: Callable[[Fraction], Any]
    library: Any
    functions: Mapping[str, Callable[[Any], Any]]
    reach: float
    span: float
    rounding: Any
    separates: bool
    cost: int


def _functions(library: Any) -> dict[str, Callable[[Any], Any]]:
    """The elementary functions of a library by name; arccot is between 0 and π."""
    table = {name: getattr(library, name) for name in (*_RECIPROCALS.values(), "exp")}
    table |= {f"arc{name}": getattr(library, f"a{name}") for name in ("sin", "cos", "tan")}
    table |= {f"ar{name}": getattr(library, f"a{name}") for name in ("sinh", "cosh", "tanh")}
    table |= {name: lambda x, f=table[of]: 1 / f(x) for name, of in _RECIPROCALS.items()}
    return table | {
        "arccot": lambda x: library.pi / 2 - library.atan(x),
        "arcsec": lambda x: library.acos(1 / x),
        "arccsc": lambda x: library.asin(1 / x),
    }


def _rough(value: Fraction) -> complex:
    check_bits(value)
    try:
        return complex(value.numerator / value.denominator)
    except OverflowError:
        raise TooLarge from None


def _fine(value: Fraction) -> Any:
    check_bits(value)
    return _LONG.mpc(_LONG.mpf(value.numerator) / value.denominator)


# A separate context that is never changed, so that threads may share it.
_LONG: Any = mpmath.mp.clone()
_LONG.dps = DIGITS
# mpmath's cache of constants is not thread-safe when it grows: fill it here with many times the
# bits of FINE.
for _constant in (libmp.pi_fixed, libmp.ln2_fixed, libmp.ln10_fixed, libmp.e_fixed):
    _constant(8 * _LONG.prec)
_ROUNDING = _LONG.mpf(10) ** (_GUARD - DIGITS)

ROUGH = Precision(_rough, cmath, _functions(cmath), 700, 1e300, 1e-9, separates=False, cost=1)
"""Floating point."""
FINE = Precision(_fine, _LONG, _functions(_LONG), 10_000, 1e100, _ROUNDING, True, cost=25)
"""150 digits, 130 of them accurate."""


def is_real(value: Any) -> bool:
    """True if a number is real, up to rounding."""
    return abs(value.imag) <= 1e-12 * (1 + abs(value.real))


class ExpressionEvaluator:
    r"""Evaluation of expressions in one precision, at one point.

    An unknown function, f(x) or an unevaluated sum, has the value of a smooth function of its
    arguments that is fixed by its name.

    Args:
        precision: Precision of all numbers.
        point: Index of the values of the symbols: see `symbol_value`.
        natural: Base of \log without one: e if True, else 10.
    """

    __slots__ = ("natural", "point", "precision")

    def __init__(self, precision: Precision, point: int, natural: bool) -> None:
        self.precision, self.point, self.natural = precision, point, natural

    def value(self, node: Node, in_radians: bool = False) -> Any:
        """The value of an expression.

        Args:
            node: An expression.
            in_radians: Convert degrees to radians, as inside a sine; else 30° is 30.

        Raises:
            ArithmeticError: There is no value, or it cannot be computed.
            ValueError: An argument is outside a function's domain.
        """
        if node.op not in _RULES:
            raise Undefined
        spend(self.precision.cost)
        value = _RULES[node.op](self, node.args, in_radians)
        if not self.precision.library.isfinite(value):
            raise TooLarge
        return value

    def _constant(self, args: Sequence[Any], _: bool) -> Any:
        library = self.precision.library
        constants = {"pi": library.pi, "e": library.e, "i": 1j}
        if args[0] not in constants:
            raise Undefined
        return self.precision.number(Fraction(1)) * constants[args[0]]

    def _sum(self, args: Sequence[Any], in_radians: bool) -> Any:
        terms = [self.value(term, in_radians) for term in args]
        sizes = [size for size in map(abs, terms) if size]
        if not sizes:
            return terms[0]
        if max(sizes) > min(sizes) * self.precision.span:
            raise TooLarge  # a term that does not count
        return self._flushed(sum(terms), max(sizes))

    def _flushed(self, value: Any, size: Any) -> Any:
        """The value, or 0 if it is a rounding error of cancelling terms of this size."""
        if abs(value) > self.precision.rounding * size:
            return value
        if value and not self.precision.separates:
            raise TooLarge
        return value * 0

    def _power(self, args: Sequence[Any], in_radians: bool) -> Any:
        exponent = exact_value(args[1])
        base = self.value(args[0], in_radians)
        if exponent is not None:
            return self._rational_power(base, exponent)
        if base == 0:
            raise Undefined
        power = self.value(args[1], in_radians)
        self._check_power(base, power)
        return base**power

    def _rational_power(self, base: Any, exponent: Fraction) -> Any:
        """The principal value of base^(p / q); the odd root of a negative number is real."""
        if base == 0:
            if exponent <= 0:
                raise Undefined
            return base
        self._check_power(base, exponent)
        if exponent.denominator == 1:
            return base ** int(exponent)
        if exponent.denominator > _MAX_DEGREE:
            raise TooLarge
        power = self.precision.number(exponent)
        if exponent.denominator % 2 and is_real(base) and base.real < 0:
            return (-1) ** exponent.numerator * (-base) ** power
        return base**power

    def _check_power(self, base: Any, exponent: Any) -> None:
        size = abs(self.precision.library.log(base))
        if abs(exponent) * (1 + size) > self.precision.reach:
            raise TooLarge

    def _degrees(self, args: Sequence[Any], in_radians: bool) -> Any:
        value = self.value(args[0], in_radians)
        return value * self.precision.library.pi / 180 if in_radians else value

    def _function(self, args: Sequence[Any], _: bool) -> Any:
        name, inner = args
        if name in _NAMED:
            return _NAMED[name](self, inner)
        if name in ("factorial", "binomial", "mod", "floor", "ceil"):
            return self._whole(name, inner)
        if name in self.precision.functions:
            return self._elementary(name, self.value(inner[0], in_radians=True))
        return self._unknown(args)

    def _elementary(self, name: str, argument: Any) -> Any:
        size = abs(argument)
        if size > self.precision.reach or 0 < size < _TINY:
            raise TooLarge
        if name in _SATURATING and size > _SATURATED:
            raise TooLarge
        result = self.precision.functions[name](argument)
        return result if name == "exp" else self._flushed(result, min(1, size))

    def _logarithm(self, args: Sequence[Node], common: bool = False) -> Any:
        argument, *bases = [self.value(arg, in_radians=True) for arg in args]
        if argument == 0:
            raise Undefined
        log = self.precision.library.log
        if common and not bases:
            bases = [self.precision.number(Fraction(10))]
        return log(argument) / log(bases[0]) if bases else log(argument)

    def _root(self, args: Sequence[Node]) -> Any:
        degree = exact_value(args[1])
        if not degree:
            raise Undefined
        return self._rational_power(self.value(args[0]), 1 / degree)

    def _whole(self, name: str, args: Sequence[Node]) -> Any:
        value = exact_value(Node("fn", (name, args)))
        if value is not None:
            return self.precision.number(value)
        if name == "factorial":
            return self._gamma(self.value(args[0]) + 1)
        if name == "binomial":
            n, k = (self.value(arg) for arg in args)
            return self._gamma(n + 1) / (self._gamma(k + 1) * self._gamma(n - k + 1))
        return self._unknown((name, args))

    def _gamma(self, value: Any) -> Any:
        """(value - 1)!, of real numbers only."""
        if not is_real(value) or abs(value) > _MAX_GAMMA:
            raise Undefined
        return (_LONG.gamma if self.precision is FINE else math.gamma)(value.real)

    def _determinant(self, rows: Sequence[Sequence[Node]]) -> Any:
        if not 1 <= len(rows) <= _MAX_DETERMINANT:
            raise Undefined
        return _determinant([[self.value(cell) for cell in row] for row in rows])

    def _unknown(self, args: Sequence[Any], _: bool = False) -> Any:
        """An unknown function: a smooth one that is fixed by its name.

        Each argument is evaluated once: f(f(f(x))) takes three evaluations, not two to the third.
        """
        cosine = self.precision.library.cos
        total = self.precision.number(Fraction(1))
        for index, arg in enumerate(args[1]):
            value = self.value(arg)
            scale = self.precision.number(symbol_value(f"{args[0]}({index}", 1))
            total = total * scale + cosine(value * scale) + value * value / 7
        return total


_RULES: dict[str, Callable[[ExpressionEvaluator, Sequence[Any], bool], Any]] = {
    "num": lambda self, args, _: self.precision.number(args[0]),
    "sym": lambda self, args, _: self.precision.number(symbol_value(args[0], self.point)),
    "const": ExpressionEvaluator._constant,
    "add": ExpressionEvaluator._sum,
    "mul": lambda self, args, in_radians: math.prod(self.value(x, in_radians) for x in args),
    "pow": ExpressionEvaluator._power,
    "deg": ExpressionEvaluator._degrees,
    "fn": ExpressionEvaluator._function,
    "call": ExpressionEvaluator._unknown,
    "opaque": ExpressionEvaluator._unknown,
}
_NAMED: dict[str, Callable[[ExpressionEvaluator, Sequence[Any]], Any]] = {
    "ln": ExpressionEvaluator._logarithm,
    "log": lambda self, args: self._logarithm(args, not self.natural),
    "lg": lambda self, args: self._logarithm(args, True),
    "root": ExpressionEvaluator._root,
    "abs": lambda self, args: abs(self.value(args[0])) + self.precision.number(Fraction(0)),
    "det": ExpressionEvaluator._determinant,
}


def _determinant(rows: list[list[Any]]) -> Any:
    if len(rows) == 1:
        return rows[0][0]
    minors = ([[*row[:k], *row[k + 1 :]] for row in rows[1:]] for k in range(len(rows)))
    return sum((-1) ** k * rows[0][k] * _determinant(minor) for k, minor in enumerate(minors))


@lru_cache(maxsize=4096)
def symbol_value(name: str, point: int) -> Fraction:
    """Value of a symbol at a point: pseudo-random, fixed by its name.

    All values are positive at point 0 and negative at point 1; at others the sign is random.
    """
    digest = blake2b(f"{name}@{point}".encode(errors="replace"), digest_size=4).digest()
    value = Fraction(3, 10) + Fraction(int.from_bytes(digest[:3], "big"), 9_000_000)
    is_negative = point == 1 or (point > 1 and digest[3] % 2 == 1)
    return -value if is_negative else value
