r"""Values of constant LaTeX expressions, as stored answers have them.

Time and memory are bounded: powers, factorials and nesting that are too large have no value.

The grammar is that of latex2sympy2 (https://github.com/OrangeX4/latex2sympy), with which
MathVision's official code reads numbers. As there, reading stops at a bracket that closes nothing,
2\frac{1}{2} is a product, 1:2 a quotient, 2/3\pi is 2/(3\pi), \log is to the base 10, \sin 2\pi is
\sin(2\pi), and a name that is no number has no value.
"""

import math
import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\s+|[$~]|\\(?:displaystyle|left|right|q?quad)(?![a-zA-Z])|\\,"
    r"|(?P<operator>\\(?:cdot|times|div)(?![a-zA-Z]))"
    r"|(?P<percent>(?<=\d)\\%)"
    r"|(?P<number>[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?|\.[0-9]+)"
    r"|(?P<name>\\[a-zA-Z]+)|(?P<sign>\\?.)",
    re.DOTALL,
)
_OPERATORS = {r"\cdot": "*", r"\times": "*", r"\div": "/", ":": "/"}
_PERCENT = "percent"
_CONSTANTS = {r"\pi": math.pi, r"\tau": math.tau}
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    **{rf"\{name}": getattr(math, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{rf"\arc{name}": getattr(math, f"a{name}") for name in ("sin", "cos", "tan")},
    **{rf"\ar{name}": getattr(math, f"a{name}") for name in ("sinh", "cosh", "tanh")},
    r"\exp": math.exp,
    r"\log": math.log10,
}
_INVERSES = {
    **{rf"\{name}": rf"\arc{name}" for name in ("sin", "cos", "tan")},
    **{rf"\{name}": rf"\ar{name}" for name in ("sinh", "cosh", "tanh")},
}
_OF_INTEGERS: dict[str, Callable[..., int]] = {r"\gcd": math.gcd, r"\lcm": math.lcm}
# Before these the argument of a function ends that has no brackets.
_NO_ARGUMENT = frozenset({*_FUNCTIONS, *_OF_INTEGERS, r"\sqrt", "e"})
_CLOSING = {"(": ")", "{": "}", "[": "]", r"\{": r"\}", r"\lfloor": r"\rfloor"}
_FRACTIONS = (r"\frac", r"\dfrac", r"\tfrac")
_BINOMIALS = (r"\binom", r"\dbinom", r"\tbinom")
# Tokens that end an expression; any other token after it is an error.
_ENDS = frozenset(".)}]_^&\\") | {r"\}", "\\\\"}
_LONGEST = 1000
_DEEPEST = 50
_MOST_BITS = 24_000
_LARGEST = 1000


def value(text: str) -> float | None:
    r"""The value of a text such as `\frac{1}{2}`, `2\sqrt{3}` or `10\pi + 20`; None without one.

    It is an int where whole numbers were only added, multiplied and raised to powers.
    """
    if len(text) > _LONGEST:
        return None
    try:
        reader = _Reader(text)
        result = reader.sum()
        is_read = reader.next == "" or reader.next in _ENDS
        return result if is_read and math.isfinite(result) else None
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


def _tokens(text: str) -> list[str]:
    matches = [match for match in _TOKEN.finditer(text) if match.lastgroup]
    return [_PERCENT if m["percent"] else _OPERATORS.get(m[0], m[0]) for m in matches]


class _Reader:
    """A recursive descent over tokens that evaluates as it goes; ValueError where it cannot."""

    def __init__(self, text: str) -> None:
        self._tokens, self._place, self._depth = _tokens(text), 0, 0

    @property
    def next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _take(self, expected: str = "") -> str:
        token = self.next
        if not token or (expected and token != expected):
            raise ValueError
        self._place += 1
        return token

    def sum(self) -> float:
        total = self._product()
        while self.next and self.next in "+-":
            total += self._product() if self._take() == "+" else -self._product()
        return total

    def _product(self, is_argument: bool = False) -> float:
        """A product; as an argument without brackets it ends before the next function."""
        total = self._signed(is_argument)
        while self.next and self.next in "*/":
            if self._take() == "*":
                total *= self._signed(is_argument)
            else:
                total /= self._signed(is_argument)
        return total

    def _signed(self, is_argument: bool) -> float:
        is_negative = False
        while self.next and self.next in "+-":
            is_negative ^= self._take() == "-"
        total = self._postfix()
        while self._is_factor(is_argument):
            total *= self._postfix()
        return -total if is_negative else total

    def _is_factor(self, is_argument: bool) -> bool:
        token = self.next
        if token == r"\rfloor" or (is_argument and token in _NO_ARGUMENT):
            return False
        is_name = len(token) > 1 and token[0] in "\\." and token[1].isalnum()
        return token in _CLOSING or token[:1].isalnum() or is_name

    def _postfix(self) -> float:
        number = self._power()
        while self.next in ("!", "'", _PERCENT):
            sign = self._take()
            if sign == "!":
                number = _bounded_factorial(number)
            elif sign == _PERCENT:
                number = _whole(number / 100)
        return number

    def _power(self) -> float:
        base = self._atom()
        while self.next == "^":
            self._take()
            base = _bounded_power(base, self._script())
        return base

    def _script(self) -> float:
        """An exponent or index: a group in braces, or a number alone."""
        if self.next in ("{", r"\{"):
            return self._group()
        if _is_number(self.next) or self.next in _CONSTANTS:
            return self._atom()
        raise ValueError

    def _atom(self) -> float:
        token = self.next
        if token in _CLOSING:
            number = self._group()
            return math.floor(number) if token == r"\lfloor" else number
        self._take()
        if _is_number(token):
            digits = token.replace(",", "")
            return _whole(float(digits)) if "." in digits else int(digits)
        if token == "e" and self.next == "^":
            return math.e
        return self._named(token)

    def _group(self) -> float:
        """A sum in brackets."""
        closing = _CLOSING[self._take()]
        self._deepen()
        inner = self.sum()
        self._take(closing)
        self._depth -= 1
        return inner

    def _named(self, name: str) -> float:
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in _FRACTIONS:
            return self._braced() / self._braced()
        if name in _BINOMIALS:
            return _bounded_binomial(self._braced(), self._braced())
        if name == r"\sqrt":
            degree = self._group() if self.next == "[" else 2
            return _bounded_power(self._braced(), 1 / degree)
        if name in _OF_INTEGERS:
            return _OF_INTEGERS[name](*self._integers())
        if name in _FUNCTIONS:
            return self._function_value(name)
        raise ValueError

    def _function_value(self, name: str) -> float:
        """A function, perhaps raised to a power or with a base, of what follows it."""
        exponent, base = 1.0, None
        while self.next in ("^", "_"):
            if self._take() == "^":
                exponent = self._script()
            else:
                base = self._script()
        argument = self._group() if self.next == "(" else self._unbracketed()
        if exponent == -1 and name in _INVERSES:
            return _FUNCTIONS[_INVERSES[name]](argument)
        has_base = name == r"\log" and base is not None
        result = math.log(argument, base) if has_base else _FUNCTIONS[name](argument)  # pyright: ignore[reportArgumentType]
        return result if exponent == 1 else _bounded_power(result, exponent)

    def _unbracketed(self) -> float:
        self._deepen()
        argument = self._product(is_argument=True)
        self._depth -= 1
        return argument

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError

    def _integers(self) -> list[int]:
        """Whole numbers in brackets, between commas."""
        numbers = []
        self._take("(")
        while not numbers or self.next == ",":
            if numbers:
                self._take()
            numbers.append(_integer(self.sum()))
        self._take(")")
        return numbers

    def _braced(self) -> float:
        if self.next != "{":
            raise ValueError
        return self._group()


def _is_number(token: str) -> bool:
    return token.isascii() and token.strip(",.")[:1].isdigit()


def _whole(number: float) -> float:
    """The number, as an int where it is whole."""
    return int(number) if number == int(number) else number


def _integer(number: float) -> int:
    """The number as an int; an error where it is not whole."""
    if number != int(number):
        raise ValueError
    return int(number)


def _bounded_power(base: float, exponent: float) -> float:
    """A real power of at most some thousand digits."""
    if isinstance(base, int) and base.bit_length() * abs(exponent) > _MOST_BITS:
        raise ValueError
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError
    return result


def _bounded_factorial(number: float) -> int:
    """The factorial of a whole number up to 1,000."""
    if not 0 <= number <= _LARGEST:
        raise ValueError
    return math.factorial(_integer(number))


def _bounded_binomial(number: float, size: float) -> int:
    """Number of subsets of that size of a set of up to 1,000 elements."""
    if not 0 <= number <= _LARGEST or size < 0:
        raise ValueError
    return math.comb(_integer(number), _integer(size))
