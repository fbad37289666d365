"""Grammar of quantities: values with magnitudes, units and words after them."""

from fractions import Fraction

from reasonenv.grading.parsing.expressions import parse_sum
from reasonenv.grading.parsing.nodes import Node, children, negative, num, product
from reasonenv.grading.parsing.tokens import Cursor, Token, Unreadable
from reasonenv.grading.parsing.units import MAGNITUDES, UNITS, Unit, compound_unit

_MONEY = ("$", "€", "£", "¥", "￥", "₹")
_FILLERS = frozenset(["unit", "units", "square units", "cubic units"])
_POWERS = {"square": 2, "sq": 2, "cubic": 3}


def parse_quantity(cursor: Cursor) -> Node:
    """A sum with unit or words: $ 3 million, 5 cm^2, 50 %, 3 apples."""
    match cursor.tokens[cursor.at : cursor.at + 3]:
        case [Token(text="-"), Token(text=sign), Token(kind="number")] if sign in _MONEY:
            cursor.at += 1
            is_negative = True
        case _:
            is_negative = False
    before = UNITS[cursor.take().text] if cursor.peek(*_MONEY) else None
    value, depth = parse_sum(cursor), cursor.depth
    if is_negative:
        if value.op == "add":
            raise Unreadable  # of -$5 - 3 the sign belongs to the 5
        value = negative(value)
    while (token := cursor.next) and token.kind == "word" and token.text.lower() in MAGNITUDES:
        cursor.at += 1
        cursor.descend()
        value = product([value, num(MAGNITUDES[token.text.lower()])])
    cursor.depth = depth
    after, words = _unit(cursor)
    if before is None and after is None and not words:
        return value
    if words and any(part.op == "sym" for part in (value, *children(value))):
        raise Unreadable  # x apples
    return Node("quantity", (value, before or after, words))


def _unit(cursor: Cursor) -> tuple[Unit | None, str]:
    """The unit here, and words after it or in place of it."""
    unit: Unit | None = None
    words: list[str] = []
    while (token := cursor.next) is not None:
        if (
            unit is not None
            and not words
            and (token.text == "per" or (token.text == "每" and cursor.texts(2)[-1] in UNITS))
        ):
            unit = _unit_product(cursor, unit)
        elif token.kind == "word" or cursor.peek("%", "‰"):
            start = cursor.at
            cursor.at += 1
            if not words and (factor := _unit_power(cursor, token.text)) is not None:
                unit = factor if unit is None else unit * factor
            else:
                text = " ".join(each.text for each in cursor.tokens[start : cursor.at])
                words += [text] if text not in _FILLERS else []
        elif unit is not None and not words and cursor.peek("/", "cdot", "times"):
            unit = _unit_product(cursor, unit)
        elif unit is None and token.kind == "sign" and token.text in "$€£¢₹":
            cursor.at += 1
            # A dollar after a number may also be the end of a formula.
            unit = UNITS[token.text] if token.text != "$" else None
        else:
            break
    return unit, " ".join(words)


def _unit_product(cursor: Cursor, unit: Unit) -> Unit:
    """A unit times or over the next one, or over several in brackets: J/(kg K)."""
    is_divided = cursor.take().text in ("/", "per", "每")
    factor = None
    if cursor.skip("("):
        while factor is None or not cursor.skip(")"):
            cursor.skip("cdot", "times", "*")
            factor = _single_unit(cursor) * (factor or Unit({}, Fraction(1)))
    else:
        factor = _single_unit(cursor)
    return unit * (factor**-1 if is_divided else factor)


def _single_unit(cursor: Cursor) -> Unit:
    token = cursor.take()
    factor = _unit_power(cursor, token.text) if token.kind in ("word", "name") else None
    if factor is None:
        raise Unreadable
    return factor


def _unit_power(cursor: Cursor, word: str) -> Unit | None:
    word, power = word.strip(), 1
    if word in _POWERS and cursor.kind() == "word":
        word = f"{word} {cursor.take().text}"
    first, _, rest = word.partition(" ")
    if rest and first in _POWERS:
        word, power = rest, _POWERS[first]
    unit = compound_unit(word)
    if unit is None:
        return None
    if not cursor.skip("^"):
        return unit**power
    if "/" in word:
        return compound_unit(f"{word}^{_integer(cursor)}")  # m/s, squared, is m/s^2
    return unit ** (power * _integer(cursor))


def _integer(cursor: Cursor) -> int:
    is_braced = cursor.skip("{")
    sign = -1 if cursor.skip("-") else 1
    token = cursor.take()
    if token.kind != "number" or not token.text.isdecimal() or len(token.text) > 2:
        raise Unreadable
    if is_braced:
        cursor.expect("}")
    return sign * int(token.text)
