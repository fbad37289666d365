"""The verdict on an answer: the kind of the reference picks the reader."""

import re
from collections.abc import Callable, Sequence

from reasonenv.grading.budget import counted_cache, spend_on_text
from reasonenv.grading.parsing.grammar import MAX_LENGTH
from reasonenv.grading.parsing.notation import canonical
from reasonenv.grading.reading import letters, literals, words
from reasonenv.grading.reading.formulas import formula_verdict, spelled
from reasonenv.grading.reading.names import name_verdict, names

KINDS = ("letters", "name", "date", "clock", "range", "list", "words", "none", "formula")
"""Kinds of references, in the order in which they are tried."""


@counted_cache(maxsize=4096)
def kind_of(reference: str, options: tuple[str, ...]) -> str:
    """The kind of a reference that declares none."""
    if _NUMBER.fullmatch(reference) and not options:
        return "formula"
    if not options and names(reference) is not None:
        return "name"
    if letters.reference_choice(reference, options).letters is not None:
        return "letters"
    return next((kind for kind, is_kind in _TESTS.items() if is_kind(reference)), "formula")


_NUMBER = re.compile(r"\$?-?[\d.]{1,20}\$?")
_NO_VALUES = frozenset(
    ["does not exist", "undefined", "no solution", "no real solution", "infinitely many solutions"]
)


_TESTS: dict[str, Callable[[str], object]] = {
    "none": lambda text: words.meaning(text) in _NO_VALUES,
    "words": lambda text: words.is_text(text) and spelled(text) == text,
    "date": literals.date,
    "clock": literals.schedule,
    "range": literals.ranges,
}


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
    if not options and (decided := _fast(answer, reference)) is not None:
        return decided
    kind = kind or kind_of(reference, tuple(options))
    if kind == "list":
        answer, reference = (_BRACKETS.sub(r"(\1)", f"[{_inner(t)}]") for t in (answer, reference))
        return formula_verdict(answer, reference)
    decided = name_verdict(answer, reference) if kind == "name" and not options else None
    if decided is None and (options or kind in ("letters", "name")):
        decided = letters.choice_verdict(answer, reference, options, verdict)
    return _value_verdict(answer, reference, kind) if decided is None else decided


_BRACKETS = re.compile(r"\A\[(.*)\]\Z", re.DOTALL)


def _inner(text: str) -> str:
    """A list without its brackets."""
    text = text.strip(" $")
    pairs = ("[]", "()", "{}")
    is_bracketed = any(text.startswith(a) and text.endswith(b) for a, b in pairs)
    return text[1:-1] if is_bracketed else text


def _fast(answer: str, reference: str) -> bool | None:
    """True for the same text; the verdict on two whole numbers; None for all else."""
    if answer == reference:
        return bool(answer.strip())
    left, right = answer.strip(" $"), reference.strip(" $")
    if left.isdecimal() and right.isdecimal() and left.isascii() and right.isascii():
        return left.lstrip("0") == right.lstrip("0")
    return None


def _value_verdict(answer: str, reference: str, kind: str) -> bool | None:
    left, right = without_spaces(answer), without_spaces(reference)
    if not left or not right or left == right:
        return bool(left) and left == right
    if kind in ("words", "none") or words.meaning(reference):
        if words.words_verdict(answer, reference):
            return True
        if words.is_text(reference) and words.is_text(answer):
            return False
    return _literal_verdict(answer, reference)


def _literal_verdict(answer: str, reference: str) -> bool | None:
    for verdicts in (literals.date_verdict, literals.clock_verdict, _range_verdict):
        if (decided := verdicts(answer, reference)) is not None:
            return decided
    decided = None if len(answer) > MAX_LENGTH else formula_verdict(answer, reference)
    if decided is None and (words.is_text(reference) or words.is_text(answer)):
        return words.words_verdict(answer, reference)
    return decided


def _range_verdict(answer: str, reference: str) -> bool | None:
    return literals.range_verdict(answer, reference, verdict)


_SPACES = re.compile(r"\s+")
_LOOSE_SPACE = re.compile(r"(?<!\d) | (?!\d)")


def without_spaces(text: str) -> str:
    """Canonical text with no spaces except those between digits."""
    text = canonical(text[:100_000])
    return text if text.isalnum() else _LOOSE_SPACE.sub("", _SPACES.sub(" ", text))
