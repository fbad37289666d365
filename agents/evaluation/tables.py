"""What an evaluation found, in lines for a terminal."""

from collections.abc import Callable, Mapping
from typing import Any

from agents.evaluation.published import aligned

Result = Mapping[str, Any]
"""Of one environment, as `results.json` has it."""


def rate(result: Result) -> float:
    """The accuracy to compare: the official one where there is one."""
    return (result["official"] or result)["accuracy"]


def result_table(results: Mapping[str, Result]) -> list[str]:
    """A row for each environment: its own accuracy, and the official one where any has one."""
    shown = list(_COLUMNS)
    if not any(result["official"] for result in results.values()):
        shown = [name for name in shown if name not in ("official", "95%")]
    samples = next(iter(results.values()))["num_samples"]
    if samples == 1:
        shown.remove("pass@k")
    named = {"pass@k": f"pass@{samples}", "accuracy": f"mean@{samples}" if samples > 1 else None}
    head = [named.get(name) or name.strip() for name in shown]
    rows = [
        [env, *(_COLUMNS[name](result) for name in shown if name != "environment")]
        for env, result in results.items()
    ]
    return aligned([head, *rows])


def kind_table(result: Result) -> list[str]:
    """Accuracy by kind of problem; nothing where there is one kind alone."""
    kinds = result["by"]
    rows = [[f"  {kind}", f"{value:.3f}"] for kind, value in kinds.items()]
    return aligned(rows) if len(rows) > 1 else []


def _number(value: float | None, form: str = ".3f") -> str:
    return "-" if value is None else format(value, form)


def _interval(result: Result) -> str:
    low, high = result.get("interval") or (None, None)
    return "-" if low is None or high is None else f"{low:.3f} to {high:.3f}"


_COLUMNS: dict[str, Callable[[Result], str]] = {
    "environment": str,
    "split": lambda result: result["split"],
    "problems": lambda result: str(result["num_problems"]),
    "accuracy": lambda result: _number(result["accuracy"]),
    "95% ": _interval,
    "pass@k": lambda result: _number(result["pass@k"][str(result["num_samples"])]),
    "official": lambda result: _number((result["official"] or {}).get("accuracy")),
    "95%": lambda result: _interval(result["official"] or {}),
    "cut": lambda result: _number(result["truncated"]),
    "tokens": lambda result: _number(result["length_mean"], ".1f"),
    "responses/s": lambda result: _number(result["throughput/responses_per_s"], ".1f"),
}
"""What stands in each column; the two intervals differ by a space, which is not shown."""
