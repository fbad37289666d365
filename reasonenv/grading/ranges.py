"""Ranges, scores and codes: 10-20, 10~20, 2-1, 2011-2012, 555-0134, which are no differences.

Two numbers with a hyphen are a difference, which is not carried out, only where the reference is no
range: 20-30 is not 10-20, nor is 1 the score 2-1.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from reasonenv.grading.equivalence.verdicts import Verdict, conjunction
from reasonenv.grading.extraction import has_qualifier
from reasonenv.grading.parsing.measurements import compound_unit
from reasonenv.grading.parsing.notation import canonical
from reasonenv.grading.parsing.units import AMBIGUOUS
from reasonenv.grading.words.text import is_prose

_SIGN = re.compile(r"\d[^\d=]{0,20}?(?:[-−–—~～〜到至比:：∶]|\bto\b|\\sim)|\bbetween\b|之间")
# Signs that the canonical notation reads as a space and as a ratio, by Chinese words for them.
_TILDE = re.compile(r"[~～〜]|\\sim(?![a-zA-Z])")
_TO = re.compile(r"\\text\{ ?to ?\}|\bto\b")
_MAX_LENGTH = 300
_PART = re.compile(
    r" ?(?P<sign>-)?(?P<money>[$€£¥￥])? ?"
    r"(?P<number>\d{1,3}(?:,\d{3}){1,5}(?![\d,])|\d{1,30}(?:\.\d{1,30})?)"
    r" ?(?P<unit>%|\^\{\\circ\}C?|\\text\{[^{}]{1,20}\}|(?!and\b|or\b)[a-zA-Z]{1,12}"
    r"|[\u4e00-\u9fff]{1,4}?(?=[-到至向比:,;和与]|$))? ?"
)
_JOINT = re.compile(
    r"(?P<hyphen>-(?!-)|[到至])|(?P<to>向)|(?P<ratio>[:比])"
    r"|(?P<gap>[,;和与及]|and\b)"
)
_START = re.compile(r"(?:from|从)(?= ?[-$€£¥\d])", re.IGNORECASE)


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


def range_verdict(answer: str, reference: str, verdict: Callable[[str, str], Verdict]) -> Verdict:
    """Verdict on ranges, part by part; None if the reference is none, or the answer a difference.

    Args:
        answer: The final answer.
        reference: The text that it must equal.
        verdict: Comparison of two parts.
    """
    references = ranges(reference)
    if not references:
        return None
    answers = ranges(answer)
    if answers is None:
        if not all(each.is_certain for each in references):
            return None
        answers = _stated(answer) if is_prose(answer) else []
    if any(_are_ratios(a, r) for a, r in zip(answers, references, strict=False)):
        return None
    return _same_ranges(answers, references, verdict)


def ranges(text: str) -> list[Range] | None:
    """The ranges of a text that holds nothing else; None for any other text."""
    if len(text) > _MAX_LENGTH or not _SIGN.search(text):
        return None
    text = _START.sub("", _plain(text), count=1)
    found, end = _ranges_at(text, 0)
    return found if found and end == len(text) else None


_BETWEEN = re.compile(
    r"\bbetween\s([-$€£¥]?\d[^\s,;]{0,30}(?:\s[a-z%]{1,12})?)\sand\s(?=[-$€£¥]?\d)"
    r"|[在介]?[于在]?(?P<low>\d[^\s,;至到和与]{0,20})[至到和与](?P<high>\d[^\s,;，。之]{0,20})之间",
    re.IGNORECASE,
)


def _between(match: re.Match[str]) -> str:
    return f"{match['low']}至{match['high']}" if match["low"] else f"{match[1]}向"


def _plain(text: str) -> str:
    text = _BETWEEN.sub(_between, text)
    return canonical(_TO.sub("向", _TILDE.sub("至", text)))


def _ranges_at(text: str, start: int) -> tuple[list[Range], int]:
    """The ranges of an enumeration that begins at `start`, and its end; none for a number alone."""
    found: list[Range] = []
    matches: list[re.Match[str]] = []
    signs: set[str] = set()
    position, end = start, start
    while match := _PART.match(text, position):
        matches.append(match)
        joint = _JOINT.match(text, match.end())
        if joint is None or joint["gap"]:
            each = _range(matches, signs)
            if each is None:
                break
            found.append(each)
            matches, signs, end = [], set(), match.end()
        if joint is None:
            break
        position = joint.end()
        if not joint["gap"]:
            signs.add("-" if joint["hyphen"] else "to" if joint["to"] else ":")
            if joint["hyphen"] == "-" and matches[0]["sign"]:
                break  # -5-3 is a number
    return found, end


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


def _stated(prose: str) -> list[Range]:
    """The ranges of a sentence that holds no other number, and nothing that changes them."""
    text = _plain(prose)
    digit = _DIGIT.search(text)
    if digit is None:
        return []
    found, end = _ranges_at(text, digit.start())
    rest = f"{text[: digit.start()]} {text[end:]}"
    return [] if _DIGIT.search(rest) or has_qualifier(rest) else found


_DIGIT = re.compile(r"-?[$€£¥￥]?\d")


def _are_ratios(a: Range, b: Range) -> bool:
    """True for 4 to 6 and 2 : 3, which are no ranges."""
    return ":" in (a.sign, b.sign) and "-" not in (a.sign, b.sign)


def _same_ranges(
    answers: list[Range], references: list[Range], verdict: Callable[[str, str], Verdict]
) -> Verdict:
    """True if the ranges of two enumerations are the same, in any order."""
    if len(answers) != len(references):
        return False
    rest = list(answers)
    for reference in references:
        same = next((each for each in rest if _is_same(each, reference, verdict)), None)
        if same is None:
            return False
        rest.remove(same)
    return True


def _is_same(a: Range, b: Range, verdict: Callable[[str, str], Verdict]) -> bool:
    if len(a.parts) != len(b.parts):
        return False
    if any(_is_code(part) for part in (*a.parts, *b.parts)):
        return a.parts == b.parts
    return bool(conjunction(verdict(x, y) for x, y in zip(a.parts, b.parts, strict=True)))


def _is_code(part: str) -> bool:
    """True for digits with a zero before them, as in a telephone number."""
    return part[0] == "0" and part[1:2].isdecimal()
