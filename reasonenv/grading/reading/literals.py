"""Times of day, ranges, and names in capital letters: texts that are no formulas.

Names are figures, criteria of congruence, Roman numerals and chemical formulas. They are compared
as spelled: SSA is not SAS, nor VI IV, nor ACBD ABCD. A segment, a line, an arc and an angle may be
read from either end, AB is BA and ∠ABC is ∠CBA.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from reasonenv.grading.parsing import rows
from reasonenv.grading.parsing.notation import canonical
from reasonenv.grading.parsing.units import AMBIGUOUS, compound_unit
from reasonenv.grading.reading.words import is_prose, plain

_MAX_LENGTH = 120
_TILDE = re.compile(r"[~～〜]|\\sim(?![a-zA-Z])")

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
    text = plain(canonical(_TILDE.sub("-", text))).strip(" .$").replace(" ", "")
    times: list[Time] = []
    signs: list[str] = []
    position = 0
    while (match := _TIME.match(text, position)) and (time := _time(match)):
        times.append(time)
        if match.end() == len(text):
            return Schedule(tuple(times), tuple(signs))
        joint = _TIME_JOINT.match(text, match.end())
        if joint is None:
            return None
        signs.append("," if joint["list"] else "-")
        position = joint.end()
    return None


def _time(match: re.Match[str]) -> Time | None:
    """The time of a match; None for a bare number and for 25:00 or 8:65."""
    half = f"{match['letter'].lower()}m" if match["letter"] else _HALVES.get(match["day"] or "", "")
    minute = 30 if match["half"] else int(match["minute"] or match["past"] or 0)
    hour, second = int(match["hour"]), int(match["second"] or 0)
    if match.end("hour") == match.end() or max(minute, second) > 59 or hour > 23:
        return None
    if half:
        hour = hour % 12 + 12 * (half == "pm") if hour < 13 else hour
    elif match["hour"].startswith("0"):
        half = "24"
    return Time(hour * 3600 + minute * 60 + second, half)


def _same_time(a: Time, b: Time) -> bool:
    """True if two times are equal; both 3:30 and 15:30 equal 3:30 pm, but not each other."""
    plain = [time for time in (a, b) if not time.half]
    is_half_open = len(plain) == 1 and (a.half or b.half) != "24" and plain[0].seconds < 13 * 3600
    return (a.seconds - b.seconds) % (12 * 3600 if is_half_open else 24 * 3600) == 0


def clock_verdict(answer: str, reference: str) -> bool | None:
    """Verdict on two times, False for a ratio for a time; None if either is anything else."""
    right = schedule(reference)
    if right is None:
        return None
    left = schedule(answer)
    if left is None:
        return False if _RATIO.fullmatch(answer.strip(" $")) else None
    times, others = left.times, right.times
    if "-" not in left.signs:
        times, others = sorted(times), sorted(others)
    return left.signs == right.signs and all(map(_same_time, times, others))


_RATIO = re.compile(r"[\d.]+(?:\s?[:：∶/]\s?[\d.]+)?|\\[dt]?frac\{\d+\}\{\d+\}")


_RANGE_SIGN = re.compile(r"\d[^\d=]{0,20}?(?:[-−–—~～〜到至比:：∶]|\bto\b|\\sim)|\bbetween\b")
_TO = re.compile(r"\\text\{ ?to ?\}|\bto\b")
_BETWEEN = re.compile(
    r"\bbetween\s([-$€£¥]?\d[^\s,;]{0,30}(?:\s[a-z%]{1,12})?)\sand\s(?=[-$€£¥]?\d)", re.IGNORECASE
)
_PART = re.compile(
    r"(?P<sign>-)?(?P<money>[$€£¥￥])? ?"
    r"(?P<number>\d{1,3}(?:,\d{3}){1,5}|\d{1,30}(?:\.\d{1,30})?)"
    r" ?(?P<unit>%|\^\{\\circ\}C?|\\text\{[^{}]{1,20}\}|[a-zA-Z]{1,12}|[\u4e00-\u9fff]{1,4})?"
)
_AROUND = re.compile(r" ?([-到至向:比]) ?")
_JOINT = re.compile(r"(?<=[^-到至向:比])-(?!-)|[到至向:比]")
_GAP = re.compile(r" ?(?:[;和与及]|,(?!\d{3}(?!\d))|\band\b) ?")
_START = re.compile(r"(?:from|pages?|从|第)(?= ?[-$€£¥\d])", re.IGNORECASE)
_SIGNS = {**dict.fromkeys("-到至", "hyphen"), "向": "to", ":": "ratio", "比": "ratio"}


class Range(NamedTuple):
    """Numbers with their units.

    Attributes:
        parts: Numbers with their units, as written.
        sign: "hyphen" for a hyphen, a dash or a tilde between them, "to", or "ratio".
        is_certain: True if it can be no difference of two terms, such as 10-20m.
    """

    parts: tuple[str, ...]
    sign: str
    is_certain: bool


def range_verdict(
    answer: str, reference: str, equal: Callable[[str, str], bool | None]
) -> bool | None:
    """Verdict on ranges, part by part; None if the reference is none, or the answer a difference.

    Args:
        answer: The final answer.
        reference: The text that it must equal.
        equal: Comparison of two parts.
    """
    right = ranges(reference)
    if not right:
        return None
    left = ranges(answer)
    if left is None:
        return False if all(each.is_certain for each in right) else None
    if any(
        {a.sign, r.sign} in ({"ratio"}, {"ratio", "to"}) for a, r in zip(left, right, strict=False)
    ):
        return None  # 4 to 6 and 2 : 3 are no ranges
    rest = list(left)
    for each in right:
        same = next((other for other in rest if _same_range(other, each, equal)), None)
        if same is None:
            return False
        rest.remove(same)
    return not rest


def ranges(text: str) -> list[Range] | None:
    """The ranges of a text that holds nothing else; None for any other text."""
    if len(text) > _MAX_LENGTH or not _RANGE_SIGN.search(text):
        return None
    text = canonical(_TO.sub("向", _TILDE.sub("至", _BETWEEN.sub(r"\1向", text))))
    text = _AROUND.sub(r"\1", _START.sub("", text, count=1).strip())
    listed = [_range(item) for item in _GAP.split(text)]
    return [each for each in listed if each] if None not in listed else None


def _range(text: str) -> Range | None:
    parts = [part for item in _JOINT.split(text) if (part := _PART.fullmatch(item))]
    joints = _JOINT.findall(text)
    units = [part["unit"] or "" for part in parts]
    signs = {_SIGNS[joint] for joint in joints}
    letters = [unit for unit in units if len(unit) < 3 and unit.isascii() and unit.isalpha()]
    if len(parts) != len(joints) + 1 or len(signs) != 1 or not all(map(compound_unit, letters)):
        return None
    if parts[0]["sign"] and joints[0] == "-":
        return None  # -5-3 is a number
    money = parts[0]["money"] or ""
    texts = tuple(
        f"{part['sign'] or ''}{part['money'] or money}{part['number']} {unit or units[-1]}".strip()
        for part, unit in zip(parts, units, strict=True)
    )
    sign = signs.pop()
    return Range(texts, sign, sign == "hyphen" and units[-1] not in AMBIGUOUS)


def _same_range(a: Range, b: Range, equal: Callable[[str, str], bool | None]) -> bool:
    if len(a.parts) != len(b.parts):
        return False
    if any(part[0] == "0" and part[1:2].isdecimal() for part in (*a.parts, *b.parts)):
        return a.parts == b.parts  # a code, as a telephone number
    return all(equal(x, y) for x, y in zip(a.parts, b.parts, strict=True))


_KIND = {name: kind for kind, names, _ in rows("figures.tsv", __file__) for name in names.split()}
_REVERSIBLE = frozenset(
    kind for kind, _, sort in rows("figures.tsv", __file__) if sort == "reversible"
)
_POLYGONS = frozenset(kind for kind, _, sort in rows("figures.tsv", __file__) if sort == "polygon")
# Of these the letters alone are the name as well.
_BARE = frozenset(["", "segment", "line", "triangle", "criterion"]) | _POLYGONS
_CODE = re.compile(
    r"SSS|S?AS|ASA|AAS|SAA|SSA|ASS|AAA|AA|HL|LH|RHS|RSH|HA|LA|LL|[TF]{2,}|[YN]{2,}"
    r"|(?=[IVXL]{2})L?X{0,3}(?:IX|IV|V?I{0,3})|X[LC](?:IX|IV|V?I{0,3})|LX{1,3}"
)
_CAPITALS = re.compile(r"[A-Z][^A-Z]*[A-Z]")
_VERTEX = r"[A-Z](?:_\{?[0-9a-z]{1,3}\}?)?'{0,3}"
_FIGURE = re.compile(
    rf"(?:(?:[Bb]y|[Tt]he|using|line(?= segment)|由|根据|利用) ?){{0,2}}"
    rf"(?:(?P<kind>{'|'.join(map(re.escape, sorted(_KIND, key=len, reverse=True)))}) ?)?"
    rf"\{{? ?(?P<letters>(?:{_VERTEX} ?){{1,12}})\}}? ?"
    r"(?P<remark>(?:congruence|criterion|postulate|theorem|rule|test|similarity|判定|定理|公理|全等"
    r"|相似) ?){0,2}"
)
_NAME_GAP = re.compile(r"[,;和与及]|\\text\{ ?and ?\}|\band\b")
_DOTS = re.compile(r"(?<=[A-Z])\.(?=[A-Z]|$)")
_LAYOUT = re.compile(r"\\(?:text|ce)\{|[_{} ]")
# A substance of several elements, with a number or a small letter.
_COMPOUND = re.compile(
    r"\A(?=.*(?:[a-z]|\d))(?=.*[A-Z].*[A-Z])(?:[A-Z][a-z]?\d{0,3}|\((?:[A-Z][a-z]?\d{0,3}){1,6}\)\d{0,2}){1,20}"
)


class Name(NamedTuple):
    """A name and what it names: a kind of figure, "criterion", "formula", or "" for letters."""

    kind: str
    letters: tuple[str, ...]

    @property
    def is_code(self) -> bool:
        """True if the letters are no figure and no product: SAS, IV, TFT, H2O."""
        is_listed = not self.kind and _CODE.fullmatch("".join(self.letters)) is not None
        return self.kind in ("formula", "criterion") or is_listed


def name_verdict(answer: str, reference: str) -> bool | None:
    """Verdict on an answer to a name; None for a reference that is none."""
    references = names(reference)
    if references is None:
        return None
    answers = names(answer)
    if answers is None:
        is_code = any(each.is_code for each in references)
        return False if is_code and not is_prose(answer) else None
    if len(answers) != len(references):
        return False
    for reference_name in references:
        same = next((each for each in answers if _is_same(each, reference_name)), None)
        if same is None:
            return False
        answers.remove(same)
    return True


def names(text: str) -> list[Name] | None:
    """The names of an enumeration, one at least with several letters; None for any other text."""
    if len(text) > 200 or not _CAPITALS.search(text):
        return None
    text = _DOTS.sub("", canonical(text)).strip("() ")
    items = [_name(item.strip()) for item in _NAME_GAP.split(text)]
    readings = [each for each in items if each is not None]
    is_complete = len(readings) == len(items) and any(len(each.letters) > 1 for each in readings)
    return readings if is_complete else None


def _name(text: str) -> Name | None:
    formula = _LAYOUT.sub("", text)
    if (" " not in text or "_" in text) and _COMPOUND.fullmatch(formula):
        return Name("formula", tuple(formula))
    match = _FIGURE.fullmatch(text)
    if match is None or (not match["kind"] and " " in match["letters"].strip()):
        return None
    kind = _KIND.get(match["kind"] or "", "criterion" if match["remark"] else "")
    letters = re.findall(_VERTEX, match["letters"].replace("{", "").replace("}", ""))
    return Name(kind, tuple(letters))


def _is_same(a: Name, r: Name) -> bool:
    if a.kind != r.kind and not ("" in (a.kind, r.kind) and {a.kind, r.kind} <= _BARE):
        return False
    kind = r.kind or a.kind
    ways = [r.letters]
    if kind in _REVERSIBLE or (len(r.letters) == 2 and not kind and not r.is_code):
        ways.append(r.letters[::-1])
    return a.letters in ways
