"""How many problems were solved, from the responses and their verdicts."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

Row = dict[str, Any]
"""A response: id and sample, response, answer, reference, correct, status, length, ..."""
LEFT_OUT = "left_out"
"""Status of a problem that could not be posed; `fault` of its row says why."""


@dataclass(frozen=True)
class Evaluation:
    """How many of an exam's problems were solved."""

    split: str
    accuracy: float
    """Mean over problems of the mean over samples, in [0, 1]."""
    standard_error: float
    """Of `accuracy`, over problems."""
    num_problems: int
    num_left_out: int
    """Problems that could not be posed: their answer is empty, or an image is broken."""
    num_samples: int
    """Responses to each problem."""
    length_mean: float
    """Tokens per response."""
    truncated: float
    """Part of the responses that the length limit cut."""
    by: dict[str, float]
    """Accuracy by family, subject or what else the environment has kinds of problems by."""
    rows: tuple[Row, ...]
    """One for each response, those to one problem consecutive unless they fill several batches."""

    def summary(self) -> dict[str, Any]:
        """Everything but the responses."""
        return {name: value for name, value in asdict(self).items() if name != "rows"}

    def __str__(self) -> str:
        return f"{self.split} accuracy {self.accuracy:.3f} ± {self.standard_error:.3f}"


def summarise(env: str, split: str, rows: Sequence[Row], num_left_out: int = 0) -> Evaluation:
    """How many problems were solved.

    Args:
        env: Whose problems.
        split: Part of its data.
        rows: Responses of all batches, at least one.
        num_left_out: Problems of which there are no rows, for they have no answer.

    Raises:
        ValueError: No problem could be posed.
    """
    answered = posed(rows)
    if not answered:
        raise ValueError(f"{env}: no problem can be posed: {rows[0]['fault']}")
    by_kind: dict[str, list[bool]] = {}
    for row in answered:
        by_kind.setdefault(row["kind"], []).append(row["correct"])
    means = np.array([np.mean(correct) for correct in by_problem(answered).values()])
    if len(by_kind) == len(means):  # a name for each problem, such as where it was found
        by_kind = {}
    spread = float(means.std(ddof=1)) if len(means) > 1 else math.nan
    return Evaluation(
        split=split,
        accuracy=float(means.mean()),
        standard_error=spread / math.sqrt(len(means)),
        num_problems=len(means),
        num_left_out=num_left_out + len({row["id"] for row in rows}) - len(means),
        num_samples=1 + max(row["sample"] for row in rows),
        length_mean=float(np.mean([row["length"] for row in answered])),
        truncated=float(np.mean([not row["finished"] for row in answered])),
        by={kind: float(np.mean(correct)) for kind, correct in sorted(by_kind.items())},
        rows=tuple(rows),
    )


def posed(rows: Sequence[Row]) -> list[Row]:
    """Those of problems that could be posed."""
    return [row for row in rows if row["status"] != LEFT_OUT]


def by_problem(rows: Sequence[Row]) -> dict[str, list[bool]]:
    """Whether each sample is right, by the problem's id."""
    found: dict[str, list[bool]] = {}
    for row in rows:
        found.setdefault(row["id"], []).append(row["correct"])
    return found
