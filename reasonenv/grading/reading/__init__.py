r"""Reading: which span of a response is its answer, and what that says.

    sections   the part of a response that may hold the answer, and its boxes
    lines      markers, "The answer is", and last lines
    guard      the closed table of words that leave no answer
    kinds      the kind of a reference, which picks one reader
    letters, literals, names, words, formulas      a reader for each kind

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
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from reasonenv.grading.reading.lines import last_line, marked_claim, numbered_parts
from reasonenv.grading.reading.prose import computed_value, stated_value
from reasonenv.grading.reading.sections import answer_section, boxed_answer, last_boxes, last_turn

__all__ = [
    "Span",
    "answer_section",
    "box_contents",
    "final_answer",
    "final_span",
    "separated",
    "solution_answer",
]

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
    is_long = len(text) > _MAX_LENGTH
    text = last_turn(text[-_MAX_LENGTH:])
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
    return final_answer(separated(text)) or text


def separated(reference: str) -> str:
    """A reference with a comma between boxes side by side: all of them are part of it."""
    return _ADJACENT.sub("}, ", reference)


_ADJACENT = re.compile(r"\}(?=\s*\\(?:boxed|fbox))")
