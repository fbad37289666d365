"""The default rule: final answers compared mathematically, by `reasonenv.workers.Grader`.

It scores MATH-500, AIME, AMC, DAPO-Math-17k, Minerva, MMK12 (a letter) and any environment without
rules of its own. For AIME and AMC, whose answers are integers, `accuracy` of k samples is mean@k.
"""

from collections.abc import Sequence

from reasonenv.datasets.column_names import cell
from reasonenv.errors import DataError
from reasonenv.grading import Grade
from reasonenv.problem import answer_text
from reasonenv.scoring.responses import LabeledResponse, Row
from reasonenv.workers import Grader

TABLES = {
    name: name
    for name in ("subject", "level", "type", "family", "data_source", "source", "year", "skill")
}
NEEDED = ()

# Columns of a reference.
_ANSWERS = ("answer", "Answer", "reward_model.ground_truth", "ground_truth", "solution")


def grades(cases: Sequence[LabeledResponse]) -> list[Grade]:
    """The grades of the final answers."""
    columns = [case.label.get("options") for case in cases]
    options = [tuple(map(str, each)) if isinstance(each, list | tuple) else () for each in columns]
    return grade_against(cases, [reference_answer(case.label) for case in cases], options)


def grade_against(
    cases: Sequence[LabeledResponse],
    references: Sequence[str],
    options: Sequence[Sequence[str]],
) -> list[Grade]:
    """The grades of the final answers against the references.

    Args:
        cases: Responses to grade.
        references: The right answer to each.
        options: Texts of the multiple choice of each, empty where there is none.
    """
    responses = [
        case.response if case.extraction is None else f"\\boxed{{{case.extraction}}}"
        for case in cases
    ]
    with Grader() as grader:
        return grader.grade(responses, references, options)


def reference_answer(label: Row) -> str:
    """The right answer of a row; whole numbers stored as 33.0 or "033" are 33.

    Raises:
        DataError: When the row has none.
    """
    for path in _ANSWERS:
        value = cell(label, path)
        if value is not None and str(value).strip():
            return answer_text(value)
    raise DataError(f"no answer in any of {', '.join(_ANSWERS)}")
