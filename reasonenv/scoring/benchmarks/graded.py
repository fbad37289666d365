"""Benchmarks whose final answers are compared mathematically, by `reasonenv.workers.Grader`.

MATH-500, AIME, AMC, DAPO-Math-17k, Minerva and MMK12 (a letter), and any other environment. For
AIME and AMC, whose answers are integers, `accuracy` of k samples is mean@k.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reasonenv.errors import DataError
from reasonenv.grading import Grade
from reasonenv.scoring.cases import Case, Row
from reasonenv.workers import Grader

TABLES: Mapping[str, Callable[[Row], Any]] = {
    name: lambda row, name=name: row.get(name)
    for name in ("subject", "level", "type", "family", "data_source", "source", "year")
}
NEEDED = ()

# Where a data set may keep its reference; a dot leads into a struct.
_ANSWERS = ("answer", "Answer", "reward_model.ground_truth", "ground_truth", "solution")


def grades(cases: Sequence[Case]) -> list[Grade]:
    """The grades of the final answers."""
    return graded(
        cases,
        [reference(case.label) for case in cases],
        [tuple(map(str, case.label.get("options") or ())) for case in cases],
    )


def graded(
    cases: Sequence[Case],
    references: Sequence[str],
    options: Sequence[Sequence[str]],
) -> list[Grade]:
    """The grades of the final answers against references that are already known.

    Args:
        cases: What to grade.
        references: The right answer to each.
        options: Texts of the multiple choice of each, empty where there is none.
    """
    responses = [
        case.response if case.extraction is None else f"\\boxed{{{case.extraction}}}"
        for case in cases
    ]
    with Grader() as grader:
        return grader.grade(responses, references, options)


def reference(label: Row) -> str:
    """The right answer of a row; whole numbers that are kept as 33.0 or "033" are 33.

    Raises:
        DataError: When the row has none.
    """
    for path in _ANSWERS:
        found: Any = label
        for name in path.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        if found is not None and str(found).strip():
            is_whole = isinstance(found, float) and found.is_integer()
            text = str(int(found) if is_whole else found).strip()
            return str(int(text)) if text.isascii() and text.isdigit() else text
    raise DataError(f"no answer in any of {', '.join(_ANSWERS)}")
