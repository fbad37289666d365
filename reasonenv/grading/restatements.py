"""Answers that give one value twice: 3/4 (or 0.75), 400 mL (0.4 L)."""

import re
from collections.abc import Callable

_MAX_LENGTH = 120
_OR = re.compile(
    r"(?:\b(?:or|i\.e\.,?|that is,?|which is|which equals|equals)(?=\s)|=|≈|\\approx|即|也就是|或)"
)
_UNIT = re.compile(r"(?:[a-zA-Z]{2}|[\u4e00-\u9fff%])\Z")
_WORD = re.compile(r"\b(?:not|no|maybe|about|at|than|and|or)\b|[不约大小或非]")


def restates(answer: str, reference: str, verdict: Callable[[str, str], bool | None]) -> bool:
    """True if an answer gives the reference twice.

    Args:
        answer: An answer that does not equal the reference as it stands.
        reference: The right answer.
        verdict: The verdict on two texts by the rules.
    """
    if len(answer) > _MAX_LENGTH:
        return False
    first, second = _two_values(answer.strip(" =.。\n"))
    if not (_has_digit(first) and _has_digit(second)) or _WORD.search(second):
        return False
    if all(_two_values(first)) or all(_two_values(second)):  # three values
        return False
    if first != second and first.strip("%\\ ") == second.strip("%\\ "):  # 50 or 50%
        return False
    if not (verdict(first, second) or verdict(second, first)):
        return False
    rights = [verdict(first, reference), verdict(second, reference)]
    # One of the two may be in another unit, or rounded.
    is_bare = not any(map(str.isalpha, reference)) and "%" not in answer
    return any(rights) if is_bare or _APPROXIMATE.search(answer) else all(rights)


def _two_values(text: str) -> tuple[str, str]:
    """The value before and the one in a last pair of brackets, or after the only "or"."""
    if text.endswith((")", "）")):
        start = max(text.rfind("("), text.rfind("（"))
        first, second = _plain(text[: max(0, start)]), text[start + 1 : -1].strip()
        if opening := _OR.match(second):
            second = second[opening.end() :]
        elif not _UNIT.search(first):  # a product
            return "", ""
        return first, _plain(second)
    separators = [match for match in _OR.finditer(text) if match[0] != "="]
    if len(separators) != 1:
        return "", ""
    return _plain(text[: separators[0].start()]), _plain(text[separators[0].end() :])


def _plain(text: str) -> str:
    return text.strip(" $,，")


_APPROXIMATE = re.compile(r"≈|\\approx")


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))
