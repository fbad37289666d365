"""The verdict on an answer: the kind of the reference picks the reader."""

import re
from collections.abc import Sequence
from functools import lru_cache

from reasonenv.grading.budget import spend_on_text
from reasonenv.grading.parsing.grammar import MAX_LENGTH
from reasonenv.grading.parsing.notation import canonical
from reasonenv.grading.reading import letters, literals, words
from reasonenv.grading.reading.formulas import formula_verdict, spelled
from reasonenv.grading.reading.names import name_verdict, names

KINDS = ("letters", "name", "date", "clock", "range", "list", "words", "none", "formula")
"""Kinds of references, in the order in which they are tried."""


@lru_cache(maxsize=4096)
def kind_of(reference: str, options: tuple[str, ...] = ()) -> str:
    """The kind of a reference that declares none."""
    if not options and names(reference) is not None:
        return "name"
    if letters.reference_choice(reference, options).letters is not None:
        return "letters"
    if words.meaning(reference) in _NO_VALUES:
        return "none"
    if words.is_text(reference) and spelled(reference) == reference:
        return "words"
    if literals.date(reference) is not None:
        return "date"
    if literals.schedule(reference) is not None:
        return "clock"
    return "range" if literals.ranges(reference) else "formula"


_NO_VALUES = frozenset(
    ["does not exist", "undefined", "no solution", "no real solution", "infinitely many solutions"]
)


def verdict(
    answer: str, reference: str, options: Sequence[str] = (), kind: str | None = None
) -> bool | None:
    """True if an answer equals the reference, None if either cannot be read.

    Args:
        answer: The answer of a response.
        reference: The text that it must equal.
        options: Texts of a multiple choice, in order.
        kind: Kind of the reference, one of `KINDS`; None to guess it.

    Raises:
        TooLarge: A number has too many digits to be worth computing.
    """
    spend_on_text(answer)
    spend_on_text(reference)
    if not options and _fast(answer, reference):
        return True
    kind = kind or kind_of(reference, tuple(options))
    if kind == "list":
        answer, reference = (_BRACKETS.sub(r"(\1)", f"[{_inner(t)}]") for t in (answer, reference))
        return formula_verdict(answer, reference)
    if not options and kind == "name":
        decided = name_verdict(answer, reference)
        if decided is not None:
            return decided
    if options or kind in ("letters", "name"):
        decided = letters.choice_verdict(answer, reference, options, verdict)
        if decided is not None:
            return decided
    return _value_verdict(answer, reference, kind)


_BRACKETS = re.compile(r"\A\[(.*)\]\Z", re.DOTALL)


def _inner(text: str) -> str:
    """A list without its brackets."""
    text = text.strip(" $")
    pairs = ("[]", "()", "{}")
    is_bracketed = any(text.startswith(a) and text.endswith(b) for a, b in pairs)
    return text[1:-1] if is_bracketed else text


def _fast(answer: str, reference: str) -> bool:
    """True for the same text, and for the same digits."""
    if answer == reference:
        return bool(answer.strip())
    if answer.isascii() and answer.isdecimal() and reference.isascii() and reference.isdecimal():
        return answer.lstrip("0") == reference.lstrip("0")
    return False


def _value_verdict(answer: str, reference: str, kind: str) -> bool | None:
    left, right = without_spaces(answer), without_spaces(reference)
    if not left or not right:
        return False
    if left == right:
        return True
    if kind in ("words", "none") or words.meaning(reference):
        if words.words_verdict(answer, reference):
            return True
        if words.is_text(reference) and words.is_text(answer):
            return False
    if (decided := literals.date_verdict(answer, reference)) is not None:
        return decided
    if (decided := literals.clock_verdict(answer, reference)) is not None:
        return decided
    if (decided := literals.range_verdict(answer, reference, verdict)) is not None:
        return decided
    if len(answer) > MAX_LENGTH:
        return None
    decided = formula_verdict(answer, reference)
    if decided is None and (words.is_text(reference) or words.is_text(answer)):
        return words.words_verdict(answer, reference)
    return decided


_SPACES = re.compile(r"\s+")
_LOOSE_SPACE = re.compile(r"(?<!\d) | (?!\d)")


def without_spaces(text: str) -> str:
    """Canonical text with no spaces except those between digits."""
    text = canonical(text[:100_000])
    return text if text.isalnum() else _LOOSE_SPACE.sub("", _SPACES.sub(" ", text))
