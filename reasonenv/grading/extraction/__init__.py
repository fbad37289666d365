r"""Extraction of the final answer from a response. Linear in its length; never from the reasoning.

    sections      what may hold the answer: tags, turns of a chat, the last paragraph
    markers       "The answer is", "####", 【答案】 and the text that belongs to each
    retractions   what takes an answer back in a later sentence
    remarks       "I hope it is correct." and what else follows an answer
    boxes         \boxed{} and enumerations of several
    sentences     sentences, corrections, reasons
    statements    the formula that ends a sentence
    prose         the value that prose states
    claims        numbers and formulas in prose, and which of them are stated
    circumstances numbers that prose repeats beside its claim
    equations     the equation that prose states, with its left side
    qualifiers    words around a value that change it
    languages     such words in other languages than English and Chinese
    alternatives  lists of words as one regular expression

Rules, in order:

- Only the last `<answer>` section outside of the reasoning counts; without one, the text after
  `</think>`. Of more than 20,000 characters only a box among the last ones counts.
- In that section the last `\boxed{}` is the answer. Boxes that stand in one enumeration, "\boxed{1}
  and \boxed{2}", or answer the numbered parts (1), (2) of a question, are one answer with several
  parts, so that candidates cannot be listed. A box within another is a part of that; one that the
  words beside it deny, "not \boxed{1}", is no answer.
- Without a box it is the text after the last marker that is not empty; if a later sentence takes
  that back, the last claim after it.
- Without that it is the whole section; without `<answer>` the last paragraph, of which a conclusion
  ("So ...", a computation, a bare value) stands for all of it.
- Remarks after it are dropped. After an explicit correction, "no wait", only what follows counts.
- In prose, `prose_answer` takes the only claim: two different ones are no answer.
"""

from functools import lru_cache

from reasonenv.grading.extraction.boxes import boxed_answer, last_boxes, separated
from reasonenv.grading.extraction.markers import marked_answer, numbered_parts
from reasonenv.grading.extraction.prose import prose_answer
from reasonenv.grading.extraction.qualifiers import has_qualifier
from reasonenv.grading.extraction.remarks import without_note, without_remarks
from reasonenv.grading.extraction.sections import answer_section, conclusion, glm_box, last_turn
from reasonenv.grading.extraction.sentences import corrected

__all__ = [
    "answer_section",
    "final_answer",
    "has_qualifier",
    "last_boxes",
    "prose_answer",
    "solution_answer",
]

_MAX_LENGTH = 20_000


def final_answer(response: str) -> str | None:
    """The final answer as written, or None; by the rules above."""
    text, is_tagged = answer_section(response)
    is_long = len(text) > _MAX_LENGTH
    text = last_turn(glm_box(text[-_MAX_LENGTH:]))
    boxes = last_boxes(text)
    if boxes or is_long:
        return boxed_answer(text, boxes)
    text = without_remarks(text)
    answer, before = marked_answer(text)
    if answer is None:
        before = before.strip()
        answer = (numbered_parts(before) or before) if is_tagged else conclusion(before)
    return corrected(without_note(answer)) or None


def solution_answer(reference: str) -> str:
    """The answer in a reference: the box of a worked solution, the whole of any other text."""
    if "\\boxed" in reference or "\\fbox" in reference or "answer is" in reference:
        return _parsed_solution(reference)
    return numbered_parts(reference) or reference


@lru_cache(maxsize=1024)
def _parsed_solution(text: str) -> str:
    return final_answer(separated(text)) or text
