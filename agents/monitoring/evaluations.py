"""Metrics of evaluations by name, and the step with the best of one."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from agents.storage.json_files import read_steps

NAMES = ("accuracy", "standard_error", "length_mean", "truncated")
"""Numbers of an evaluation that are metrics."""


def evaluation_metrics(row: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics of a line of `evaluations.jsonl`, such as `evaluation/test/accuracy`."""
    return {f"evaluation/{row.get('split')}/{name}": row[name] for name in NAMES if name in row}


def best_step(folder: Path, metric: str, steps: Collection[int]) -> int | None:
    """Earliest of some steps at which a metric is greatest; None without evaluations.

    Args:
        folder: Run directory.
        metric: A name of `evaluation_metrics`.
        steps: Those with a model that can be kept.
    """
    rows = [row for row in read_steps(folder / "evaluations.jsonl") if row["step"] in steps]
    values = [(evaluation_metrics(row).get(metric), row["step"]) for row in rows]
    numbers = [(value, -step) for value, step in values if isinstance(value, int | float)]
    return -max(numbers)[1] if numbers else None
