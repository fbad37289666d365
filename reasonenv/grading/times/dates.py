"""Dates in their common spellings: 2024-01-05, Jan 5, 2024, 5 January 2024, 2024年1月5日.

Sources: ISO 8601, the formats of English and Chinese in the Unicode CLDR. 01/05/2024 may be in
January or in May, and so is no date; 13/05/2024 is one.
"""

import datetime
import re

from reasonenv.grading.extraction.qualifiers import has_qualifier
from reasonenv.grading.words.numbers import chinese_value

_FONT = re.compile(r"\\text\s*\{([^{}]*)\}")
_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s)?(?:the\s)?"
_NUMBER = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_SPELLINGS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<year>\d{4})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})",
        rf"(?:(?P<year>\d{{4}})年)?(?P<month>{_NUMBER})月(?P<day>{_NUMBER})[日号]",
        rf"{_WEEKDAY}{_MONTH}\s(?:the\s)?{_DAY}(?:,?\s(?P<year>\d{{4}}))?",
        rf"{_WEEKDAY}{_DAY}\s(?:of\s)?{_MONTH}(?:,?\s(?P<year>\d{{4}}))?",
    )
)
_SLASHED = re.compile(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4})")
_SIGN = re.compile(r"\d[-/.]\d|[\d一二三四五六七八九十]月|[a-zA-Z]{3}")
_SPACES = re.compile(r"\s+")
_MAX_LENGTH = 60

Date = tuple[int | None, int, int]
"""Year, which may be missing, month and day."""


def same_date(text: str, other: str) -> bool | None:
    """True for the same date twice; None if either is no date, but False for a whole number."""
    left = date(text) or _stated(text)
    if left is None:
        return None
    right = date(other)
    if right is None:
        return False if other.strip(" $").isdecimal() else None
    return left == right


def date(text: str) -> Date | None:
    """The date that a whole text is; None for any other text."""
    if len(text) > _MAX_LENGTH or not _SIGN.search(text):
        return None
    text = _SPACES.sub(" ", _FONT.sub(r"\1", text).strip(" .。$"))
    for pattern in _SPELLINGS:
        if match := pattern.fullmatch(text):
            parts = match.groupdict()
            name = parts.get("name")
            month = _MONTHS.index(name[:3].lower()) // 3 + 1 if name else _value(parts["month"])
            return _existing(
                int(parts["year"]) if parts["year"] else None, month, _value(parts["day"])
            )
    return _slashed(text)


def _value(text: str) -> int:
    """A number in digits or in Chinese; 0, which no date has, for neither."""
    return int(text) if text.isdecimal() else int(chinese_value(text) or 0)


_HEAD = re.compile(
    r"\A(?:(?P<words>[a-zA-Z ]{0,40}\b(?:is|was|be|fall|falls|fell|on|in)"
    r"|[\u4e00-\u9fff]{0,20}[是为在])"
    r"[:：]?\s?)(?P<date>\S.*)\Z",
    re.DOTALL,
)
_OTHER_DAY = re.compile(
    r"\b(?:before|after|since|until|between|than|by)\b|[前后]|以[前后]|最[早晚]", re.IGNORECASE
)


def _stated(text: str) -> Date | None:
    """The date that a sentence states at its end: It falls on March 14, 这一天是5月12日."""
    head = _HEAD.match(text) if len(text) <= 2 * _MAX_LENGTH and _SIGN.search(text) else None
    if head is None or has_qualifier(head["words"]) or _OTHER_DAY.search(head["words"]):
        return None
    return date(head["date"])


def _slashed(text: str) -> Date | None:
    """13/05/2024 and 05/13/2024; None where day and month could be exchanged."""
    match = _SLASHED.fullmatch(text)
    if match is None:
        return None
    first, second, year = map(int, match.groups())
    if first <= 12 and second <= 12 and first != second:
        return None
    return _existing(year, min(first, second), max(first, second))


def _existing(year: int | None, month: int, day: int) -> Date | None:
    """The date; None if the calendar has no such day. Without a year it may be a leap year."""
    try:
        datetime.date(year or 2000, month, day)
    except ValueError:
        return None
    return year, month, day
