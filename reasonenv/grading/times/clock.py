"""Times of day, and lists and spans of them: 6:30, 18:30:00, 6:30 pm, 下午6点半, 8:00-9:30.

In Chinese the only time of a sentence counts as well, 小明六点二十分到家.
"""

import re
from math import gcd
from typing import NamedTuple

from reasonenv.grading.extraction.qualifiers import has_qualifier
from reasonenv.grading.parsing.notation import canonical
from reasonenv.grading.words.numbers import chinese_value, english_number

_HALVES = {
    **dict.fromkeys(["上午", "早上", "早晨", "清晨", "凌晨"], "am"),
    **dict.fromkeys(["中午", "下午", "傍晚", "晚上"], "pm"),
}
_SIGN = re.compile(r"\d\s?[:：∶点时]|\d\s?(?:\\text\{\s?)?[apAP]\.?\s?[mM]\b")
_RATIO_SIGN = re.compile(r"\s[:：∶]\s")
_FONT = re.compile(r"\\text\s*\{([^{}]*)\}")
_TIME = re.compile(
    rf"(?P<day>{'|'.join(_HALVES)})?(?P<hour>\d{{1,2}})"
    r"(?::(?P<minute>\d\d)(?::(?P<second>\d\d))?"
    r"|[点时](?:(?P<half>半)|[整钟]|(?P<past>\d{1,2})分?)?)?"
    r"(?:(?P<letter>[ap])\.?m\.?)?",
    re.IGNORECASE,
)
_JOINT = re.compile(r"(?P<list>[,;]?and|[,;]?or|[,;和与及或])|to|[-到至]")
_DASHES = str.maketrans(dict.fromkeys("~～〜", "-"))


_NUMERAL = "[零〇一二两三四五六七八九十]"
_QUARTERS = {"一刻": "15", "三刻": "45"}
# Without a sign of the clock 三点五 is a decimal, and 三点五分 are 3.5 points: a minute below
# ten has a zero, 三点零五分. No decimal has 十.
_IN_WORDS = re.compile(
    rf"(?<!{_NUMERAL})(?<![百千万])(?P<hour>{_NUMERAL}{{1,3}})点(?:"
    rf"(?P<minute>[零〇]{_NUMERAL}|{_NUMERAL}?十{_NUMERAL}?)分(?![之钟米])"
    rf"|(?P<tens>{_NUMERAL}?十{_NUMERAL}?)(?![百千万亿点]|{_NUMERAL})|(?P<quarter>[一三]刻)"
    r"|(?P<end>[整钟半]))"
)


_PAST = re.compile(
    r"\b(?:(?P<half>half)|(?:a )?quarter) (?:past|(?P<to>to)) (?P<hour>\d{1,2}|[a-z]{3,6})\b"
    r"(?=\s?(?:[^\w\s]|\Z|(?:in|on|at|[ap]\.?m|o'clock)\b))",
    re.I,
)


def with_clock_digits(text: str) -> str:
    """A text with its times in digits: 六点二十分 as 6点20分, half past three as 3:30."""
    if "点" in text:
        text = _IN_WORDS.sub(_digits, text)
    return _PAST.sub(_past, text) if "past " in text or "uarter to " in text else text


def _past(match: re.Match[str]) -> str:
    number = english_number(match["hour"].lower())
    hour = match["hour"] if match["hour"].isdecimal() else number[0] if number else ""
    if not hour.isdecimal() or not 0 < int(hour) < 13 or (match["half"] and match["to"]):
        return match[0]
    minute = 30 if match["half"] else 45 if match["to"] else 15
    hours = (int(hour) - 2) % 12 + 1 if match["to"] else int(hour)
    return f"{hours}:{minute}"


def _digits(match: re.Match[str]) -> str:
    hour, minute = (_number(match["hour"]), _number(match["minute"] or match["tens"] or "零"))
    if hour is None or minute is None:
        return match[0]
    if match["end"]:
        return f"{hour}点{match['end']}"
    return f"{hour}点{_QUARTERS.get(match['quarter'], minute)}分"


def _number(text: str) -> int | None:
    """A number of minutes or hours in words, with a zero before it or without."""
    value = chinese_value(text.lstrip("零〇") or "零")
    return int(value) if value is not None and value < 60 else None


class Time(NamedTuple):
    """Seconds after midnight, and the half of the day that is written with them.

    Attributes:
        seconds: Seconds after midnight.
        half: "am", "pm", "24" for an hour such as 05, or "" for none.
    """

    seconds: int
    half: str


class Schedule(NamedTuple):
    """Times in the order written, and the signs between them: "," of a list, "-" of a span."""

    times: tuple[Time, ...]
    signs: tuple[str, ...]


def schedule(text: str) -> Schedule | None:
    """The times of a text that holds nothing else; None for any other text."""
    if not _SIGN.search(text) or _RATIO_SIGN.search(text):
        return None
    text = _FONT.sub(r"\1", canonical(text.translate(_DASHES))).replace(" ", "")
    times: list[Time] = []
    signs: list[str] = []
    position = 0
    while match := _TIME.match(text, position):
        time = _time(match)
        if time is None:
            return None
        times.append(time)
        joint = _JOINT.match(text, match.end())
        if joint is None:
            return Schedule(tuple(times), tuple(signs)) if match.end() == len(text) else None
        signs.append("," if joint["list"] else "-")
        position = joint.end()
    return None


def _time(match: re.Match[str]) -> Time | None:
    """The time of a match; None for a bare number and for 25:00 or 8:65."""
    if match.end("hour") == match.end():
        return None
    half = _HALVES.get(match["day"], "") if match["day"] else ""
    half = f"{match['letter'].lower()}m" if match["letter"] else half
    minute = 30 if match["half"] else int(match["minute"] or match["past"] or 0)
    hour, second = int(match["hour"]), int(match["second"] or 0)
    if max(minute, second) > 59 or hour > 23:
        return None
    if half:
        hour = hour % 12 + 12 * (half == "pm") if hour < 13 else hour
    elif match["hour"].startswith("0"):
        half = "24"
    return Time(hour * 3600 + minute * 60 + second, half)


def same_time(a: Time, b: Time) -> bool:
    """True if two times are equal; both 3:30 and 15:30 equal 3:30 pm, but not each other."""
    if a.seconds == b.seconds:
        return True
    plain = [time for time in (a, b) if not time.half]
    other = a.half or b.half
    is_half_open = len(plain) == 1 and other != "24" and plain[0].seconds < 13 * 3600
    return is_half_open and (a.seconds - b.seconds) % (12 * 3600) == 0


def same_schedule(a: Schedule, b: Schedule) -> bool:
    """True if two lists have the same times, in any order; the order counts in a span."""
    if a.signs != b.signs:
        return False
    times, others = a.times, b.times
    if "-" not in a.signs:
        times, others = sorted(times), sorted(others)
    return all(map(same_time, times, others))


def schedule_verdict(answer: str, reference: str) -> bool | None:
    """Verdict on two times, or on a ratio for a time; None if either is anything else.

    6:25 is a ratio where only one of both can be a time; 6:30 and 6:05 never are, since ratios
    are given in lowest terms.
    """
    right = schedule(reference)
    if right is None:
        return None
    left = schedule(answer) or _stated(answer)
    if left is not None:
        return same_schedule(left, right)
    return False if _RATIO.fullmatch(answer.strip(" $")) and not _is_ratio(right) else None


_MAX_LENGTH = 60
_CLOCK = re.compile(rf"(?:{'|'.join(_HALVES)})?\d{{1,2}}[点时](?:[半整钟]|\d{{1,2}}分?)?")
# What stands beside a time that is not meant itself: 差十分六点, 六点以后.
_ANOTHER_TIME = re.compile(r"[前后差近约过最才]|左右|可能|也许|如果|假如|若|[?？]")


def _stated(sentence: str) -> Schedule | None:
    """The only time of a short Chinese sentence without other numbers; None for any other text."""
    match = _CLOCK.search(sentence) if len(sentence) <= _MAX_LENGTH else None
    if match is None:
        return None
    rest = f"{sentence[: match.start()]} {sentence[match.end() :]}"
    is_clear = not any(map(str.isdigit, rest)) and not _ANOTHER_TIME.search(rest)
    return schedule(match[0]) if is_clear and not has_qualifier(rest) else None


_RATIO = re.compile(r"[\d.]+(?:\s?[:：∶/]\s?[\d.]+)?|\\[dt]?frac\{\d+\}\{\d+\}")


def _is_ratio(times: Schedule) -> bool:
    """True if the digits of a time may be a ratio as well."""
    time = times.times[0]
    hours, minutes = divmod(time.seconds // 60, 60)
    is_plain = len(times.times) == 1 and not time.half and time.seconds % 60 == 0
    return is_plain and minutes > 9 and gcd(hours, minutes) == 1
