"""Accuracy with its errors from graded responses, and pass@k."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from reasonenv.scoring import interval_text, over_samples, pass_at_k, sample_sizes

Row = dict[str, Any]
"""A response: id and sample, response, answer, reference, correct, status, length, ..."""
Result = Mapping[str, Any]
"""Of one environment, as in `results.json`."""
LEFT_OUT = "left_out"
"""Status of a problem that could not be read; `fault` of its row is the reason."""


@dataclass(frozen=True)
class Evaluation:
    """Accuracy of a sampler on the problems of one evaluation task."""

    split: str
    accuracy: float
    """Mean over problems of the mean over samples, in [0, 1]."""
    standard_error: float
    """Of `accuracy`, over clusters of problems."""
    interval: list[float]
    """Ends of the 95 % interval of `accuracy`, over the choice of clusters of problems."""
    num_problems: int
    num_left_out: int
    """Problems excluded because their reference answer is empty or an image is broken."""
    split_size: int | None
    """Problems of the split, those left out too; None for a split that is generated."""
    num_samples: int
    """Responses to each problem."""
    length_mean: float
    """Tokens per response."""
    truncated: float
    """Share of the responses that reached the length limit."""
    by: dict[str, float]
    """Accuracy by kind of problem, such as family or subject."""
    rows: tuple[Row, ...]
    """One for each response; those to one problem are consecutive within a batch."""
    calls: dict[str, float] = field(default_factory=dict)
    """Calls of tools per response by kind of problem; {} where episodes have one turn."""

    def summary(self) -> dict[str, Any]:
        """Everything but the responses, and calls where there are no tools."""
        left_out = {"rows"} if self.calls else {"rows", "calls"}
        return {name: value for name, value in asdict(self).items() if name not in left_out}

    def __str__(self) -> str:
        interval = f"95 % {interval_text(self.interval)}, {self.num_problems} problems"
        left_out = f", {self.num_left_out} left out" if self.num_left_out else ""
        return f"{self.split} accuracy {self.accuracy:.3f} ({interval}{left_out})"


def scored_rows(rows: Sequence[Row]) -> list[Row]:
    """Rows of problems that could be loaded."""
    return [row for row in rows if row["status"] != LEFT_OUT]


def fault_lines(rows: Sequence[Row]) -> list[str]:
    """A line on each problem that could not be posed."""
    faults = {row["fault"]: row["status"] == LEFT_OUT for row in rows if "fault" in row}
    return [f"{'left out' if out else 'counts as wrong'}: {fault}" for fault, out in faults.items()]


def correct_by(rows: Sequence[Row], key: str, value: str = "correct") -> dict[str, list[Any]]:
    """Correctness of the responses, or another value, by their `id` or `kind`."""
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row[value])
    return groups


def sample_scores(rows: Sequence[Row]) -> dict[str, Any]:
    """Scores of several samples a problem; empty where there is one.

    Returns:
        `interval_samples` of the accuracy, over the sampling of responses to these problems, and
        `pass@k` by k.
    """
    samples = correct_by(rows, "id").values()
    correct, total = (np.array(list(map(function, samples))) for function in (sum, len))
    if total.max() == 1:
        return {}
    best = {
        str(k): float(np.mean([pass_at_k(*both, k) for both in zip(correct, total, strict=True)]))
        for k in sample_sizes(int(total.min()))
    }
    return {"interval_samples": over_samples(correct, total), "pass@k": best}
