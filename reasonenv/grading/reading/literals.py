"""Times of day, dates, durations and ranges: texts of digits that are no formulas."""

import datetime
import re
from collections.abc import Callable
from math import gcd
from typing import NamedTuple

from reasonenv.grading.parsing.notation import canonical
from reasonenv.grading.parsing.units import AMBIGUOUS, compound_unit

Equal = Callable[[str, str], bool | None]
_FONT = re.compile(r"\\text\s*\{([^{}]*)\}")
_MAX_LENGTH = 120


def _bare(text: str) -> str:
    return _FONT.sub(r"\1", canonical(text)).strip(" .$")


# ---------------------------------------------------------------- times of day

_HALVES = {
    **dict.fromkeys(["上午", "早上", "早晨", "清晨", "凌晨"], "am"),
    **dict.fromkeys(["中午", "下午", "傍晚", "晚上"], "pm"),
}
_CLOCK_SIGN = re.compile(r"\d\s?[:：∶点时]|\d\s?(?:\\text\{\s?)?[apAP]\.?\s?[mM]\b")
_RATIO_SIGN = re.compile(r"\s[:：∶]\s")
_TIME = re.compile(
    rf"(?P<day>{'|'.join(_HALVES)})?(?P<hour>\d{{1,2}})"
    r"(?::(?P<minute>\d\d)(?::(?P<second>\d\d))?"
    r"|[点时](?:(?P<half>半)|[整钟]|(?P<past>\d{1,2})分?)?)?(?:(?P<letter>[ap])\.?m\.?)?",
    re.IGNORECASE,
)
_TIME_JOINT = re.compile(r"(?P<list>[,;]?and|[,;]?or|[,;和与及或])|to|[-到至]")
_DASHES = str.maketrans(dict.fromkeys("~～〜", "-"))


class Time(NamedTuple):
    """Seconds after midnight, and "am", "pm", "24" for an hour such as 05, or ""."""

    seconds: int
    half: str


class Schedule(NamedTuple):
    """Times in the order written, and the signs between them: "," of a list, "-" of a span."""

    times: tuple[Time, ...]
    signs: tuple[str, ...]


def schedule(text: str) -> Schedule | None:
    """The times of a text that holds nothing else; None for any other text."""
    if len(text) > _MAX_LENGTH or not _CLOCK_SIGN.search(text) or _RATIO_SIGN.search(text):
        return None
    text = _bare(text.translate(_DASHES)).replace(" ", "")
    times: list[Time] = []
    signs: list[str] = []
    position = 0
    while match := _TIME.match(text, position):
        time = _time(match)
        if time is None:
            return None
        times.append(time)
        joint = _TIME_JOINT.match(text, match.end())
        if joint is None:
            return Schedule(tuple(times), tuple(signs)) if match.end() == len(text) else None
        signs.append("," if joint["list"] else "-")
        position = joint.end()
    return None


def _time(match: re.Match[str]) -> Time | None:
    """The time of a match; None for a bare number and for 25:00 or 8:65."""
    if match.end("hour") == match.end():
        return None
    half = f"{match['letter'].lower()}m" if match["letter"] else _HALVES.get(match["day"] or "", "")
    minute = 30 if match["half"] else int(match["minute"] or match["past"] or 0)
    hour, second = int(match["hour"]), int(match["second"] or 0)
    if max(minute, second) > 59 or hour > 23:
        return None
    if half:
        hour = hour % 12 + 12 * (half == "pm") if hour < 13 else hour
    elif match["hour"].startswith("0"):
        half = "24"
    return Time(hour * 3600 + minute * 60 + second, half)


def _same_time(a: Time, b: Time) -> bool:
    """True if two times are equal; both 3:30 and 15:30 equal 3:30 pm, but not each other."""
    if a.seconds == b.seconds:
        return True
    plain = [time for time in (a, b) if not time.half]
    is_half_open = len(plain) == 1 and (a.half or b.half) != "24" and plain[0].seconds < 13 * 3600
    return is_half_open and (a.seconds - b.seconds) % (12 * 3600) == 0


def clock_verdict(answer: str, reference: str) -> bool | None:
    """Verdict on two times, or on a ratio for a time; None if either is anything else.

    6:25 is a ratio where only one of both can be a time; 6:30 and 6:05 never are, since ratios
    are given in lowest terms.
    """
    right = schedule(reference)
    if right is None:
        return None
    left = schedule(answer)
    if left is None:
        return False if _RATIO.fullmatch(answer.strip(" $")) and not _is_ratio(right) else None
    if left.signs != right.signs:
        return False
    times, others = left.times, right.times
    if "-" not in left.signs:
        times, others = sorted(times), sorted(others)
    return all(map(_same_time, times, others))


_RATIO = re.compile(r"[\d.]+(?:\s?[:：∶/]\s?[\d.]+)?|\\[dt]?frac\{\d+\}\{\d+\}")


def _is_ratio(times: Schedule) -> bool:
    """True if the digits of a time may be a ratio as well."""
    time = times.times[0]
    hours, minutes = divmod(time.seconds // 60, 60)
    is_plain = len(times.times) == 1 and not time.half and time.seconds % 60 == 0
    return is_plain and minutes > 9 and gcd(hours, minutes) == 1


# ---------------------------------------------------------------- dates

_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_WEEKDAY = r"(?:on\s)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s)?(?:the\s)?"
_SPELLINGS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<year>\d{4})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})",
        r"(?:(?P<year>\d{4})年)?(?P<month>\d{1,2})月(?P<day>\d{1,2})[日号]",
        rf"{_WEEKDAY}{_MONTH}\s(?:the\s)?{_DAY}(?:,?\s(?P<year>\d{{4}}))?",
        rf"{_WEEKDAY}{_DAY}\s(?:of\s)?{_MONTH}(?:,?\s(?P<year>\d{{4}}))?",
    )
)
_SLASHED = re.compile(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4})")
_DATE_SIGN = re.compile(r"\d[-/.]\d|\d\s?月|[a-zA-Z]{3}\.?\s\d|\d(?:st|nd|rd|th)?\s(?:of\s)?[A-Za-z]{3}")

Date = tuple[int | None, int, int]


def date(text: str) -> Date | None:
    """Year, which may be missing, month and day of a text that is a date; None for any other."""
    if len(text) > _MAX_LENGTH or not _DATE_SIGN.search(text):
        return None
    text = " ".join(_FONT.sub(r"\1", text).strip(" .。$").split())
    for pattern in _SPELLINGS:
        if match := pattern.fullmatch(text):
            parts = match.groupdict()
            name = parts.get("name")
            month = _MONTHS.index(name[:3].lower()) // 3 + 1 if name else int(parts["month"])
            year = int(parts["year"]) if parts["year"] else None
            return _existing(year, month, int(parts["day"]))
    match = _SLASHED.fullmatch(text)
    if match is None:
        return None
    first, second, year = map(int, match.groups())
    # 01/05/2024 may be in January or in May, and is no date.
    is_open = first <= 12 and second <= 12 and first != second
    return None if is_open else _existing(year, min(first, second), max(first, second))


def _existing(year: int | None, month: int, day: int) -> Date | None:
    """The date; None if the calendar has no such day. Without a year it may be a leap year."""
    try:
        datetime.date(year or 2000, month, day)
    except ValueError:
        return None
    return year, month, day


def date_verdict(answer: str, reference: str) -> bool | None:
    """Verdict on two dates; False for one that is no date in digits; None if neither is one."""
    left, right = date(answer), date(reference)
    if left is not None and right is not None:
        return left == right
    if left is not None and reference.strip(" $").isdecimal():
        return False
    if _DIGITS_OF_DATE.search(answer) or _DIGITS_OF_DATE.search(reference):
        return False
    return None if right is None else False


_DIGITS_OF_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{4}")


# ---------------------------------------------------------------- ranges, scores, codes

_RANGE_SIGN = re.compile(
    r"\d[^\d=]{0,20}?(?:[-−–—~～〜到至比:：∶]|\bto\b|\\sim)|\bbetween\b|之间"
)
_TILDE = re.compile(r"[~～〜]|\\sim(?![a-zA-Z])")
_TO = re.compile(r"\\text\{ ?to ?\}|\bto\b")
_BETWEEN = re.compile(
    r"\bbetween\s([-$€£¥]?\d[^\s,;]{0,30}(?:\s[a-z%]{1,12})?)\sand\s(?=[-$€£¥]?\d)", re.IGNORECASE
)
_PART = re.compile(
    r" ?(?P<sign>-)?(?P<money>[$€£¥￥])? ?"
    r"(?P<number>\d{1,3}(?:,\d{3}){1,5}(?![\d,])|\d{1,30}(?:\.\d{1,30})?)"
    r" ?(?P<unit>%|\^\{\\circ\}C?|\\text\{[^{}]{1,20}\}|(?!and\b|or\b)[a-zA-Z]{1,12}"
    r"|[\u4e00-\u9fff]{1,4}?(?=[-到至向比:,;和与]|$))? ?"
)
_JOINT = re.compile(
    r"(?P<hyphen>-(?!-)|[到至])|(?P<to>向)|(?P<ratio>[:比])|(?P<gap>[,;和与及]|and\b)"
)
_START = re.compile(r"(?:from|pages?|从|第)(?= ?[-$€£¥\d])", re.IGNORECASE)


class Range(NamedTuple):
    """Numbers with their units.

    Attributes:
        parts: Numbers with their units, as written.
        sign: "-" for a hyphen, a dash or a tilde between them, "to", or ":" for a ratio.
        is_certain: True if it can be no difference of two terms, such as 10-20m.
    """

    parts: tuple[str, ...]
    sign: str
    is_certain: bool


def range_verdict(answer: str, reference: str, equal: Equal) -> bool | None:
    """Verdict on ranges, part by part; None if the reference is none, or the answer a difference.

    Args:
        answer: The final answer.
        reference: The text that it must equal.
        equal: Comparison of two parts.
    """
    references = ranges(reference)
    if not references:
        return None
    answers = ranges(answer)
    if answers is None:
        return False if all(each.is_certain for each in references) else None
    if any(_are_ratios(a, r) for a, r in zip(answers, references, strict=False)):
        return None
    rest = list(answers)
    for reference_range in references:
        same = next((each for each in rest if _same_range(each, reference_range, equal)), None)
        if same is None:
            return False
        rest.remove(same)
    return not rest


def ranges(text: str) -> list[Range] | None:
    """The ranges of a text that holds nothing else; None for any other text."""
    if len(text) > _MAX_LENGTH or not _RANGE_SIGN.search(text):
        return None
    text = _BETWEEN.sub(r"\1向", text)
    text = canonical(_TO.sub("向", _TILDE.sub("至", text)))
    text = _START.sub("", text, count=1)
    listed: list[Range] = []
    matches: list[re.Match[str]] = []
    signs: set[str] = set()
    position = 0
    while match := _PART.match(text, position):
        matches.append(match)
        joint = _JOINT.match(text, match.end())
        if joint is None or joint["gap"]:
            each = _range(matches, signs)
            if each is None:
                return None
            listed.append(each)
            matches, signs = [], set()
        if joint is None:
            return listed if match.end() == len(text) else None
        position = joint.end()
        if not joint["gap"]:
            signs.add("-" if joint["hyphen"] else "to" if joint["to"] else ":")
            if joint["hyphen"] == "-" and matches[0]["sign"]:
                return None  # -5-3 is a number
    return None


def _range(matches: list[re.Match[str]], signs: set[str]) -> Range | None:
    """The range of several numbers with one sign between them; None for any others."""
    units = [match["unit"] or "" for match in matches]
    if len(matches) < 2 or len(signs) != 1 or not all(map(_is_unit, units)):
        return None
    money = matches[0]["money"] or ""
    parts = [
        f"{match['sign'] or ''}{match['money'] or money}{match['number']} {unit or units[-1]}"
        for match, unit in zip(matches, units, strict=True)
    ]
    sign = signs.pop()
    return Range(tuple(map(str.strip, parts)), sign, sign == "-" and units[-1] not in AMBIGUOUS)


def _is_unit(text: str) -> bool:
    """True if the letters after a number are a unit or a word, and no variable."""
    return len(text) > 2 or not text.isascii() or not text.isalpha() or bool(compound_unit(text))


def _are_ratios(a: Range, b: Range) -> bool:
    """True for 4 to 6 and 2 : 3, which are no ranges."""
    return ":" in (a.sign, b.sign) and "-" not in (a.sign, b.sign)


def _same_range(a: Range, b: Range, equal: Equal) -> bool:
    if len(a.parts) != len(b.parts):
        return False
    if any(part[0] == "0" and part[1:2].isdecimal() for part in (*a.parts, *b.parts)):
        return a.parts == b.parts  # a code, as a telephone number
    return all(equal(x, y) for x, y in zip(a.parts, b.parts, strict=True))
