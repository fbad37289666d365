"""Digits with other signs between them: 1’234, 1_000, 1.234,5, 12,5 and 1,23,456."""

import re

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
