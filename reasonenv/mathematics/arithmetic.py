"""Values of expressions: exact where they are rational, else to any precision, always bounded.

Two expressions are equal when they agree wherever both are real. That is decided by evaluation at
fixed points: in floating point, which settles most differences, and then to 130 digits.
"""

import cmath
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import mpmath

from reasonenv.mathematics.syntax import Node

MAX_BITS = 24_000
_DIGITS = 150
_NUM_POINTS = 8


class Undefined(ArithmeticError):
    """There is no value here: division by zero, a pole, an unknown operation."""


class TooLarge(ArithmeticError):
    """The value has too many digits to be worth computing."""


class NotRational(ArithmeticError):
    """The value is not rational, or not plainly so."""


# --- exact


@lru_cache(maxsize=20_000)
def exact(node: Node) -> Fraction | None:
    """The value of a rational expression, None when it is not plainly rational.

    Raises:
        TooLarge: More than 24,000 bits, or a factorial that is.
        Undefined: Division by zero.
    """
    try:
        return _exact(node)
    except NotRational:
        return None


def _exact(node: Node) -> Fraction:
    if node.op == "num":
        return node.args[0]
    if node.op == "deg":
        return _exact(node.args[0])
    rule = _EXACT.get(node.op)
    if rule is None:
        raise NotRational
    return rule(node.args)


def _exact_sum(args: Sequence[Node]) -> Fraction:
    return _bounded(sum((_exact(arg) for arg in args), Fraction(0)))


def _exact_product(args: Sequence[Node]) -> Fraction:
    total = Fraction(1)
    for arg in args:
        total = _bounded(total * _exact(arg))
    return total


def _exact_power(args: Sequence[Node]) -> Fraction:
    base, exponent = _exact(args[0]), _exact(args[1])
    if base == 0 and exponent < 0:
        raise Undefined
    if exponent.denominator != 1:
        return _rational_root(base, exponent.denominator) ** _affordable(base, exponent.numerator)
    if abs(base) == 1:
        return base if exponent % 2 else Fraction(1)
    return base ** _affordable(base, int(exponent))


def _affordable(base: Fraction, exponent: int) -> int:
    """The exponent, when the power has digits that can be paid for."""
    if _bits(base) * abs(exponent) > MAX_BITS:
        raise TooLarge
    return exponent


def _rational_root(value: Fraction, degree: int) -> Fraction:
    """The root of a perfect power."""
    if value < 0 or not 0 < degree <= 64:
        raise NotRational
    roots = [_whole_root(part, degree) for part in (value.numerator, value.denominator)]
    return Fraction(roots[0], roots[1])


def _whole_root(value: int, degree: int) -> int:
    if value.bit_length() > 1000:
        raise NotRational
    root = math.isqrt(value) if degree == 2 else round(value ** (1 / degree))
    if root**degree != value:
        raise NotRational
    return root


def _exact_function(args: Sequence[Any]) -> Fraction:
    name, inner = args
    if name == "root":
        value, degree = _exact(inner[0]), _exact(inner[1])
        if degree.denominator != 1:
            raise NotRational
        return _rational_root(value, int(degree))
    rule = _EXACT_FUNCTIONS.get(name)
    if rule is None:
        raise NotRational
    return _bounded(rule(*(_exact(arg) for arg in inner)))


def _factorial(n: Fraction) -> Fraction:
    if n.denominator != 1 or n < 0:
        raise NotRational
    if n > 3000:
        raise TooLarge
    return Fraction(math.factorial(int(n)))


def _binomial(n: Fraction, k: Fraction) -> Fraction:
    if n.denominator != 1 or k.denominator != 1 or n < 0:
        raise NotRational
    if n > 3000:
        raise TooLarge
    return Fraction(math.comb(int(n), int(k)) if k >= 0 else 0)


def _modulo(a: Fraction, b: Fraction) -> Fraction:
    if b == 0:
        raise Undefined
    return a % b


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _bounded(value: Fraction) -> Fraction:
    if _bits(value) > MAX_BITS:
        raise TooLarge
    return value


_EXACT: dict[str, Callable[[Any], Fraction]] = {
    "add": _exact_sum,
    "mul": _exact_product,
    "pow": _exact_power,
    "fn": _exact_function,
}
_EXACT_FUNCTIONS: dict[str, Callable[..., Fraction]] = {
    "factorial": _factorial,
    "binomial": _binomial,
    "abs": abs,
    "mod": _modulo,
    "floor": lambda x: Fraction(math.floor(x)),
    "ceil": lambda x: Fraction(math.ceil(x)),
}


# --- numeric


_MP: Any = mpmath.mp.clone()
_MP.dps = _DIGITS
_CLOSE = _MP.mpf(10) ** (20 - _DIGITS)


class Field:
    """Numbers of one precision, with the functions on them.

    Args:
        library: cmath, or an mpmath context.
        number: From a Fraction to a number.
        natural: Whether a logarithm without a base is that to base e; else it is to base 10.
    """

    def __init__(self, library: Any, number: Callable[[Fraction], Any], natural: bool) -> None:
        self.library, self.number, self.natural = library, number, natural
        self.reach, self.span = (700, 1e300) if library is cmath else (10_000, 1e100)
        self.rounding = 1e-9 if library is cmath else _CLOSE
        self.library_gamma = getattr(library, "gamma", math.gamma)
        self.constants = {"pi": library.pi, "e": library.e, "i": number(Fraction(0)) + 1j}

    def log10(self, x: Any) -> Any:
        """The logarithm to base 10."""
        return self.library.log(x) / self.library.log(self.number(Fraction(10)))

    def evaluate(self, node: Node, point: int, radians: bool = True) -> Any:
        """The value of an expression, its symbols standing for the numbers of a point.

        Raises:
            ArithmeticError: There is none, or it cannot be computed.
            ValueError: Outside of a function's domain.
        """
        op, args = node
        if op == "num":
            return self.finite(self.number(_bounded(args[0])))
        if op == "sym":
            return self.number(symbol_value(args[0], point))
        if op == "const":
            if args[0] not in self.constants:
                raise Undefined
            return self.constants[args[0]]
        if op == "add":
            return self.total([self.evaluate(arg, point, radians) for arg in args])
        if op == "mul":
            total = self.number(Fraction(1))
            for arg in args:
                total = total * self.evaluate(arg, point, radians)
            return self.finite(total)
        if op == "pow":
            return self.finite(self.power(node, point, radians))
        if op == "deg":
            value = self.evaluate(args[0], point, radians)
            return value if radians else value * self.library.pi / 180
        if op == "fn":
            return self.finite(self.function(args[0], args[1], point))
        if op in ("call", "opaque"):
            return self.unknown(args[0], args[1], point)
        raise Undefined

    def finite(self, value: Any) -> Any:
        """The value, when it is a number."""
        if not self.library.isfinite(value):
            raise TooLarge
        return value

    def total(self, terms: Sequence[Any]) -> Any:
        """Their sum, when none is so small that it would be lost beside another."""
        sizes = [size for size in map(abs, terms) if size]
        if not sizes:
            return self.number(Fraction(0))
        if max(sizes) > min(sizes) * self.span:
            raise TooLarge
        return self.cancelled(sum(terms, self.number(Fraction(0))), max(sizes))

    def cancelled(self, value: Any, size: Any) -> Any:
        """A value, and 0 for what is but the rounding of terms of some size that cancel.

        Floating point cannot tell the two.
        """
        if abs(value) > self.rounding * size:
            return self.finite(value)
        if self.library is cmath and value:
            raise TooLarge
        return self.number(Fraction(0))

    def power(self, node: Node, point: int, radians: bool) -> Any:
        """base ** exponent: real where an odd root of a negative number is taken."""
        rational = exact(node.args[1])
        base = self.evaluate(node.args[0], point, radians)
        if rational is not None:
            return self.rational_power(base, rational)
        exponent = self.evaluate(node.args[1], point, radians)
        if base == 0:
            raise Undefined
        if abs(exponent) * (1 + abs(self.library.log(base))) > self.reach:
            raise TooLarge
        return base**exponent

    def rational_power(self, base: Any, exponent: Fraction) -> Any:
        """base ** (p / q)."""
        if base == 0:
            if exponent <= 0:
                raise Undefined
            return base
        if abs(exponent) * (1 + abs(self.library.log(base))) > self.reach:
            raise TooLarge
        if exponent.denominator == 1:
            return base ** int(exponent)
        if exponent.denominator > 1000:
            raise TooLarge  # too close to 1 to be told from it
        power = self.number(exponent)
        if exponent.denominator % 2 and _is_real(base) and base.real < 0:
            sign = -1 if exponent.numerator % 2 else 1
            return sign * (-base) ** power
        return base**power

    def function(self, name: str, args: Sequence[Any], point: int) -> Any:  # noqa: C901
        """A named function."""
        if name == "det":
            return self.determinant(args, point)
        if name == "root":
            degree = exact(args[1])
            if degree is None or degree == 0:
                raise Undefined
            return self.rational_power(self.evaluate(args[0], point), 1 / degree)
        if name == "abs":
            return abs(self.evaluate(args[0], point)) + self.number(Fraction(0))
        if name in ("floor", "ceil", "factorial", "binomial", "mod"):
            return self.whole(name, args, point)
        values = [self.evaluate(arg, point, radians=False) for arg in args]
        if name in ("ln", "log", "lg"):
            return self.logarithm(name, *values)
        if name in _RECIPROCALS:
            return 1 / getattr(self.library, _RECIPROCALS[name])(values[0])
        size = abs(values[0])
        if size > self.reach or 0 < size < 1e-30 or (name in _SATURATING and size > 40):
            raise TooLarge  # or too close to a limit to be told from it
        if name in _NAMES:
            value = getattr(self.library, _NAMES[name])(values[0])
            return value if name == "exp" else self.cancelled(value, min(1, size))
        return self.unknown(name, args, point)

    def logarithm(self, name: str, value: Any, base: Any = None) -> Any:
        """A logarithm; \\log without a base is one of e or of 10, as the field says."""
        if value == 0:
            raise Undefined
        if base is not None:
            return self.library.log(value) / self.library.log(base)
        if name == "lg" or (name == "log" and not self.natural):
            return self.log10(value)
        return self.library.log(value)

    def whole(self, name: str, args: Sequence[Node], point: int) -> Any:
        """A function of whole numbers: exact for those, extended or any function to others."""
        value = exact(Node("fn", (name, tuple(args))))
        if value is not None:
            return self.number(value)
        if name == "factorial":
            return self.gamma(self.evaluate(args[0], point) + 1)
        if name == "binomial":
            n, k = (self.evaluate(arg, point) for arg in args)
            return self.gamma(n + 1) / (self.gamma(k + 1) * self.gamma(n - k + 1))
        return self.unknown(name, args, point)

    def gamma(self, value: Any) -> Any:
        """(value - 1)!, of real numbers only."""
        if not _is_real(value) or abs(value) > 150:
            raise Undefined
        return self.library_gamma(value.real)

    def determinant(self, rows: Sequence[Sequence[Node]], point: int) -> Any:
        """Of a matrix up to 3 x 3."""
        if not 1 <= len(rows) <= 3 or any(len(row) != len(rows) for row in rows):
            raise Undefined
        values = [[self.evaluate(cell, point) for cell in row] for row in rows]
        return _determinant(values)

    def unknown(self, name: str, args: Sequence[Any], point: int) -> Any:
        """A function of which only the name is known: some smooth one, the same for that name."""
        total = self.number(Fraction(1))
        for index, arg in enumerate(args):
            value = self.evaluate(arg, point)
            scale = self.number(symbol_value(f"{name}({index}", 1))
            total = total * scale + self.library.cos(value * scale) + value * value / 7
        return self.finite(total)


_SATURATING = frozenset(["sinh", "cosh", "tanh"])
_RECIPROCALS = {"cot": "tan", "sec": "cos", "csc": "sin"}
_NAMES = {
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "exp": "exp",
}  # fmt: skip


def _determinant(rows: list[list[Any]]) -> Any:
    if len(rows) == 1:
        return rows[0][0]
    total = rows[0][0] * 0
    for column, value in enumerate(rows[0]):
        minor = [[*row[:column], *row[column + 1 :]] for row in rows[1:]]
        total += (-1) ** column * value * _determinant(minor)
    return total


def _float(value: Fraction) -> complex:
    try:
        return complex(value)
    except OverflowError:
        raise TooLarge from None


def _precise(value: Fraction) -> Any:
    return _MP.mpc(_MP.mpf(value.numerator) / value.denominator)


FLOAT = Field(cmath, _float, natural=True)
FLOAT_10 = Field(cmath, _float, natural=False)
PRECISE = Field(_MP, _precise, natural=True)
PRECISE_10 = Field(_MP, _precise, natural=False)


@lru_cache(maxsize=4096)
def symbol_value(name: str, point: int) -> Fraction:
    """The number that a symbol stands for at a point: any, but always the same.

    All are positive at point 0 and negative at point 1; at others each has a sign of its own.
    """
    digest = blake2b(f"{name}@{point}".encode(errors="replace"), digest_size=4).digest()
    value = Fraction(3, 10) + Fraction(int.from_bytes(digest[:3], "big"), 9_000_000)
    negative = point == 1 or (point > 1 and digest[3] % 2 == 1)
    return -value if negative else value


def _is_real(value: Any) -> bool:
    return abs(value.imag) <= 1e-12 * (1 + abs(value.real))


def same(a: Node, b: Node) -> bool | None:
    """Whether two expressions are equal wherever both are real; None when that stays open.

    Args:
        a: An expression, without ± in it.
        b: Another.
    """
    if a == b:
        return True
    left, right = exact(a), exact(b)
    if left is not None and right is not None:
        return left == right
    verdict = _same(a, b, FLOAT, PRECISE)
    if verdict is False and _has(a, "log") | _has(b, "log"):
        verdict = _same(a, b, FLOAT_10, PRECISE_10)
    if verdict is False and (_has(a, "opaque") or _has(b, "opaque")):
        return None
    return verdict


def _same(a: Node, b: Node, rough: Field, fine: Field) -> bool | None:
    varies = _variable(a) or _variable(b)
    points = range(_NUM_POINTS) if varies else range(1)
    agreeing: list[int] = []
    for point in points:
        try:
            values = _values(a, b, rough, point)
        except TooLarge:
            agreeing.append(point)  # for floating point, that is
            continue
        if values is None or (varies and _is_real(values[0]) != _is_real(values[1])):
            continue
        left, right = values
        if abs(left - right) > 1e-6 * max(abs(left), abs(right)):
            return False
        agreeing.append(point)
    if len(agreeing) < min(2, len(points)):
        return None
    verdicts = [_agree(a, b, fine, point) for point in agreeing[:2]]
    return False if False in verdicts else None if None in verdicts else True


def _agree(a: Node, b: Node, field: Field, point: int) -> bool | None:
    """Whether two expressions have one value at a point."""
    values = _values(a, b, field, point)
    if values is None:
        return None
    left, right = values
    largest = max(abs(left), abs(right))
    return bool(abs(left - right) <= _CLOSE * largest)


def _values(a: Node, b: Node, field: Field, point: int) -> tuple[Any, Any] | None:
    try:
        return field.evaluate(a, point), field.evaluate(b, point)
    except TooLarge:
        raise
    except (ArithmeticError, ValueError):
        return None


@lru_cache(maxsize=20_000)
def _variable(node: Node) -> bool:
    return any(part.op in ("sym", "call", "opaque") for part in parts(node))


@lru_cache(maxsize=20_000)
def _has(node: Node, name: str) -> bool:
    return any(part.op == name or (part.op == "fn" and part.args[0] == name) for part in parts(node))


def parts(node: Node) -> Iterator[Node]:
    """A tree and everything in it."""
    yield node
    for arg in node.args:
        yield from _inner(arg)


def _inner(arg: Any) -> Iterator[Node]:
    if isinstance(arg, Node):
        yield from parts(arg)
    elif isinstance(arg, tuple):
        for item in arg:
            yield from _inner(item)


def approximate(node: Node) -> float | None:
    """The value of a real constant in floating point, None when there is none."""
    try:
        value = FLOAT.evaluate(node, 0)
    except (ArithmeticError, ValueError):
        return None
    return value.real if _is_real(value) and not _variable(node) else None
