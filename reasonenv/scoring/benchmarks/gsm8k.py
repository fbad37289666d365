"""GSM8K: the marked number of a response must equal the reference as text.

The official mark is `#### N`; the solutions that were published with the data end in `A: N`. A
response with neither mark is graded by its final answer.

Source: openai/grade-school-math, grade_school_math/dataset.py.
"""

import re
from collections.abc import Sequence

from reasonenv.grading import Grade
from reasonenv.grading.reading import answer_section
from reasonenv.scoring.final_answers import grade_against
from reasonenv.scoring.responses import LabeledResponse, Row

TABLES = {}
NEEDED = ("answer",)

_MARKED = re.compile(r"#### (-?[0-9.,]+)")
_LABELLED = re.compile(r"(?:^|\n)A: (-?[0-9.,]+)")


def grades(cases: Sequence[LabeledResponse]) -> list[Grade]:
    """The official verdicts where a response has a mark, else those of its final answer."""
    numbers = [marked_number(case.response) if case.extraction is None else None for case in cases]
    references = [reference_number(case.label) for case in cases]
    rest = [place for place, number in enumerate(numbers) if number is None]
    others = iter(
        grade_against([cases[i] for i in rest], [references[i] for i in rest], [()] * len(rest))
    )
    return [
        next(others) if number is None else Grade(number == reference, number, "ok")
        for number, reference in zip(numbers, references, strict=True)
    ]


def marked_number(response: str) -> str | None:
    """The number behind the first mark of a response, without commas; None without a mark."""
    text = answer_section(response)[0]
    match = _MARKED.search(text) or _LABELLED.search(text)
    return match[1].replace(",", "") if match else None


def reference_number(label: Row) -> str:
    """The reference number of a row, whose answer is a worked solution or the number itself."""
    answer = str(label["answer"])
    return marked_number(answer) or answer.strip().replace(",", "")
