"""Units of measurement, and words after a number: the tables `units.tsv` and `words.tsv`.

Of the words magnitudes multiply a number, counters and nouns leave it, others change it.
A counter or a unit may have any noun after it, 7个苹果, and an English noun stands in the plural,
7 apples; remarks say nothing about the value. Operators, comparisons, denials and alternatives
change it wherever they stand. Anything else is unknown: for all we know it changes the value.
"""

import re
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from reasonenv.grading.parsing import rows

_PREFIXES = {
    "-": 0, "k": 3, "h": 2, "d": -1, "c": -2, "m": -3, "μ": -6, "u": -6, "n": -9, "p": -12,
    "M": 6, "G": 9, "T": 12,
}  # fmt: skip
_PREFIX_LISTS = {"all": " ".join(_PREFIXES), "some": "- k m M G μ u n p"}
# The prefixes of the SI by name, and in Chinese (GB 3100); each stands before names of its script.
_PREFIX_NAMES = {
    "k": "kilo 千", "M": "mega 兆", "G": "giga 吉", "m": "milli 毫", "μ": "micro 微",
    "n": "nano 纳", "p": "pico 皮",
}  # fmt: skip
_MAX_BITS = 4096


class ExtremeUnit(ArithmeticError):  # noqa: N818 - a property of a text, not a program's error
    """The size of a unit has too many digits, as of cm^99 cm^99 cm^99 ..."""


class Unit:
    """A unit, or a product of powers of units.

    Args:
        dimension: Powers of base quantities.
        factor: Size in base units.

    Raises:
        ExtremeUnit: The size has more than 4096 bits.
    """

    __slots__ = ("dimension", "factor")

    def __init__(self, dimension: Mapping[str, int], factor: Fraction) -> None:
        self.dimension = {name: power for name, power in dimension.items() if power}
        self.factor = factor
        if _num_bits(factor) > _MAX_BITS:
            raise ExtremeUnit

    def __mul__(self, other: "Unit") -> "Unit":
        total = Counter(self.dimension)
        total.update(other.dimension)
        return Unit(total, self.factor * other.factor)

    def __pow__(self, power: int) -> "Unit":
        if _num_bits(self.factor) * abs(power) > _MAX_BITS:
            raise ExtremeUnit
        return Unit({n: p * power for n, p in self.dimension.items()}, self.factor**power)


def _num_bits(factor: Fraction) -> int:
    return max(factor.numerator.bit_length(), factor.denominator.bit_length())


def _table() -> dict[str, Unit]:
    """All units by name; of two with the same name the later one."""
    units: dict[str, Unit] = {}
    words: dict[str, Unit] = {}
    for signs, prefixes, names, factor, quantities in rows("units.tsv"):
        powers = (part.partition("^") for part in quantities.split())
        base = Unit({name: int(power or 1) for name, _, power in powers}, Fraction(factor))
        listed = " ".join(_PREFIX_LISTS.get(part, part) for part in prefixes.split())
        for prefix in listed.split():
            unit = Unit(base.dimension, base.factor * Fraction(10) ** _PREFIXES[prefix])
            units |= dict.fromkeys((f"{prefix.strip('-')}{sign}" for sign in signs.split()), unit)
            english, chinese = _PREFIX_NAMES.get(prefix, " ").split(" ")
            if english or prefix == "-":
                words |= {
                    f"{english if name.isascii() else chinese}{name}": unit
                    for name in names.split()
                }
        if not signs:
            units |= dict.fromkeys(names.split(), base)
    units |= words
    for name in ("毫米", "厘米", "分米", "米", "千米", "公里"):
        units |= {f"平方{name}": units[name] ** 2, f"立方{name}": units[name] ** 3}
    return units


UNITS = _table()
_GLUED = frozenset(["cm", "mm", "km", "dm", "kg", "ml", "mL", "ft"])
AMBIGUOUS = frozenset(name for name in UNITS if len(name) < 3 and name.isalpha()) - _GLUED
"""Units that without a space before them count as a product of symbols, as in 5h and 2mg."""


def compound_unit(text: str) -> Unit | None:
    """The unit of a text such as "cm", "km/h" or "千克每立方米"; None if any part is no unit."""
    first, *others = map(_power_of_unit, text.replace(" per ", "/").replace("每", "/").split("/"))
    if first is None:
        return None
    total = first
    for other in others:
        if other is None:
            return None
        total *= other**-1
    return total


def _power_of_unit(text: str) -> Unit | None:
    name, _, power = text.strip().partition("^")
    unit = UNITS.get(name) or (UNITS.get(name.lower()) if len(name) > 1 else None)
    power = power.strip("{} ")
    if unit is None or not power:
        return unit
    if len(power) > 2 or not power.removeprefix("-").isdecimal():
        return None
    return unit ** int(power)


_LISTS: dict[str, frozenset[str]] = {}
PARTS: dict[str, int] = {}
"""Denominators by their names, in singular and plural."""
NUMERALS: dict[str, int] = {}
"""Whole numbers by their names."""
MAGNITUDES: dict[str, Fraction] = {}
"""Factors by name, after the compact numbers of the Unicode CLDR and the words of count of
dictionaries."""
for _role, _value, _words in rows("words.tsv"):
    _names = _words.split()
    if _role == "scale":
        MAGNITUDES |= dict.fromkeys((f"{name}s" for name in _names), Fraction(10) ** int(_value))
        if _value != "1":  # ten is a number
            MAGNITUDES |= dict.fromkeys(_names, Fraction(10) ** int(_value))
    elif _role == "part":
        PARTS |= dict.fromkeys((*_names, *(f"{name}s" for name in _names)), int(_value))
    elif _role == "numeral":
        NUMERALS |= dict.fromkeys(_names, int(_value))
    elif _role == "factor":
        MAGNITUDES |= dict.fromkeys(_names, Fraction(_value))
    else:
        _LISTS[_role] = frozenset(_names)
MAGNITUDES |= {name: Fraction(1, part) for name, part in PARTS.items() if name.endswith("s")}
_CHANGING = frozenset[str]().union(
    *(_LISTS[role] for role in ("operator", "comparison", "denial", "alternative", "verb"))
)
# Any of these changes the value, wherever it stands after the number.
_CHANGING_CHINESE = re.compile(
    "|".join(words for role, _, words in rows("words.tsv") if role == "pattern")
)
_WORD = re.compile(r"[a-z]+")
_PLURAL = re.compile(r"[a-z]*(?<![sui])s")
_CHINESE = re.compile("[\u4e00-\u9fff]")
_OTHER_SCRIPT = re.compile("[\u0400-\u2bff\u3040-\u30ff\uac00-\ud7af]")


def changes_value(words: str) -> bool:
    """True if words after a number change its value: 7 squared, 7以上, 7 is wrong, 7 or 8."""
    if any(map(str.isdigit, words)):
        return True
    if _CHINESE.search(words) and _CHANGING_CHINESE.search(_joined(words)):
        return True
    return not _CHANGING.isdisjoint(_WORD.findall(words.casefold()))


def leaves_value(words: str, follows_unit: bool, is_one: bool) -> bool:
    """True if words after a number are known to leave its value.

    Args:
        words: The words, without the unit.
        follows_unit: True if a unit or a magnitude stands before them.
        is_one: True after 1 and proper fractions, where nouns stand in the singular.
    """
    if changes_value(words) or _OTHER_SCRIPT.search(words):
        return False
    if _CHINESE.search(words):
        text = _joined(words)
        return follows_unit or any(text[:size] in _LISTS["counter"] for size in range(1, 5))
    names = _WORD.findall(words.casefold())
    if names == ["off"]:
        return follows_unit  # 20% off
    if not names or names[-1] in _LISTS["preposition"]:
        return not names
    head = next((k for k, name in enumerate(names) if name in _LISTS["preposition"]), len(names))
    return (
        follows_unit
        or is_one
        or names[0] in _LISTS["remark"]
        or any(name in _LISTS["remark"] or _PLURAL.fullmatch(name) for name in names[:head])
    )


def _joined(words: str) -> str:
    return "".join(words.split()).strip("()（）,，.。 ")
