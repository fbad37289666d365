"""Formulas: both texts in one spelling of numbers, parsed, and compared as values."""

import re
from fractions import Fraction

from reasonenv.grading.equivalence.comparison import is_measured, matches
from reasonenv.grading.numeric.exact import Undefined
from reasonenv.grading.parsing.grammar import Reading, read
from reasonenv.grading.parsing.units import NUMERALS, PARTS, UNITS, leaves_value
from reasonenv.grading.reading.lines import predicate
from reasonenv.grading.reading.words import is_guarded, is_prose, plain


def formula_verdict(answer: str, reference: str) -> bool | None:
    """Verdict on two formulas, None if either cannot be read; what a sentence states counts."""
    answer, reference = spelled(answer), spelled(reference)
    title = _TITLE.match(answer)
    if _SENTENCES.search(answer) or (title is not None and is_guarded(title[1])):
        return None  # also where words before an equals sign change what it states
    verdict = _parsed_verdict(answer, reference)
    if not verdict and (is_prose(answer) or _VERB.search(answer)):
        stated = predicate(plain(answer))
        if stated is not None and stated != answer:
            stated = spelled(stated)
            verdict = _parsed_verdict(stated, reference)
            count = _COUNTED.fullmatch(stated) if verdict is None else None
            if count and leaves_value(count[2], False, False):  # 30 apples in the basket
                verdict = _parsed_verdict(count[1], reference)
    return verdict


_VERB = re.compile(r"\b[A-Z]?[a-z]{1,5}\s(?:is|are|was|get|have|has)\s")
_COUNTED = re.compile(r"([-−]?[$€£¥]?\d[\d.,/]{0,30}%?)\s([a-zA-Z][a-zA-Z\s,'-]{0,120})")
_SENTENCES = re.compile(r"[a-zA-Z\d)$}][.!?]\s+[A-Z][a-z]|[。！？]\s*\S")
_TITLE = re.compile(r"\A([^\d\\=]{1,80})(?:=|等于|:)")


def _parsed_verdict(answer: str, reference: str) -> bool | None:
    """Verdict on both as plain formulas, then as quantities with units; True if either is.

    Letters after a number are read as a unit only where the first comparison fails; short ones
    right after it, 5h, only where both texts have a unit.
    """
    if is_not_carried_out(answer, reference):
        return False
    a, r = read(answer), read(reference)
    verdict = _matches(a, r)
    if verdict:
        return True
    if a.has_units or r.has_units:
        left, right = (read(text, units=True) for text in (answer, reference))
        is_short = left.has_short_units or right.has_short_units
        if not is_short or all(each.node and is_measured(each.node) for each in (left, right)):
            verdict = _either(verdict, _matches(left, right))
    is_short = len(answer) + len(reference) < _MAX_LISTED
    if not verdict and is_short and (_GROUP.search(answer) or _GROUP.search(reference)):
        left, right = (read(text, grouped=False) for text in (answer, reference))
        verdict = _either(verdict, _matches(left, right))
    return verdict


def _either(verdict: bool | None, other: bool | None) -> bool | None:
    return True if other else False if verdict is False else other


_MAX_LISTED = 300  # characters of two texts that are read as lists of numbers as well
_GROUP = re.compile(r"\d,\d{3}")


def _matches(answer: Reading, reference: Reading) -> bool | None:
    if answer.node is None or reference.node is None:
        return None
    try:
        return matches(answer.node, reference.node)
    except Undefined:
        return False


_OPERATORS = {"\\times": "*", "\\cdot": "*", "\\div": "÷", " / ": "÷", " x ": "*", "\\left": "",
              "\\right": ""}  # fmt: skip
_LAYOUT = str.maketrans("", "", " \t\n(){}$\\`")
_DIGITS = r"\d++(?:,\d{3}(?!\d))*(?:\.\d++)?"
_COMPUTATION = re.compile(
    rf"(?<![\w.,])(?:[a-zA-Z]{{1,10}}=)?-?{_DIGITS}(?:[-+*×·÷−–]{_DIGITS})+[a-zA-Z]{{0,30}}"
)
_NUMERAL = re.compile(rf"(?<![\w.,])-?{_DIGITS}(?:[a-zA-Z]{{1,15}}|[%°])?")


def is_not_carried_out(answer: str, reference: str) -> bool:
    """True for 8 + 5 in place of 13: a computation of numbers is left to the reader.

    Fractions are numbers, 1/2 and 12/4; with powers, roots and π a computation may stay.
    """
    if len(answer) > 2000 or not _NUMERAL.fullmatch(_compact(reference)):
        return False
    for spelling, sign in _OPERATORS.items():
        answer = answer.replace(spelling, sign)
    return _COMPUTATION.fullmatch(_compact(answer)) is not None


def _compact(text: str) -> str:
    return text.translate(_LAYOUT).strip(".*=")


def _joined(match: re.Match[str]) -> str:
    return "".join(filter(str.isdigit, match[0]))


def _pointed(match: re.Match[str]) -> str:
    whole, decimals = (group for group in match.groups() if group is not None)
    return f"{whole.replace('.', '')}.{decimals}"


_PLURALS = "|".join(name for name in PARTS if name.endswith("s"))
# Numbers in other spellings: the sign without which nothing is searched, pattern, replacement.
_NUMBERS = [
    ("'", re.compile(r"(?<![\w.,'’])\d{1,3}(?:['’]\d{3})+(?![\d'’])"), _joined),
    ("’", re.compile(r"(?<![\w.,'’])\d{1,3}(?:['’]\d{3})+(?![\d'’])"), _joined),
    ("_", re.compile(r"(?<![\w.,])\d{1,3}(?:_\d{3})+(?![\d_{])"), _joined),
    (".", re.compile(r"(?<![\w.,])\d{1,3}(?:\.\d{3}){2,}(?![\d.,])"), _joined),
    ("{,}", re.compile(r"(?<![\w.,])(?:(\d+)\{,\}(\d{1,2}|\d{4,})|(0)\{,\}(\d+))(?![\d{.,])"),
     _pointed),
    (",", re.compile(r"\A\$?\d{1,2}(?:,\d{2})+,\d{3}\$?\Z"), _joined),
    ("out of", re.compile(r"\A\$?(\d{1,9}) ?(?:\\text\{ ?)?out of ?\}? ?(\d{1,9})\$?\Z"), r"\1/\2"),
    ("s", re.compile(rf"\A\$?(\d{{1,9}}) ?(?:\\text\{{ ?)?({_PLURALS})\}}?\$?\Z", re.IGNORECASE),
     lambda match: f"{match[1]}/{PARTS[match[2].lower()]}"),
]  # fmt: skip
_ONES = "|".join(name for name, value in NUMERALS.items() if name.isascii() and value < 20)
_TENS = "|".join(name for name, value in NUMERALS.items() if value >= 20)
_ENGLISH = re.compile(rf"(?:({_TENS})(?:[- ]({_ONES}))?|({_ONES}))(?![a-zA-Z-])", re.IGNORECASE)
_CHINESE = re.compile(r"(?:([一二三四五六七八九])?(十))?([零一二两三四五六七八九])?(?=个|\Z)")


def spelled(text: str) -> str:
    """A text with its number in one spelling: digits for words, no signs between their groups."""
    bare = plain(text).strip(" $.。")
    if bare[:1].isalpha() and len(bare) < 60:
        if match := _ENGLISH.match(bare):
            value = sum(NUMERALS[part.lower()] for part in match.groups() if part)
            return f"{value}{bare[match.end() :]}"
        if (match := _CHINESE.match(bare)) and match[0]:
            tens = 10 * NUMERALS[match[1] or "一"] if match[2] else 0
            return f"{tens + NUMERALS[match[3] or '零']}{bare[match.end() :]}"
    if "$" in text and "=" in text and _MONEY.fullmatch(text):
        return text.replace("$", "")
    for needle, pattern, replacement in _NUMBERS:
        if needle in text:
            text = pattern.sub(replacement, text)
    return in_one_unit(text)


_MONEY = re.compile(r"[$\d,.\s+*/×÷=()-]+")
# Of times alone: 1h 30m, 3分20秒.
_SHORT = {"d": "day", "m": "min", "分": "min", "秒钟": "s", "个小时": "h"}
_PART = re.compile(
    r"(\d{1,9}(?:\.\d{1,9})?)\s?([a-zA-Z]{1,7}|[\u4e00-\u9fff]{1,3})(?:,?\s?and\s|,\s?|\s|(?=\d|$))"
)
_SEVERAL = re.compile(r"\d\s?(?:\\text\{)?\s?[a-zA-Z\u4e00-\u9fff].*\d")


def in_one_unit(text: str) -> str:
    """A measurement in several units, 1 h 30 min, in the largest of them; else the text itself."""
    if len(text) > 60 or not _SEVERAL.search(text):
        return text
    bare = " ".join(plain(text).strip(" .。$").split())
    total, units, position = Fraction(0), [], 0
    while match := _PART.match(bare, position):
        name = _SHORT.get(match[2], match[2])
        unit = UNITS.get(name) or UNITS.get(name.lower())
        before = UNITS[units[-1]] if units else None
        if unit is None or (before and before.dimension != unit.dimension):
            return text
        if before and unit.factor >= before.factor:
            return text
        units.append(name if name in UNITS else name.lower())
        total += Fraction(match[1]) * unit.factor
        position = match.end()
    if position < len(bare) or len(units) < 2:
        return text
    total /= UNITS[units[0]].factor
    return f"\\frac{{{total.numerator}}}{{{total.denominator}}} {units[0]}"
