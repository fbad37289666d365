"""Words: answers in words, and the one closed table of words that leave no answer.

Boxes need none of the table. In prose a word of it beside a claim denies it, doubts it, compares
it, takes it back or gives it to somebody else, and then there is no answer.
"""

import re
from functools import lru_cache

from reasonenv.grading.parsing import rows
from reasonenv.grading.parsing.notation import undelimited

_FONT = re.compile(
    r"\\(?:text\w*|math(?:rm|bf|sf|it|tt)|mbox|boldsymbol|pmb|emph|underline)\s*\{([^{}]*)\}"
)
_SIGNS = re.compile(r"[0-9^_=<>+/|\\(\[{]|^-|\w\*\w")
_DECORATION = re.compile(
    r"[\s$.,;:!?\"'*“”‘’。，；：！？、()（）]+|(?<=\w)-(?=\w)|\b(?:a|an|the|A|An|The)\b(?=[^\w\n]*+\w)"
)
_WORD = re.compile(
    r"(?<![\\a-zA-Z{])[a-zA-ZÀ-ÖØ-öø-ɏḀ-ỿ]{3,}|(?<=text\{)\s?[a-zA-Z]{3,}"
    r"|[\u4e00-\u9fff]{2,}|[\u0400-\u10ff\u1200-\u1cff\u3040-\u30ff\uac00-\ud7af]{2,}"
)
_SHORT = frozenset(["no", "on", "up", "in", "yes", "off", "am", "pm"])
# Three letters without a vowel count as a product; so do two that are not one of the above.
_VOICED = re.compile(r"(?i:(?=[^\W\d_]{4})|(?=[^\W\d_]*[aeiouà-ÿ]))[^\W\d_]{3}|[^\W\d_a-zA-Z]{3}")
_CHINESE = re.compile("[\u4e00-\u9fff]")
_WHOLE = re.compile(r"\A\s*\$?\\(?:text|mathrm)\s*\{\s*[a-z]{2,20}\s*\}\$?\s*")
_PLURAL = re.compile(r"(?<=[a-z]{3})(?<!s)s\b")
_MAX_LENGTH = 2000


def plain(text: str) -> str:
    r"""A text without the fonts of its words, \text{} and the like."""
    while "\\" in text and (bare := _FONT.sub(r"\1", text)) != text:
        text = bare
    return text


def normalized_words(text: str) -> str:
    """Words of a text without case, articles, fonts and punctuation."""
    return _cached_words(text[:_MAX_LENGTH])


@lru_cache(maxsize=4096)
def _cached_words(text: str) -> str:
    words = _DECORATION.sub(" ", plain(text)).split()
    return " ".join(word.casefold() if len(word) > 1 else word for word in words)


_MEANINGS = {
    _cached_words(phrase): phrases[0]
    for phrases in rows("synonyms.tsv", __file__)
    for phrase in phrases
}


def meaning(text: str) -> str | None:
    """The common phrase for one of the same meaning; None for any other text."""
    return _MEANINGS.get(normalized_words(text)) if len(text) <= 80 else None


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
    if _WHOLE.fullmatch(text):
        return True
    text = undelimited(plain(text)).strip(" .")
    if _SIGNS.search(text):
        return False
    if text.casefold() in _SHORT or _CHINESE.search(text):
        return True
    return _VOICED.search(text) is not None and not text.isupper()


_PREDICATE = re.compile(
    r"\A(.{0,200}?)(?:\b(?:is|are|was)\b|[是为])\s*(?!.*(?:\bis\b|\bare\b|[是为]))", re.DOTALL
)
_REASON = re.compile(
    r"[,;.，。；]\s*(?:because|since|as\b|for\b|因为|由于|it is|和是).*|\s(?:because|since)\b.*",
    re.DOTALL | re.I,
)


def words_verdict(answer: str, reference: str) -> bool:
    """True if an answer in words has those of the reference, or states them of a subject.

    The subject of a reference may be missing, "The sequence is convergent" and "convergent"; that
    of an answer must hold no word that changes what is stated.
    """
    answer, reference = (
        _DIRECTION.sub("", plain(text).strip(" $*\n")) for text in (answer, reference)
    )
    right = meaning(reference) or normalized_words(reference)
    if right == (meaning(answer) or normalized_words(answer)) or same_words(answer, reference):
        return True
    subject, stated = _split(answer)
    other_subject, expected = _split(reference)
    if bool(subject) == bool(other_subject) or is_guarded(subject):
        short = _REASON.sub("", answer)
        is_denied = right == "yes" and is_guarded(answer)
        return (
            short != answer and right in ("yes", "no") and meaning(short) == right and not is_denied
        )
    left, right = meaning(stated), meaning(expected)
    return left == right if left and right else same_words(stated, expected)


_DIRECTION = re.compile(r"\A[\"'“]|[\"'”]\Z")


def _split(text: str) -> tuple[str, str]:
    match = _PREDICATE.match(text)
    return (match[1], text[match.end() :]) if match else ("", text)


_GUARD = {row[0]: row[1] for row in rows("guard.tsv", __file__)}
_LISTED = re.compile(
    rf"\b(?:{_GUARD['denial']}|{_GUARD['hedge']}|{_GUARD['comparison']}|{_GUARD['report']})\b"
    rf"|n't\b|{_GUARD['chinese']}",
    re.IGNORECASE,
)
_OWNED = re.compile(rf"\b(?:{_GUARD['other']})\b|'s\s*\Z|[他她的]\Z", re.IGNORECASE)


def is_guarded(words: str) -> bool:
    """True if a word before a claim may change it."""
    return _LISTED.search(words) is not None


def is_of_others(words: str) -> bool:
    """True if the words before a marker make the answer somebody else's."""
    return is_guarded(words) or _OWNED.search(words) is not None


_TAKES_BACK = re.compile(_GUARD["takes back"], re.IGNORECASE)
_ADDS = re.compile(_GUARD["adds"], re.IGNORECASE)
_DENIES = re.compile(_GUARD["denies"], re.IGNORECASE)
_REACH = 400
_CLAIMED = re.compile(r"(?<![A-Za-z])[A-J](?![A-Za-z'])")


def is_withdrawn(claim: str, rest: str) -> bool:
    """True if the text after a claim may take it back, or the line after it add another to it.

    A line may deny other letters than the one that is claimed.
    """
    rest = f". {rest[:_REACH]}"
    if _TAKES_BACK.search(rest):
        return True
    line = rest.strip().partition("\n")[0]
    if _ADDS.search(line):
        return True
    letter, other = _CLAIMED.findall(claim), _CLAIMED.search(line)
    is_of_another = len(letter) == 1 and other is not None and other[0] != letter[0]
    return not is_of_another and _DENIES.search(line) is not None


def adds(words: str) -> bool:
    """True if words add another claim to the one before them."""
    return _ADDS.search(words) is not None
