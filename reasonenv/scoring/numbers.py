r"""Values of constant LaTeX, in floating point: the small part that stored answers are written in.

Bounded by construction: powers and nesting that are too large have no value.

The grammar is that of latex2sympy2 (https://github.com/OrangeX4/latex2sympy), with which
MathVision's official code reads numbers. As there, reading stops at a bracket that closes nothing,
2\frac{1}{2} is a product, 1:2 a quotient, 2/3\pi is 2/(3\pi), and a name that is no number has no
value.
"""

import math
import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\s+|\$|\\(?:displaystyle|left|right|[,;: ])"
    r"|(?P<operator>\\(?:cdot|times|div)(?![a-zA-Z]))"
    r"|(?P<percent>(?<=\d)\\%)"
    r"|(?P<number>\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)"
    r"|(?P<name>\\[a-zA-Z]+)|(?P<sign>\\?.)",
    re.DOTALL,
)
_OPERATORS = {r"\cdot": "*", r"\times": "*", r"\div": "/", ":": "/"}
_PERCENT = "percent"
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "arcsin": math.asin,
    "arccos": math.acos,
    "arctan": math.atan,
    "exp": math.exp,
}
_CLOSING = {"(": ")", "{": "}", "[": "]"}
# What cannot go on an expression ends it; whatever else follows makes it unreadable.
_ENDS = frozenset(".)}]_")
_LONGEST = 1000
_DEEPEST = 50
_MOST_BITS = 24_000


def value(text: str) -> float | None:
    r"""The value of a text such as `\frac{1}{2}`, `2\sqrt{3}` or `10\pi + 20`; None without one."""
    if len(text) > _LONGEST:
        return None
    try:
        reader = _Reader(text)
        result = float(reader.sum())
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
    is_read = reader.next == "" or reader.next in _ENDS
    return result if is_read and math.isfinite(result) else None


def _tokens(text: str) -> list[str]:
    found = [match for match in _TOKEN.finditer(text) if match.lastgroup]
    return [_PERCENT if m["percent"] else _OPERATORS.get(m[0], m[0]) for m in found]


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

    def _product(self) -> float:
        total = self._signed()
        while self.next and self.next in "*/":
            if self._take() == "*":
                total *= self._signed()
            else:
                total /= self._signed()
        return total

    def _signed(self) -> float:
        if self.next and self.next in "+-":
            return self._signed() if self._take() == "+" else -self._signed()
        total = self._power()
        while self._is_factor(self.next):
            total *= self._power()
        return total

    def _is_factor(self, token: str) -> bool:
        return token in _CLOSING or token[:1].isalnum() or (len(token) > 1 and token[0] in "\\.")

    def _power(self) -> float:
        base = self._postfix(self._atom())
        while self.next == "^":
            self._take()
            base = self._postfix(_power(base, self._atom()))
        return base

    def _postfix(self, number: float) -> float:
        while self.next in ("!", _PERCENT):
            number = _factorial(number) if self._take() == "!" else number / 100
        return number

    def _atom(self) -> float:
        token = self.next
        if token in _CLOSING:
            return self._group()
        self._take()
        if token[0].isdigit() or (len(token) > 1 and token[0] == "."):
            digits = token.replace(",", "")
            return int(digits) if digits.isdigit() else float(digits)
        if token == "e" and self.next == "^":
            return math.e
        return self._named(token)

    def _group(self) -> float:
        """A sum in brackets."""
        closing = _CLOSING.get(self._take(), "")
        self._depth += 1
        if not closing or self._depth > _DEEPEST:
            raise ValueError
        inner = self.sum()
        self._take(closing)
        self._depth -= 1
        return inner

    def _named(self, token: str) -> float:
        name = token.removeprefix("\\") if len(token) > 1 else ""
        if name == "pi":
            return math.pi
        if name == "frac":
            return self._braced() / self._braced()
        if name == "sqrt":
            degree = self._group() if self.next == "[" else 2
            return _power(self._braced(), 1 / degree)
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](self._power())
        raise ValueError

    def _braced(self) -> float:
        if self.next != "{":
            raise ValueError
        return self._group()


def _power(base: float, exponent: float) -> float:
    if isinstance(base, int) and base.bit_length() * abs(exponent) > _MOST_BITS:
        raise ValueError
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError
    return result


def _factorial(number: float) -> float:
    if number != int(number) or not 0 <= number <= 1000:
        raise ValueError
    return math.factorial(int(number))
