"""Comparison of answers as text: words, prose and dates."""

import re
from functools import lru_cache

from reasonenv.grading.parsing.notation import canonical, undelimited

_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|mbox)\s*\{([^{}]*)\}")
_SIGNS = re.compile(r"[0-9^_=<>+/|\\(\[{]|^-|\w\*\w")
_DECORATION = re.compile(
    r"[\s$.,;:!?\"'*“”‘’。，；：！？、]+|(?<=\w)-(?=\w)|\b(?:a|an|the|A|An|The)\b(?=[^\w\n]*+\w)"
)
_WORD = re.compile(
    r"(?<![\\a-zA-Z{])[a-zA-ZÀ-ÖØ-öø-ɏḀ-ỿ]{3,}|(?<=text\{)\s?[a-zA-Z]{3,}"
    r"|[\u4e00-\u9fff]{2,}|[\u0400-\u10ff\u1200-\u1cff\u3040-\u30ff\uac00-\ud7af]{2,}"
)
_SHORT = frozenset(["no", "on", "up", "in", "yes", "off", "am", "pm"])
# Three letters without a vowel count as a product; so do two that are not one of the above.
_VOICED = re.compile(r"(?i:(?=[^\W\d_]{4})|(?=[^\W\d_]*[aeiouà-ÿ]))[^\W\d_]{3}|[^\W\d_a-zA-Z]{3}")
_CHINESE = re.compile("[\u4e00-\u9fff]")
_PLURAL = re.compile(r"(?<=[a-z]{3})(?<!s)s\b")
_CLAUSE = re.compile(r"\A.*\b(?:is|are|be|was)\b|\A.*[是为：:=]", re.DOTALL)
_SPACES = re.compile(r"\s+")
_LOOSE_SPACE = re.compile(r"(?<!\d) | (?!\d)")
_MAX_LENGTH = 2000
_MAX_COMPARED_LENGTH = 100_000


def without_spaces(text: str) -> str:
    """Canonical text with no spaces except those between digits."""
    text = canonical(text[:_MAX_COMPARED_LENGTH])
    return text if text.isalnum() else _LOOSE_SPACE.sub("", _SPACES.sub(" ", text))


def normalized_words(text: str) -> str:
    """Words of a text without case, articles, fonts and punctuation."""
    return _cached_words(text[:_MAX_LENGTH])


@lru_cache(maxsize=4096)
def _cached_words(text: str) -> str:
    plain = _DECORATION.sub(" ", _TEXT.sub(r"\1", text)).split()
    return " ".join(word.casefold() if len(word) > 1 else word for word in plain)


def same_words(text: str, other: str) -> bool:
    """True if texts have the same words, singular or plural; "a and b" equals "b and a"."""
    left, right = normalized_words(text), normalized_words(other)
    return left == right or _stems(left) == _stems(right)


def _stems(text: str) -> list[str]:
    """Parts of a text between "and", without spaces and plural s; two parts are sorted."""
    stems = [_PLURAL.sub("", part).replace(" ", "") for part in text.split(" and ")]
    return sorted(stems) if len(stems) == 2 else stems


def is_prose(text: str) -> bool:
    """True if a text has words in addition to formulas."""
    return _WORD.search(text) is not None


def is_text(text: str) -> bool:
    """True if a text is words alone: no formula, no product of a few letters."""
    text = undelimited(_TEXT.sub(r"\1", text)).strip(" .")
    if _SIGNS.search(text):
        return False
    if text.casefold() in _SHORT or _CHINESE.search(text):
        return True
    return _VOICED.search(text) is not None and not text.isupper()


def split_at_verb(text: str) -> tuple[str, str]:
    """A sentence up to its last verb "is", and the part after it."""
    text = text.strip()[-300:]
    match = _CLAUSE.match(text)
    return (text[: match.end()], text[match.end() :]) if match else ("", text)


def has_date(text: str) -> bool:
    """True if a text holds a date in digits, which is neither a difference nor a quotient."""
    return _DATE.search(text) is not None


_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{4}")
