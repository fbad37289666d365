"""Numerical evaluation of an expression at fixed values of its symbols."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from reasonenv.grading.budget import spend
from reasonenv.grading.numeric.exact import Undefined, exact_value
from reasonenv.grading.numeric.precision import Precision, is_real
from reasonenv.grading.parsing.nodes import Node

_ELEMENTARY = frozenset(
    """sin cos tan arcsin arccos arctan sinh cosh tanh arsinh arcosh artanh
    exp""".split()  # noqa: SIM905 - to be read
)
_RECIPROCALS = {
    "cot": "tan", "sec": "cos", "csc": "sin", "coth": "tanh", "sech": "cosh", "csch": "sinh",
}  # fmt: skip
_OF_RECIPROCAL = {"arcsec": "arccos", "arccsc": "arcsin"}
_LOGARITHMS = frozenset(["ln", "log", "lg"])
_RADIAN_FUNCTIONS = (
    _ELEMENTARY | _LOGARITHMS | _RECIPROCALS.keys() | _OF_RECIPROCAL.keys() | {"arccot"}
)
_INTEGER_FUNCTIONS = frozenset(["floor", "ceil", "factorial", "binomial", "mod"])
_MAX_DETERMINANT = 3


class ExpressionEvaluator:
    r"""Evaluation of expressions in one precision, at one point.

    An unknown function, f(x) or an unevaluated sum, has the value of a smooth function of its
    arguments that is fixed by its name.

    Args:
        precision: Precision of all numbers.
        point: Index of the values of the symbols: see `symbol_value`.
        natural: Base of \log without one: e if True, else 10.
        real: True if an expression has no value where a part of it is not real.
    """

    __slots__ = ("natural", "point", "precision", "real")

    def __init__(self, precision: Precision, point: int, natural: bool, real: bool) -> None:
        self.precision, self.point, self.natural, self.real = precision, point, natural, real

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
        value = _RULES[node.op](self, node, in_radians)
        if self.real and not is_real(value):
            raise Undefined
        return value

    def _number(self, node: Node, _: bool) -> Any:
        return self.precision.check_finite(self.precision.number(node.args[0]))

    def _symbol(self, node: Node, _: bool) -> Any:
        return self.precision.number(symbol_value(node.args[0], self.point))

    def _constant(self, node: Node, _: bool) -> Any:
        if node.args[0] not in self.precision.constants:
            raise Undefined
        return self.precision.constants[node.args[0]]

    def _sum(self, node: Node, in_radians: bool) -> Any:
        return self.precision.total([self.value(term, in_radians) for term in node.args])

    def _product(self, node: Node, in_radians: bool) -> Any:
        total = self.precision.number(Fraction(1))
        for factor in node.args:
            total = total * self.value(factor, in_radians)
        return self.precision.check_finite(total)

    def _power(self, node: Node, in_radians: bool) -> Any:
        base, exponent = node.args
        rational = exact_value(exponent)
        value = self.value(base, in_radians)
        if rational is not None:
            result = self.precision.rational_power(value, rational)
        else:
            result = self.precision.power(value, self.value(exponent, in_radians))
        return self.precision.check_finite(result)

    def _degrees(self, node: Node, in_radians: bool) -> Any:
        value = self.value(node.args[0], in_radians)
        return value * self.precision.constants["pi"] / 180 if in_radians else value

    def _function(self, node: Node, _: bool) -> Any:
        name, args = node.args
        if name == "det":
            value = self._determinant(args)
        elif name == "root":
            value = self._root(*args)
        elif name == "abs":
            value = abs(self.value(args[0])) + self.precision.number(Fraction(0))
        elif name in _INTEGER_FUNCTIONS:
            value = self._whole(node, name, args)
        elif name in _RADIAN_FUNCTIONS:
            value = self._elementary(name, args)
        else:
            value = self._unknown(node)
        return self.precision.check_finite(value)

    def _elementary(self, name: str, args: Sequence[Node]) -> Any:
        """A logarithm or a trigonometric function."""
        argument, *bases = [self.value(arg, in_radians=True) for arg in args]
        functions = self.precision.functions
        if name in _LOGARITHMS:
            is_common = name == "lg" or (name == "log" and not self.natural)
            common = [self.precision.number(Fraction(10))] if is_common else [None]
            return self.precision.logarithm(argument, (bases or common)[0])
        if name in _RECIPROCALS:
            return 1 / functions[_RECIPROCALS[name]](argument)
        if name in _OF_RECIPROCAL:
            name, argument = _OF_RECIPROCAL[name], 1 / argument
        if name == "arccot":  # between 0 and pi, as in ISO 80000-2
            return self.precision.constants["pi"] / 2 - functions["arctan"](argument)
        self.precision.check_argument(name, argument)
        return self.precision.elementary(name, argument)

    def _root(self, radicand: Node, degree: Node) -> Any:
        rational = exact_value(degree)
        if not rational:
            raise Undefined
        return self.precision.rational_power(self.value(radicand), 1 / rational)

    def _whole(self, node: Node, name: str, args: Sequence[Node]) -> Any:
        """A function of integers: exact for those, its smooth extension for others."""
        value = exact_value(node)
        if value is not None:
            return self.precision.number(value)
        gamma = self.precision.gamma
        if name == "factorial":
            return gamma(self.value(args[0]) + 1)
        if name == "binomial":
            n, k = (self.value(arg) for arg in args)
            return gamma(n + 1) / (gamma(k + 1) * gamma(n - k + 1))
        return self._unknown(node)

    def _determinant(self, rows: Sequence[Sequence[Node]]) -> Any:
        if not 1 <= len(rows) <= _MAX_DETERMINANT or any(len(row) != len(rows) for row in rows):
            raise Undefined
        return _determinant([[self.value(cell) for cell in row] for row in rows])

    def _unknown(self, node: Node, _: bool = False) -> Any:
        """An unknown function: a smooth one that is fixed by its name.

        Each argument is evaluated once: f(f(f(x))) takes three evaluations, not two to the third.
        """
        name, args = node.args
        cosine = self.precision.functions["cos"]
        total = self.precision.number(Fraction(1))
        for index, arg in enumerate(args):
            value = self.value(arg)
            scale = self.precision.number(symbol_value(f"{name}({index}", 1))
            total = total * scale + cosine(value * scale) + value * value / 7
        return self.precision.check_finite(total)


_RULES: dict[str, Callable[[ExpressionEvaluator, Node, bool], Any]] = {
    "num": ExpressionEvaluator._number,
    "sym": ExpressionEvaluator._symbol,
    "const": ExpressionEvaluator._constant,
    "add": ExpressionEvaluator._sum,
    "mul": ExpressionEvaluator._product,
    "pow": ExpressionEvaluator._power,
    "deg": ExpressionEvaluator._degrees,
    "fn": ExpressionEvaluator._function,
    "call": ExpressionEvaluator._unknown,
    "opaque": ExpressionEvaluator._unknown,
}


def _determinant(rows: list[list[Any]]) -> Any:
    if len(rows) == 1:
        return rows[0][0]
    total = rows[0][0] * 0
    for column, value in enumerate(rows[0]):
        minor = [[*row[:column], *row[column + 1 :]] for row in rows[1:]]
        total += (-1) ** column * value * _determinant(minor)
    return total


_NUM_USUAL = 8
_SIZES = ((-1, 1), (1, 4), (-0.1, 0.1), (3, 12), (-5, -1), (10, 130), (-60, -5), (100, 1000))


@lru_cache(maxsize=4096)
def symbol_value(name: str, point: int) -> Fraction:
    """Value of a symbol at a point: pseudo-random, fixed by its name.

    All values are positive at point 0 and negative at point 1; at others the sign is random, and
    from point 8 on the values are of one size at each, from less than 0.1 to almost 1000.
    """
    digest = blake2b(f"{name}@{point}".encode(errors="replace"), digest_size=4).digest()
    value = Fraction(3, 10) + Fraction(int.from_bytes(digest[:3], "big"), 9_000_000)
    if point >= _NUM_USUAL:
        low, high = map(Fraction, _SIZES[point % len(_SIZES)])
        return low + (high - low) * (value - Fraction(3, 10)) / 2
    is_negative = point == 1 or (point > 1 and digest[3] % 2 == 1)
    return -value if is_negative else value
