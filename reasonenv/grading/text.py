"""Answers as texts: one normal form, words, prose, times of day and dates."""

import re
from functools import lru_cache

from reasonenv.grading.parsing.notation import canonical, undelimited

_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|mbox)\s*\{([^{}]*)\}")
_SIGNS = re.compile(r"[0-9^_=<>+/|\\(\[{]|^-|\w\*\w")
_DECORATION = re.compile(
    r"[\s$.,;:!?\"'*“”‘’。，；：！？、]+|(?<=\w)-(?=\w)|\b(?:a|an|the|A|An|The)\b(?=.*\w)"
)
_WORD = re.compile(
    r"(?<![\\a-zA-Z{])[a-zA-Z]{3,}|(?<=text\{)\s?[a-zA-Z]{3,}"
    r"|[\u4e00-\u9fff]{2,}|[\u0600-\u06ff]{2,}"
)
_SHORT = frozenset(["no", "on", "up", "in", "yes", "off", "am", "pm"])
# Three letters without a vowel are rather a product; two are, unless they are one of the above.
_VOICED = re.compile(r"(?i:(?=[^\W\d_]*[aeiouà-ÿ])|(?=[^\W\d_]{4}))[^\W\d_]{3}|[^\W\d_a-zA-Z]{3}")
_CHINESE = re.compile("[\u4e00-\u9fff]")
_PLURAL = re.compile(r"(?<=[a-z]{3})(?<!s)s\b")
_CLAUSE = re.compile(r".*\b(?:is|are|be|was)\b|.*[是为：:=]", re.DOTALL)
_SPACES = re.compile(r"\s+")
_LOOSE_SPACE = re.compile(r"(?<!\d) | (?!\d)")
_MAX_LENGTH = 2000
_MAX_COMPARED_LENGTH = 100_000


def without_spaces(text: str) -> str:
    """A canonical text without decoration, and without spaces but those between digits."""
    text = canonical(text[:_MAX_COMPARED_LENGTH])
    return text if text.isalnum() else _LOOSE_SPACE.sub("", _SPACES.sub(" ", text))


def normalized_words(text: str) -> str:
    """The words of a text, without case, articles, fonts and punctuation."""
    return _cached_words(text[:_MAX_LENGTH])


@lru_cache(maxsize=4096)
def _cached_words(text: str) -> str:
    plain = _DECORATION.sub(" ", _TEXT.sub(r"\1", text)).split()
    return " ".join(word.casefold() if len(word) > 1 else word for word in plain)


def same_words(text: str, other: str) -> bool:
    """Whether texts have the same words, joined or not, singular or plural; of two in any order."""
    left, right = normalized_words(text), normalized_words(other)
    return left == right or _stems(left) == _stems(right)


def _stems(text: str) -> list[str]:
    """What an "and" joins, in order, without spaces and the last s of a word."""
    joined = [_PLURAL.sub("", part).replace(" ", "") for part in text.split(" and ")]
    return sorted(joined) if len(joined) == 2 else joined


def is_prose(text: str) -> bool:
    """Whether a text has words beside its formulas."""
    return _WORD.search(text) is not None


def is_text(text: str) -> bool:
    """Whether a text is words alone: no formula, and no product of a few letters."""
    text = undelimited(_TEXT.sub(r"\1", text)).strip(" .")
    if _SIGNS.search(text):
        return False
    if text.casefold() in _SHORT or _CHINESE.search(text):
        return True
    return _VOICED.search(text) is not None and not text.isupper()


def split_at_verb(text: str) -> tuple[str, str]:
    """A sentence up to its last "is", and what follows."""
    text = text.strip()[-300:]
    match = _CLAUSE.match(text)
    return (text[: match.end()], text[match.end() :]) if match else ("", text)


_COLON = re.compile(r"[:：∶]|\d\s?[apAP]\.?\s?[mM]\b")
_CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))?(?:([ap])\.?m\.?)?", re.IGNORECASE)


def time_of_day(text: str) -> tuple[int, str] | None:
    """Minutes after midnight of a time, and "am", "pm" or "" as it says; None for anything else."""
    if not _COLON.search(text):
        return None
    match = _CLOCK.fullmatch(without_spaces(_TEXT.sub(r"\1", text)))
    if match is None or not (match[2] or match[3]):
        return None
    minutes = int(match[2] or 0)
    if int(match[1]) > 23 or minutes > 59:
        return None
    half = f"{match[3].lower()}m" if match[3] else ""
    hour = int(match[1]) % 12 + 12 * (half == "pm") if half else int(match[1])
    return hour * 60 + minutes, half


def same_time(a: tuple[int, str], b: tuple[int, str]) -> bool:
    """Whether two times are the same; 3:30 fits 3:30 pm, and 15:30 does, but not 3:30."""
    if a[0] == b[0]:
        return True
    plain = [minutes for minutes, half in (a, b) if not half]
    return len(plain) == 1 and plain[0] < 13 * 60 and a[0] % (12 * 60) == b[0] % (12 * 60)


def has_date(text: str) -> bool:
    """Whether a text holds a date in digits, which is no difference and no quotient."""
    return _DATE.search(text) is not None


_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{4}")
