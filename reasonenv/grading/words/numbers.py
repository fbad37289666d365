"""Number words at the start of a text in digits: twenty-one apples, 四分之三, one and a half hours.

English cardinals follow the spellout rules of the Unicode CLDR, with "and" after hundreds. Chinese
numbers may have 两, and 三百五 is 350. Ordinals, "third" and 第三, stay words, as do two
numbers in a row: "one two", 三四个.
"""

import re
from fractions import Fraction

from reasonenv.grading.parsing.magnitudes import PARTS

_ONES = {
    name: value
    for value, name in enumerate(
        """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        sixteen seventeen eighteen nineteen""".split(),  # noqa: SIM905 - to be read
        start=1,
    )
}
_TENS = {
    name: 10 * value
    for value, name in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(),  # noqa: SIM905 - as above
        start=2,
    )
}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SIGNS = ("minus", "negative")
_AFTER_ARTICLE = frozenset(["dozen", "hundred", "half", *_SCALES, *PARTS])
_NUMERALS = frozenset([*_ONES, *_TENS, *_SCALES, "zero", "hundred"])
_ENGLISH = re.compile(r"(?<![a-zA-Z])[a-zA-Z]{1,12}(?:[\s-]{1,3}[a-zA-Z]{1,12}){0,20}(?![a-zA-Z])")
_NAME = re.compile("[a-zA-Z]+")
_MAX_LENGTH = 200

_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
}
_POWERS = {"百": 100, "千": 1000}
_MYRIADS = {"亿": 10**8, "万": 10**4}
_DIGIT = "[一二两三四五六七八九]"
_SECTION = re.compile(
    rf"(?:({_DIGIT})千)?零?(?:({_DIGIT})百)?零?(?:({_DIGIT}?)(十))?零?({_DIGIT})?"
)
CHARACTERS = "零〇一二两三四五六七八九十百千万亿"
_VALUE = (
    rf"(?:\d{{1,9}}(?:\.\d{{1,9}})?|[{CHARACTERS}]{{1,20}}(?:点[零〇一二三四五六七八九]{{1,20}})?)"
)
# Words with a numeral that are no number: 一共有42个, 四边形ABCD的面积.
NAMES_WITH_NUMERALS = (
    "一(?:共|起|定|般|样|直|些|旦|并|致|边)|[万统唯专]一|之一|十分(?=[^钟之满球钱])|星期[一二三四五六]|千万(?=不|别|要)|张三|李四|王五"
    "|[〇零一二两三四五六七八九十]{1,4}[年月][一二三四五六七八九十]{1,3}[月日号]"
    "|[三四五六七八九十]{1,2}(?:边形|角形|面体|棱柱|棱锥|象限|次函数|次方程)"
    "|[一二](?:次函数|次方程|元|面角|项式)"
)
_CHINESE = re.compile(
    rf"(?!{NAMES_WITH_NUMERALS})(?P<sign>负|零下)?(?:(?P<half>一?半)|(?:(?P<whole>{_VALUE})(?:又|个(?=半)))?"
    rf"(?:(?P<mixed>半)|(?P<below>{_VALUE})分之(?P<above>{_VALUE}))|(?P<plain>{_VALUE}))"
)
_TEXT = re.compile(r"\A\s*\\(?:text|mathrm|mbox|textbf)\s*\{([^{}]*)\}\s*\Z")


def below_zero(text: str) -> str:
    """A text with a sign for 零下, minus or negative before digits: The change is minus 7."""
    if "零下" in text:
        text = _BELOW_ZERO.sub("-", text)
    return _MINUS.sub("-", text) if "nus " in text or "ative " in text else text


_BELOW_ZERO = re.compile(r"零下\s?(?=\d)")
_MINUS = re.compile(
    r"(?:\A|(?<=\bis )|(?<=\bwas )|(?<=\bbe )|(?<=\bequals ))(?:[Mm]inus|[Nn]egative) (?=\$?\d)"
)


def in_digits(answer: str, reference: str) -> tuple[str, str]:
    """Both texts with the number at their start in digits, if one is a number or both have one."""
    left, right = _converted(answer), _converted(reference)
    texts = (answer if left is None else left[0], reference if right is None else right[0])
    is_number = any(side is not None and not side[1] for side in (left, right))
    if is_number or all(any(map(str.isdigit, text)) for text in texts):
        return texts
    return answer, reference


_NOT_ALONE = re.compile(rf"\sof\s(?:the\s)?(?:{'|'.join([*_ONES, *_TENS])})\b")
_OF_UNIT = re.compile(r"\A\s(?:of\s)?(?:an?|one)\s(?=[a-z]{1,12}\Z)")


def _converted(text: str) -> tuple[str, str] | None:
    """A text with its first number in digits, and the rest of it; None without number words."""
    if len(text) > _MAX_LENGTH:
        return None
    if match := _TEXT.match(text):
        text = match[1]
    text = text.strip().rstrip(".。")
    head = english_number(text) if _ENGLISH.match(text) else _chinese(text)
    if head is None or any(map(str.isdigit, text[head[1] :])):
        return None  # 四边形ABCD的面积=24 has its number elsewhere
    number, rest = head[0], text[head[1] :]
    if _NOT_ALONE.match(rest) or (number == "1" and rest.startswith(" of ")):
        return None  # two of the four, one of them
    if number.startswith("\\frac"):
        rest = _OF_UNIT.sub("", rest)
    return (number + rest if rest[:1] in ("", "-") else f"{number} {rest.strip()}"), rest.strip()


def is_numeral(name: str) -> bool:
    """True for a word that a number begins with, or that is a part of one."""
    return name in _NUMERALS or name in PARTS or name in ("half", "dozen", "once", "twice")


def english_number(text: str) -> tuple[str, int] | None:
    """The digits of the English number at the start of a text, and its end."""
    run = _ENGLISH.match(text)
    matches = list(_NAME.finditer(text, 0, run.end() if run else 0))
    names = [match[0].casefold() for match in matches]
    start = names[:1] != [] and names[0] in _SIGNS
    value, at = _fraction(names, start)
    if value is None or at == 0 or (at < len(names) and names[at] in _NUMERALS):
        return None
    if names[start] == "zero" and at > start + 1 and names[start + 1] != "point":
        return None
    return written(-value if start else value), matches[at - 1].end()


def _fraction(names: list[str], at: int) -> tuple[Fraction | None, int]:
    """Three quarters, two and a half, three point five, or a cardinal; and the index after it."""
    if names[at : at + 1] == ["half"]:
        return Fraction(1, 2), at + 1 + (names[at + 1 : at + 2] in (["a"], ["an"]))
    whole, end = _cardinal(names, at)
    name = names[end] if end < len(names) else ""
    if name == "and" and whole:
        part, after = _fraction(names, end + 1)
        return (whole + part, after) if part is not None and part < 1 else (None, at)
    if name == "point" and whole is not None:
        places, after = _places(names, end + 1)
        return (whole + places, after) if places is not None else (None, at)
    if name not in PARTS or whole is None:
        return (None if name == "first" else whole), end
    is_part = name.endswith("s") or whole == 1  # twenty-fifth is an ordinal
    return (whole / PARTS[name], end + 1) if is_part else (None, at)


def _places(names: list[str], at: int) -> tuple[Fraction | None, int]:
    """Decimals, digit by digit, and the index after them."""
    digits = ""
    while at < len(names) and (names[at] == "zero" or _ONES.get(names[at], 10) < 10):
        digits += str(_ONES.get(names[at], 0))
        at += 1
    return (Fraction(int(digits), 10 ** len(digits)) if digits else None), at


def _cardinal(names: list[str], at: int) -> tuple[Fraction | None, int]:
    """A whole number in words, as far as it goes, and the index after it."""
    if names[at : at + 1] == ["zero"]:
        return Fraction(0), at + 1
    if names[at : at + 1] in (["a"], ["an"]) and not _AFTER_ARTICLE.isdisjoint(
        names[at + 1 : at + 2]
    ):
        names = [*names[:at], "one", *names[at + 1 :]]
    total, scale, start = 0, 10**15, at
    while (group := _below_thousand(names, at))[0]:
        value, at = group
        power = _SCALES.get(names[at], scale) if at < len(names) else scale
        if power >= scale:
            return Fraction(total + value), at
        total, scale = total + value * power, power
        at = _after_and(names, at + 1)
    return (Fraction(total), at) if at > start else (None, start)


def _below_thousand(names: list[str], at: int) -> tuple[int, int]:
    """Hundreds, tens and ones, 0 if there are none, and the index after them."""
    value, at = _below_hundred(names, at)
    if not value or names[at : at + 1] != ["hundred"]:
        return value, at
    rest, end = _below_hundred(names, _after_and(names, at + 1))
    return value * 100 + rest, (end if rest else at + 1)


def _below_hundred(names: list[str], at: int) -> tuple[int, int]:
    tens = _TENS.get(names[at], 0) if at < len(names) else 0
    at += tens > 0
    ones = _ONES.get(names[at], 0) if at < len(names) else 0
    return (tens, at) if tens and ones > 9 else (tens + ones, at + (ones > 0))


def _after_and(names: list[str], at: int) -> int:
    """The index after an "and" inside a cardinal, a hundred and five; `at` if there is none."""
    value, end = _below_hundred(names, at + 1)
    is_inside = (
        names[at : at + 1] == ["and"] and value and PARTS.keys().isdisjoint(names[end : end + 1])
    )
    return at + 1 if is_inside else at


def _chinese(text: str) -> tuple[str, int] | None:
    """The digits of the Chinese number at the start of a text, and its end."""
    match = _CHINESE.match(text)
    if match is None or (match["plain"] or "").isascii() is (match["plain"] is not None):
        return None
    sign = "-" if match["sign"] else ""
    if match["half"]:
        return f"{sign}\\frac{{1}}{{2}}", match.end()
    whole = chinese_value(match["whole"]) if match["whole"] else Fraction(0)
    if match["plain"]:
        plain = chinese_value(match["plain"])
        return None if plain is None else (sign + written(plain), match.end())
    above = chinese_value(match["above"] or "一")
    if match["below"] == "百" and match["whole"] is None and above is not None:
        return f"{sign}{written(above)}%", match.end()
    below = {"百": Fraction(100), "千": Fraction(1000), "万": Fraction(10**4)}.get(
        match["below"] or ""
    ) or chinese_value(match["below"] or "二")
    if whole is None or above is None or not below or (match["mixed"] and match["whole"] is None):
        return (f"{sign}0.5", match.end()) if match["mixed"] and not match["whole"] else None
    return sign + written(whole + above / below), match.end()


def chinese_value(text: str) -> Fraction | None:
    """The value of 一百零五, 三点一四 or 12; None if it is no number."""
    if text[0].isascii():
        return Fraction(text)
    whole, _, decimals = text.partition("点")
    value = _chinese_integer(whole)
    if value is None or not decimals:
        return None if value is None else Fraction(value)
    if not all(character in _DIGITS for character in decimals):
        return None  # 六点二十 is a time
    places = "".join(str(_DIGITS[character]) for character in decimals)
    return value + Fraction(int(places), 10 ** len(places))


def _chinese_integer(text: str) -> int | None:
    """The value of a whole number; None if its digits and powers are in no order."""
    for sign, size in _MYRIADS.items():
        head, found, rest = text.partition(sign)
        if found:
            above = _chinese_integer(head) if head else None
            below = _chinese_integer(rest) if rest else 0
            if above is None or below is None or below >= size:
                return None
            is_short = len(rest) == 1  # 一万五 is 15000
            return above * size + below * (size // 10 if is_short else 1)
    if all(character in _DIGITS for character in text):
        is_read = len(text) == 1 or len(text) > 3
        return int("".join(str(_DIGITS[character]) for character in text)) if is_read else None
    return _chinese_section(text)


def _chinese_section(text: str) -> int | None:
    """The value of a number below 10,000 with 十, 百 or 千; None if it is none."""
    match = _SECTION.fullmatch(text)
    if match is None:
        return None
    thousands, hundreds, tens, ten, ones = match.groups(default="")
    total = 1000 * _DIGITS.get(thousands, 0) + 100 * _DIGITS.get(hundreds, 0)
    total += 10 * _DIGITS.get(tens, 1 if ten else 0)
    is_short = ones and text[-2] in "百千"  # 三百五 is 350
    return total + _DIGITS.get(ones, 0) * (_POWERS[text[-2]] // 10 if is_short else 1)


def written(value: Fraction) -> str:
    """A number in digits: a whole one, a decimal of few places, or a fraction."""
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return f"{sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
