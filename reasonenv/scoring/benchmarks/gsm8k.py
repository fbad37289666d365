"""GSM8K: the number that a solution marks must be written as the reference is.

The official mark is `#### N`; the solutions that were published with the data end in `A: N`. A
response with neither mark is graded by its final answer.

Source: openai/grade-school-math, grade_school_math/dataset.py.
"""

import re
from collections.abc import Sequence

from reasonenv.grading import Grade
from reasonenv.grading.extraction import section
from reasonenv.scoring.benchmarks.graded import graded
from reasonenv.scoring.cases import Case, Row

TABLES = {}
NEEDED = ("answer",)

_MARKED = re.compile(r"#### (-?[0-9.,]+)")
_LABELLED = re.compile(r"(?:^|\n)A: (-?[0-9.,]+)")


def grades(cases: Sequence[Case]) -> list[Grade]:
    """The official verdicts where a response has a mark, else those of its final answer."""
    found = [marked(case.response) if case.extraction is None else None for case in cases]
    rest = [case for case, number in zip(cases, found, strict=True) if number is None]
    others = iter(graded(rest, [reference(case.label) for case in rest], [()] * len(rest)))
    return [
        next(others) if number is None else Grade(number == reference(case.label), number, "ok")
        for case, number in zip(cases, found, strict=True)
    ]


def marked(response: str) -> str | None:
    """The number behind the first mark of a response, without commas; None without a mark."""
    text = section(response)[0]
    match = _MARKED.search(text) or _LABELLED.search(text)
    return match[1].replace(",", "") if match else None


def reference(label: Row) -> str:
    """The reference number of a row, whose answer is a worked solution or the number itself."""
    answer = str(label["answer"])
    return marked(answer) or answer.strip().replace(",", "")
