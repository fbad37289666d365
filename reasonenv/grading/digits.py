"""Digits with other signs between them: 1’234, 1_000, 1.234,5, 12,5 and 1,23,456."""

import re

from reasonenv.grading.parsing.magnitudes import PARTS

# No list of numbers can be meant by these.
_APOSTROPHES = re.compile(r"(?<![\w.,'’])\d{1,3}(?:['’]\d{3})+(?![\d'’])")
_UNDERSCORES = re.compile(r"(?<![\w.,])\d{1,3}(?:_\d{3})+(?![\d_{])")
_POINTS = re.compile(r"(?<![\w.,])\d{1,3}(?:\.\d{3}){2,}(?![\d.,])")
_LATEX_COMMA = re.compile(r"(?<![\w.,])(?:(\d+)\{,\}(\d{1,2}|\d{4,})|(0)\{,\}(\d+))(?![\d{.,])")
# These may be lists too.
_COMMA = re.compile(
    r"(?<![\w.,])(\d+|\d{1,3}(?:\.\d{3})+),(\d{1,2}|\d{4,}|(?<=\.\d{3},)\d+)(?![\d.,])"
)
_LAKHS = re.compile(r"(?<![\w.,])\d{1,2}(?:,\d{2})+,\d{3}(?![\d,])")
_NAMES = "|".join(name for name in PARTS if name.endswith("s"))
_PARTS = re.compile(rf"(\d{{1,9}})\s?(?:\\text\{{\s?)?({_NAMES})\}}?", re.IGNORECASE)
_ORDINAL = re.compile(
    r"(?:the\s)?(\d{1,9})(?:st|nd|rd|th)(?:\s[a-z]{1,20})?|第(\d{1,9})[\u4e00-\u9fff]{0,4}",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"[(\[{]")


def plain_digits(text: str) -> str:
    """A text without the signs between groups of digits that no list has, and with points."""
    if "'" in text or "’" in text:
        text = _APOSTROPHES.sub(_joined, text)
    if "_" in text:
        text = _UNDERSCORES.sub(_joined, text)
    if "." in text:
        text = _POINTS.sub(_joined, text)
    return _LATEX_COMMA.sub(_pointed, text) if "{,}" in text else text


_OUT_OF = re.compile(r"(?<!\d)(\d{1,9}+)\s?(?:\\text\s?\{\s?)?out of(?:\s?\})?\s?(\d{1,9})")


def in_fractions(text: str) -> str:
    """A number of tenths, or one out of others, as a fraction; any other text unchanged.

    3 tenths is 3/10, and 2 out of 3 is 2/3.
    """
    if match := _OUT_OF.fullmatch(text.strip(" .$")):
        return f"{match[1]}/{match[2]}"
    match = _PARTS.fullmatch(text.strip(" .$"))
    return f"{match[1]}/{PARTS[match[2].lower()]}" if match else text


def is_number_of(answer: str, reference: str) -> bool:
    """True if a bare number is that of an ordinal: 15 for the 15th day, 3 for 第3天."""
    match = _ORDINAL.fullmatch(reference.strip(" .。$")) if len(reference) < 60 else None
    return match is not None and answer.strip(" .。$") in match.groups()


def single_number(answer: str) -> str | None:
    """The answer with a decimal comma as a point, or with commas after lakhs removed.

    None if it has no such number, or several.
    """
    if "," not in answer or _BRACKET.search(answer):
        return None
    for pattern, replacement in ((_LAKHS, _joined), (_COMMA, _pointed)):
        matches = pattern.findall(answer)
        if len(matches) == 1:
            text = pattern.sub(replacement, answer)
            return None if "," in text else text
    return None


def _joined(match: re.Match[str]) -> str:
    return "".join(filter(str.isdigit, match[0]))


def _pointed(match: re.Match[str]) -> str:
    whole, decimals = (group for group in match.groups() if group is not None)
    return f"{whole.replace('.', '')}.{decimals}"
