"""Durations of several units as one number: 1h30m, 1 hour and 30 minutes, 1小时30分."""

import re
from fractions import Fraction

from reasonenv.grading.words.numbers import chinese_value

_SECONDS = {"day": 86400, "h": 3600, "min": 60, "s": 1}
_NAMES = {
    **dict.fromkeys(["d", "day", "days", "天"], "day"),
    **dict.fromkeys(["h", "hr", "hrs", "hour", "hours", "小时", "个小时", "时"], "h"),
    **dict.fromkeys(["m", "min", "mins", "minute", "minutes", "分", "分钟"], "min"),
    **dict.fromkeys(["s", "sec", "secs", "second", "seconds", "秒", "秒钟"], "s"),
}
_PART = re.compile(
    r"(\d{1,9}(?:\.\d{1,9})?|[零一二两三四五六七八九十百]{1,8})\s?"
    r"([a-z]{1,7}|小时|个小时|时|分钟|分|秒钟|秒|天)(?:,?\s?and\s|,\s?|\s|(?=[\d零一二两三四五六七八九十百]|$))",
    re.IGNORECASE,
)
_UNIT = re.compile(r"[dhms天时分秒]")
_FONT = re.compile(r"\\text\s*\{([^{}]*)\}")
_MAX_LENGTH = 60


def in_one_unit(text: str) -> str:
    """A duration of several units in the largest of them; any other text unchanged."""
    if len(text) > _MAX_LENGTH or not _UNIT.search(text):
        return text
    plain = " ".join(_FONT.sub(r" \1 ", text).strip(" .。$").split())
    total, units, position = Fraction(0), [], 0
    while match := _PART.match(plain, position):
        unit = _NAMES.get(match[2].lower())
        value = chinese_value(match[1]) if unit else None
        if unit is None or value is None or (units and _SECONDS[unit] >= _SECONDS[units[-1]]):
            return text
        units.append(unit)
        total += value * _SECONDS[unit]
        position = match.end()
    if position < len(plain) or len(units) < 2:
        return text
    total /= _SECONDS[units[0]]
    return f"\\frac{{{total.numerator}}}{{{total.denominator}}} {units[0]}"
