"""Numbers, formulas and enumerations in prose, and which of them its words state as a value."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from reasonenv.grading.extraction.boxes import joined, joins_answers
from reasonenv.grading.extraction.statements import SENTENCE_END
from reasonenv.grading.parsing.magnitudes import MAGNITUDES
from reasonenv.grading.parsing.units import UNITS

_FORMULA = re.compile(
    r"\$\$([^$]+)\$\$|\$([^$\n]+)\$(?!\d)"
    r"|\\\(((?:(?!\\\().){1,300}?)\\\)|\\\[((?:(?!\\\[).){1,300}?)\\\]",
    re.DOTALL,
)
_BOLD = re.compile(r"\*\*([^*\n]{1,80})\*\*")
_NUMBER = re.compile(
    r"(?<![a-zA-Z0-9_.&^*/\\{])[-−]?[$€£¥￥]?\d(?:,?\d){0,30}(?:\.\d{1,30})?(?:\s?/\s?\d{1,20})?"
    r"(?:[a-zA-Z]{1,8}(?![a-zA-Z])|\s?(?:%|°|percent|pct|degrees?))?"
)
# What may stand right before an answer: a word that says what something is, or nothing.
_COPULA = re.compile(
    r"(?:^|[:=：]|[是为有得即共剩]|\b(?:is|are|be|was|were|equals?|that|therefore|thus|hence|so"
    r"|then|finally"
    r"|answer|gets?|gives?|gave|have|has|had|find|found|obtain|exactly|simply|just|only|yields?"
    r"|takes?|took|paid|pays?|spent|needs?|costs?|earns?|makes?|measures?|weighs?|contains?"
    r"|totals?|requires?|est|ist"
    r"|es|は|(?:increase|decrease|grow|rise|fall)s?\sby))(?:\s(?:a|an|at|the|just|only|exactly|about"
    r"|approximately|roughly"
    r"|around|us|you|him|her|them))?[\s*$(\[},≈]*$",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"\s?((?:square |cubic |sq )?([a-zA-Zμ°]{1,12})(?:\^\{?[23]\}?|[²³])?"
    r"(?:\s(?:squared|cubed)(?![a-z])|(?:/| per )[a-z]{1,7}(?:\^\{?2\}?|²)?)?)(?![a-zA-Z])"
)
_WORD_AFTER = re.compile(r"\s?(?:([a-zA-Z]{1,20})|([\u4e00-\u9fff℃]{1,8}))")
_CLAUSES = re.compile(
    r"\A[,，]\s?(?!and\b|or\b)[a-zA-Z]{3}|\b(?:be|will|they|he|she|we|it)\b", re.IGNORECASE
)
_GAP = re.compile(r"[\s\d.,*+\-−–×x·/÷=:()（）≈$^]*+")
_OPERATOR = re.compile(r"[*+\-−–×x·/÷=:]")
_SAME = re.compile(r"[,，]?\s?(?:which is|that is|i\.e\.|meaning|也就是|即)[:,]?\s?")
_COMPARED = re.compile(r"(?:\s[a-z]{1,12}){0,2}\s(?:more|less|fewer|[a-z]{2,10}er)\sthan\b")
_WORD_GAP = re.compile(r"\s?[a-zA-Z]{1,15}\s?[*+\-−×x/÷=]\s?\$?")
_NO_MONEY = str.maketrans("", "", "$€£¥￥,")
_PLAIN_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,60}(?:\.[0-9]{0,60}|/[0-9]{1,60})?|\.[0-9]{1,60})")


class Claim(NamedTuple):
    """A number, formula or enumeration in prose."""

    start: int
    end: int
    text: str
    key: object
    is_stated: bool


def find_claims(prose: str) -> list[Claim]:
    """Numbers and formulas of prose in order; computations and enumerations as one each."""
    bold = [match for match in _BOLD.finditer(prose) if any(map(str.isdigit, match[1]))]
    formulas = [match for match in _FORMULA.finditer(prose) if not _is_name(match)]
    formulas = [
        match
        for match in formulas
        if not any(b.start() <= match.start() < b.end() for b in bold[-40:])
    ]
    blanked = (
        _BOLD.sub(_blank_digits, _FORMULA.sub(_blank, prose))
        if bold
        else _FORMULA.sub(_blank, prose)
    )
    matches = sorted(
        [*bold, *formulas, *_NUMBER.finditer(blanked)], key=lambda match: match.start()
    )
    groups: list[list[re.Match[str]]] = []
    for match in matches:
        if (
            groups
            and _is_bold(match) == _is_bold(groups[-1][-1])
            and _is_joined(prose[groups[-1][-1].end() : match.start()])
        ):
            groups[-1].append(match)
        else:
            groups.append([match])
    return [_claim(prose, part) for group in groups for part in _without_enumerated(prose, group)]


def _without_enumerated(
    prose: str, group: Sequence[re.Match[str]]
) -> Iterator[Sequence[re.Match[str]]]:
    """The equation that ends a group apart from what is enumerated before: 5, and 5 - 1 = 4."""
    gaps = [prose[a.end() : b.start()] for a, b in pairwise(group)]
    equals = max((index for index, gap in enumerate(gaps) if "=" in gap), default=0)
    cut = max((index + 1 for index in range(equals) if joins_answers(gaps[index])), default=0)
    if cut:
        yield group[:cut]
    yield group[cut:]


def _is_bold(match: re.Match[str]) -> bool:
    return match[0].startswith("**")


def _is_name(formula: re.Match[str]) -> bool:
    """True if a formula is a symbol alone, such as $x$."""
    return len(_inner(formula)) < 3 and not any(map(str.isdigit, formula[0]))


def _blank_digits(match: re.Match[str]) -> str:
    return _blank(match) if any(map(str.isdigit, match[0])) else match[0]


def _is_joined(gap: str) -> bool:
    if joins_answers(gap):
        return _CLAUSES.search(gap) is None
    return len(gap) < 60 and (
        (_GAP.fullmatch(gap) is not None and _OPERATOR.search(gap) is not None)
        or _WORD_GAP.fullmatch(gap) is not None
    )


def _claim(prose: str, group: Sequence[re.Match[str]]) -> Claim:
    start, end = group[0].start(), group[-1].end()
    gaps = [prose[a.end() : b.start()] for a, b in pairwise(group)]
    last = max((index + 1 for index, gap in enumerate(gaps) if "=" in gap), default=0)
    members = group[last:]
    if all(joins_answers(gap) for gap in gaps[last:]):
        text = joined([_inner(match) for match in members]) or ""
        if len(members) > 1 and prose[start - 1 : start] == "(" and prose[end : end + 1] == ")":
            text = f"({text})"
    else:
        text = prose[members[0].start() : end]
    before = prose[max(0, start - 80) : start]
    is_stated = (
        last > 0 or group[0][0].startswith("**") or _COPULA.search(SENTENCE_END.split(before)[-1])
    )
    is_aside = _SAME.match(prose, end) or _COMPARED.match(prose, end)
    return Claim(start, end, text, _key(text), bool(is_stated) and not is_aside)


def _key(text: str) -> object:
    """A value, where a text is a number; else the text without spaces."""
    plain = text.translate(_NO_MONEY).strip(" *").replace("−", "-")
    # Without an exponent, whose power may have more digits than memory holds.
    if _PLAIN_NUMBER.fullmatch(plain):
        with suppress(ZeroDivisionError):
            return Fraction(plain)
    return "".join(text.split())


def suffix_of(after: str) -> str:
    """The unit or the magnitude after a number in prose, "" if there is none."""
    if word := _WORD_AFTER.match(after):
        if word[1] and word[1].lower() in MAGNITUDES:
            return word[0]
        if run := word[2]:
            names = (run[:size] for size in range(min(4, len(run)), 0, -1))
            return next((name for name in names if name in UNITS or name in MAGNITUDES), "")
    match = _UNIT.match(after)
    return f" {match[1]}" if match and match[2] in UNITS and match[2] not in ("in", "a") else ""


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def values_of(text: str) -> set[object]:
    """The values of the numbers in a text."""
    return {_key(number[0]) for number in _NUMBER.finditer(text.replace("*", " * "))}


def _inner(match: re.Match[str]) -> str:
    inner = next((group for group in match.groups() if group), match[0])
    return inner.strip(" .:,")
