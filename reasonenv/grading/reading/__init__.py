r"""Reading: which span of a response is its answer, and what that says.

    sections   the part of a response that may hold the answer, and its boxes
    lines      markers, "The answer is", and last lines
    words      answers in words, and the closed table of words that leave no answer
    letters, literals, formulas      a reader for each other kind of reference

The span, in this order:

1. after the last box a line with a marker of the answer,
2. the last run of boxes; none where a later box is cut off,
3. the text after the last marker,
4. the whole of the last `<answer>`, where it is one line,
5. the last line.

With `prose` the only value that the last sentence of an unboxed text states counts instead of 4
and 5. A reader consumes the span to its end or refuses it: a word that is left over, as in "half of
4", is no answer.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from reasonenv.grading.budget import counted_cache, spend_on_text
from reasonenv.grading.parsing.grammar import MAX_LENGTH
from reasonenv.grading.parsing.notation import canonical
from reasonenv.grading.reading import letters, literals, words
from reasonenv.grading.reading.formulas import formula_verdict, spelled
from reasonenv.grading.reading.lines import (
    computed_value,
    emphasized,
    last_line,
    marked_claim,
    numbered_parts,
    stated_value,
)
from reasonenv.grading.reading.sections import answer_section as answer_section
from reasonenv.grading.reading.sections import boxed_answer, last_boxes, last_turn

_MAX_LENGTH = 20_000
_END = 1000  # characters in which nearly all last markers stand


class Span(NamedTuple):
    """The answer as written in a response.

    Attributes:
        text: The answer.
        source: "box", "tag", "marker", "line", or "prose".
    """

    text: str
    source: str


def final_span(response: str, prose: bool = False) -> Span | None:
    """The answer of a response, None if there is none; by the rules above.

    Args:
        response: The whole text of the model.
        prose: True to read a sentence without a marker by its only value.
    """
    text, is_tagged = answer_section(response)
    is_long, text = len(text) > _MAX_LENGTH, text[-_MAX_LENGTH:]
    if is_long and "box" not in text:
        return None
    text = last_turn(text)
    run, is_open = last_boxes(text)
    if is_open:
        return None
    if run:
        marked = _LINE_MARKER.search(text, run[-1].end)
        claim = marked_claim(text, marked.start()) if marked else None
        return _span(claim, "marker") or _span(boxed_answer(text, run), "box")
    return None if is_long else _unboxed(text, is_tagged, prose)


# Only a line, or a sentence, that begins with it.
_LINE_MARKER = re.compile(
    r"\n[\s*#>_]{0,9}(?:(?:so|therefore|thus|hence),? )?(?:the )?(?:final |correct )?answer\b"
    r"|\n[\s*#>_【]{0,9}(?:最终|正确)?答案",
    re.IGNORECASE,
)


def _unboxed(text: str, is_tagged: bool, prose: bool) -> Span | None:
    claim = marked_claim(text, max(0, len(text) - _END))
    claim = marked_claim(text) if claim is None and len(text) > _END else claim
    if claim is not None:
        return _span(claim, "marker")
    text = text.strip()
    if prose and (value := stated_value(text)):
        return _span(value, "prose")
    if value := emphasized(text):
        return _span(value, "line")
    if is_tagged and "\n" not in text:
        return _span(text, "tag")
    if is_tagged and (parts := numbered_parts(text)):
        return _span(parts, "tag")
    line = last_line(text)
    return _span(computed_value(line) or line, "line")


def _span(text: str | None, source: str) -> Span | None:
    text = (text or "").strip()
    return Span(text, source) if text else None


def final_answer(response: str) -> str | None:
    """The text of the answer of a response, None if there is none."""
    span = final_span(response)
    return span and span.text


def box_contents(text: str) -> Sequence[str]:
    """The contents of the last boxes of a text that are parts of one answer, in order."""
    return [box.content for box in last_boxes(text).run]


def solution_answer(reference: str) -> str:
    """The answer in a reference: the box of a worked solution, the whole of any other text."""
    if "\\boxed" in reference or "\\fbox" in reference or "answer is" in reference:
        return _parsed_solution(reference)
    return numbered_parts(reference) or reference


@lru_cache(maxsize=1024)
def _parsed_solution(text: str) -> str:
    """The answer of a solution; of boxes side by side all."""
    return final_answer(_ADJACENT.sub("}, ", text)) or text


_ADJACENT = re.compile(r"\}(?=\s*\\(?:boxed|fbox))")


KINDS = ("letters", "name", "clock", "range", "list", "words", "none", "formula")
"""Kinds of references, in the order in which they are tried."""


@counted_cache(maxsize=4096)
def kind_of(reference: str, options: tuple[str, ...]) -> str:
    """The kind of a reference that declares none."""
    if _NUMBER.fullmatch(reference) and not options:
        return "formula"
    if not options and literals.names(reference) is not None:
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
    if len(answer) > max(MAX_LENGTH, 2 * len(reference)):
        return None
    spend_on_text(answer)
    spend_on_text(reference)
    kind = kind or kind_of(reference, tuple(options))
    if kind == "list":
        return formula_verdict(f"({_unbracketed(answer)})", f"({_unbracketed(reference)})")
    decided = literals.name_verdict(answer, reference) if kind == "name" and not options else None
    if decided is None and (options or kind in ("letters", "name")):
        decided = letters.choice_verdict(answer, reference, options, verdict)
    return _value_verdict(answer, reference, kind) if decided is None else decided


def _unbracketed(text: str) -> str:
    text = text.strip(" $")
    pairs = ("[]", "()", "{}")
    is_bracketed = any(text.startswith(a) and text.endswith(b) for a, b in pairs)
    return text[1:-1] if is_bracketed else text


def plain_verdict(answer: str, reference: str) -> bool | None:
    """True for the same text; the verdict on two whole numbers; None for all else."""
    if answer == reference:
        return bool(answer.strip())
    left, right = _INTEGER.fullmatch(answer), _INTEGER.fullmatch(reference)
    return left.groups() == right.groups() if left and right else None


_INTEGER = re.compile(r"[ $]{0,9}(?:(-?)0*([1-9][0-9]*)|-?0+)[ $]{0,9}")


# A value may have 300 characters and eight times those of the reference: the longest right answer
# of a model has 95, to one of 2.
_LENGTH, _TIMES = 300, 8


def _value_verdict(answer: str, reference: str, kind: str) -> bool | None:
    if len(answer) > _LENGTH + _TIMES * len(reference):
        return None
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
    decided = literals.clock_verdict(answer, reference)
    if decided is None:
        decided = literals.range_verdict(answer, reference, verdict)
    if decided is None and len(answer) <= MAX_LENGTH:
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
