"""Responses to be scored with the labels of their problems, and what came of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from reasonenv.grading import Grade

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A response and what it is scored against.

    Args:
        id: Of the problem.
        label: The problem's row in the data set; its question and images may be missing.
        response: What the model wrote.
        extraction: The answer in it where somebody else extracted it, such as a judge model.
    """

    id: str
    label: Row
    response: str
    extraction: str | None = None


@dataclass(frozen=True)
class Sheet:
    """Graded responses to the problems of a benchmark.

    Args:
        env: Id of the environment.
        cases: The responses, in the order in which they came.
        grades: Of each.
        num_missing: Problems of the split without a response.
        folder: Where the data lie, if in files.
        skipped: How many rows were left out, by reason.
    """

    env: str
    cases: Sequence[Case]
    grades: Sequence[Grade]
    num_missing: int = 0
    folder: Path | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def labels(self) -> dict[str, Row]:
        """The label of every problem that has a response."""
        return {case.id: case.label for case in self.cases}

    @cached_property
    def samples(self) -> dict[str, list[Grade]]:
        """The grades of every problem's samples."""
        found: dict[str, list[Grade]] = {case.id: [] for case in self.cases}
        for case, grade in zip(self.cases, self.grades, strict=True):
            found[case.id].append(grade)
        return found

    @cached_property
    def correct(self) -> dict[str, list[bool]]:
        """The verdicts on every problem's samples."""
        return {name: [grade.correct for grade in own] for name, own in self.samples.items()}

    @cached_property
    def means(self) -> dict[str, float]:
        """The part of every problem's samples that is right."""
        return {name: float(np.mean(own)) for name, own in self.correct.items()}

    @cached_property
    def num_samples(self) -> int:
        """How many responses a problem has: most of them, where they differ."""
        return Counter(map(len, self.correct.values())).most_common(1)[0][0]
