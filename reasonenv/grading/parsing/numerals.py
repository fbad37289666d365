"""Grammar of numbers: decimals, powers of ten, repeating digits, bases; and of subscripts."""

from fractions import Fraction

from reasonenv.grading.parsing.cursor import Cursor, Unreadable
from reasonenv.grading.parsing.nodes import Node, num

MAX_DIGITS = 256
"""Digits of a number at most; its power of ten has three at most."""
MAX_PERIOD = 20
"""Digits of a period at most."""


def parse_subscript(cursor: Cursor) -> str:
    """A subscript as written."""
    if not cursor.skip("{"):
        return cursor.take().text
    texts: list[str] = []
    depth = 1
    while depth:
        text = cursor.take().text
        depth += {"{": 1, "}": -1}.get(text, 0)
        texts.append(text)
    return "".join(texts[:-1])


def parse_literal(cursor: Cursor, text: str) -> Node:
    r"""A number, with its base as a subscript or the digits under \overline that repeat."""
    if "." in text and cursor.peek("overline", "dot", "bar"):
        return _recurring(cursor, text)
    value = number_node(text)
    if cursor.skip("_"):
        return Node("sym", (f"{text}_{parse_subscript(cursor)}",))
    return value


def _recurring(cursor: Cursor, text: str) -> Node:
    period = ""
    while cursor.skip("overline", "dot", "bar"):
        period += parse_subscript(cursor)
    if not period.isdecimal() or len(period) > MAX_PERIOD:
        raise Unreadable
    places = len(text.partition(".")[2])
    repeated = Fraction(int(period), (10 ** len(period) - 1) * 10**places)
    return num(number_node(text + "0").args[0] + repeated)


def number_node(text: str) -> Node:
    """The number of a text of digits, with an optional decimal point and power of ten.

    Raises:
        Unreadable: The text is no number, or has too many digits.
    """
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    digits = whole + decimals
    if not digits.isdecimal() or len(mantissa) > MAX_DIGITS or len(exponent.strip("+-")) > 3:
        raise Unreadable
    value = Fraction(int(digits), 10 ** len(decimals)) if decimals else Fraction(int(digits))
    if exponent:
        value *= Fraction(10) ** int(exponent)
    return Node("num", (value, len(decimals)))
