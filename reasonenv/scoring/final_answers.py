"""Labeled and graded responses, and the default rule: final answers compared mathematically.

The rule, by `reasonenv.workers.Grader`, scores MATH-500, AIME, AMC, DAPO-Math-17k, Minerva, MMK12
(a letter) and any environment without rules of its own. For AIME and AMC, whose answers are
integers, `accuracy` of k samples is mean@k.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from reasonenv.errors import DataError
from reasonenv.grading import Grade
from reasonenv.problem import answer_text
from reasonenv.registration import find
from reasonenv.workers import Grader

Row = Mapping[str, Any]

TABLES: Mapping[str, Callable[[Row], Any]] = {
    name: lambda row, name=name: row.get(name)
    for name in ("subject", "level", "type", "family", "data_source", "source", "year")
}
NEEDED = ()

# Columns of a reference; a dot leads into a struct.
_ANSWERS = ("answer", "Answer", "reward_model.ground_truth", "ground_truth", "solution")


@dataclass(frozen=True)
class LabeledResponse:
    """A response and the label that it is scored against.

    Args:
        id: Of the problem.
        label: The problem's row in the data set; its question and images may be missing.
        response: The model's text.
        extraction: The answer in it, extracted beforehand, as by a judge model; else None.
    """

    id: str
    label: Row
    response: str
    extraction: str | None = None


@dataclass(frozen=True)
class GradedResponses:
    """Graded responses to the problems of a benchmark.

    Args:
        env: Id of the environment.
        cases: The responses, in the order of their file.
        grades: Of each.
        num_missing: Problems of the split without a response.
        folder: Folder of the data, if they are files.
        skipped: Number of skipped rows by reason.
    """

    env: str
    cases: Sequence[LabeledResponse]
    grades: Sequence[Grade]
    num_missing: int = 0
    folder: Path | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def labels(self) -> dict[str, Row]:
        """The label of every problem that has a response."""
        return {case.id: case.label for case in self.cases}

    @cached_property
    def clusters(self) -> dict[str, Hashable]:
        """The cluster of every problem, of itself alone where it has nothing in common."""
        cluster_of = find(self.env).cluster_of
        return {name: cluster_of(label) or (name,) for name, label in self.labels.items()}

    @cached_property
    def samples(self) -> dict[str, list[Grade]]:
        """The grades of every problem's samples."""
        samples: dict[str, list[Grade]] = {case.id: [] for case in self.cases}
        for case, grade in zip(self.cases, self.grades, strict=True):
            samples[case.id].append(grade)
        return samples

    @cached_property
    def correct(self) -> dict[str, list[bool]]:
        """The verdicts on every problem's samples."""
        return {name: [grade.correct for grade in own] for name, own in self.samples.items()}

    @cached_property
    def means(self) -> dict[str, float]:
        """The accuracy of every problem's samples."""
        return {name: float(np.mean(own)) for name, own in self.correct.items()}

    @cached_property
    def num_samples(self) -> int:
        """Responses to a problem; the most frequent number, where they differ."""
        return Counter(map(len, self.correct.values())).most_common(1)[0][0]


def grades(cases: Sequence[LabeledResponse]) -> list[Grade]:
    """The grades of the final answers."""
    return grade_against(
        cases,
        [reference_answer(case.label) for case in cases],
        [_options(case.label) for case in cases],
    )


def _options(label: Row) -> tuple[str, ...]:
    """The texts of a multiple choice; none where the column holds something else."""
    options = label.get("options")
    return tuple(map(str, options)) if isinstance(options, list | tuple) else ()


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
        value: Any = label
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None and str(value).strip():
            return answer_text(value)
    raise DataError(f"no answer in any of {', '.join(_ANSWERS)}")
