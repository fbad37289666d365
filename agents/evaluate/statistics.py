"""Accuracy with its errors from graded responses, pass@k, and a benchmark's official score."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

import numpy as np

from reasonenv.datasets import schema_of
from reasonenv.errors import DataError, ReasonEnvError
from reasonenv.registration import find
from reasonenv.score_intervals import over_problems, over_samples, standard_error
from reasonenv.score_statistics import pass_at_k, sample_sizes
from reasonenv.score_tables import interval_text
from reasonenv.scoring import score
from reasonenv.terminal import print_line

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

    def summary(self) -> dict[str, Any]:
        """Everything but the responses."""
        return {name: value for name, value in asdict(self).items() if name != "rows"}

    def __str__(self) -> str:
        interval = f"95 % {interval_text(self.interval)}, {self.num_problems} problems"
        left_out = f", {self.num_left_out} left out" if self.num_left_out else ""
        return f"{self.split} accuracy {self.accuracy:.3f} ({interval}{left_out})"


def summarise(
    env: str,
    split: str,
    rows: Sequence[Row],
    num_left_out: int = 0,
    split_size: int | None = None,
) -> Evaluation:
    """Accuracy with its interval, and lengths of responses.

    Args:
        env: Id of the environment.
        split: Part of its data.
        rows: Responses of all batches, at least one.
        num_left_out: Problems without a reference answer, which have no rows.
        split_size: Problems of the split; None for a generated one.

    Raises:
        DataError: No problem could be loaded.
    """
    scored = scored_rows(rows)
    if not scored:
        raise DataError(f"{env}: no problem can be loaded: {rows[0]['fault']}")
    by_kind: dict[str, list[bool]] = {}
    for row in scored:
        by_kind.setdefault(row["kind"], []).append(row["correct"])
    means = np.array([np.mean(correct) for correct in by_problem(scored).values()])
    clusters = list({row["id"]: row.get("cluster") or (row["id"],) for row in scored}.values())
    return Evaluation(
        split=split,
        accuracy=float(means.mean()),
        standard_error=standard_error(means, clusters),
        interval=over_problems(means, clusters),
        num_problems=len(means),
        num_left_out=num_left_out + len({row["id"] for row in rows}) - len(means),
        split_size=split_size,
        num_samples=1 + max(row["sample"] for row in rows),
        length_mean=float(np.mean([row["length"] for row in scored])),
        truncated=float(np.mean([not row["finished"] for row in scored])),
        by={kind: float(np.mean(correct)) for kind, correct in sorted(by_kind.items())},
        rows=tuple(rows),
    )


def scored_rows(rows: Sequence[Row]) -> list[Row]:
    """Rows of problems that could be loaded."""
    return [row for row in rows if row["status"] != LEFT_OUT]


def fault_lines(rows: Sequence[Row]) -> list[str]:
    """A line on each problem that could not be posed."""
    faults = {row["fault"]: row["status"] == LEFT_OUT for row in rows if "fault" in row}
    return [f"{'left out' if out else 'counts as wrong'}: {fault}" for fault, out in faults.items()]


def by_problem(rows: Sequence[Row]) -> dict[str, list[bool]]:
    """Correctness of each sample, by the problem's id."""
    groups: dict[str, list[bool]] = {}
    for row in rows:
        groups.setdefault(row["id"], []).append(row["correct"])
    return groups


def sample_scores(rows: Sequence[Row]) -> dict[str, Any]:
    """Scores of several samples a problem; empty where there is one.

    Returns:
        `interval_samples` of the accuracy, over the sampling of responses to these problems, and
        `pass@k` by k.
    """
    samples = list(by_problem(rows).values())
    correct, total = (np.array([f(one) for one in samples]) for f in (sum, len))
    if total.max() == 1:
        return {}
    best = {
        str(k): float(np.mean([pass_at_k(*both, k) for both in zip(correct, total, strict=True)]))
        for k in sample_sizes(int(total.min()))
    }
    return {"interval_samples": over_samples(correct, total), "pass@k": best}


def official_score(
    env: str, split: str, data: str | None, rows: Sequence[Row]
) -> dict[str, Any] | None:
    """The benchmark's own score; None for an environment that is no benchmark, or on failure.

    A failure is reported on standard error: the accuracy by the environment's grades remains.

    Args:
        env: Id of the environment.
        split: Part of its data.
        data: Folder of the data; None for the default.
        rows: Responses.
    """
    if schema_of(import_module(find(env).module)) is None:
        return None
    responses = [{"id": row["id"], "response": row["response"]} for row in rows]
    try:
        return score(env, responses, data=data, split=split)
    except ReasonEnvError as error:
        print_line(f"no official score of {env}: {error}", sys.stderr)
        return None
