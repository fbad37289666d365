"""Plain numbers as people write them, compared exactly."""

import re
from fractions import Fraction

_INTEGER = r"\d{1,256}"
_PLAIN = re.compile(rf"{_INTEGER}\.?|(?:{_INTEGER})?\.{_INTEGER}")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:(?:,\d{3})+|(?: \d{3})+)(?:\.\d{1,256})?")
_POWER = re.compile(r"(.*?)(?:(?:\\times|\\cdot|\*|×)10\^\{?([+-]?\d{1,3})\}?|[eE]([+-]?\d{1,3}))")
_FRACTION = re.compile(
    rf"(?:({_INTEGER})(?: |(?=\\)))?"
    rf"(?:\\frac\{{?({_INTEGER})\}}?\{{({_INTEGER})\}}|\\frac(\d)(\d)|({_INTEGER})/({_INTEGER}))"
)


def same_number(left: str, right: str) -> bool | None:
    """Whether two texts are one number; None unless both are plain numbers.

    Exact, but for a fraction against six decimals or more: 1/3 is 0.333333.

    Args:
        left: Without white space at its ends, as `reasonenv.answers.normal` leaves it.
        right: As left.
    """
    if left.endswith("%") and right.endswith("%"):
        left, right = left[:-1], right[:-1]
    a, b = number(left), number(right)
    if a is None or b is None:
        return None
    one_rounded = _rounded(left, right) or _rounded(right, left)
    return a == b or (one_rounded and _near(a, b))


def number(text: str) -> Fraction | None:
    """The value of an integer, a decimal, a power of ten, a fraction or a mixed number."""
    sign = -1 if text.startswith("-") else 1
    text = text.removeprefix("-").removeprefix("+").removeprefix("\\$").removeprefix("$")
    if len(text) > 600:
        return None
    value = _decimal(text)
    if value is None and (match := _POWER.fullmatch(text)):
        mantissa = _decimal(match[1]) if match[1] else None
        power = Fraction(10) ** int(match[2] or match[3])
        value = None if mantissa is None else mantissa * power
    if value is None and (match := _FRACTION.fullmatch(text)):
        whole, *parts = match.groups()
        above, below = (int(part) for part in parts if part is not None)
        value = Fraction(int(whole or 0)) + Fraction(above, below) if below else None
    return None if value is None else sign * value


def _decimal(text: str) -> Fraction | None:
    if _PLAIN.fullmatch(text):
        return Fraction(text.removesuffix("."))
    if _GROUPED.fullmatch(text):
        return Fraction(text.replace(",", "").replace(" ", ""))
    return None


def _rounded(text: str, other: str) -> bool:
    """Whether `text` gives six decimals or more of what `other` writes as a fraction."""
    return ("frac" in other or "/" in other) and len(text.partition(".")[2]) >= 6


def _near(a: Fraction, b: Fraction) -> bool:
    return abs(a - b) <= Fraction(1, 10**6) * max(1, abs(b)) and abs(a - b) * 1000 < abs(b)
