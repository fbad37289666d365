"""Collapse detection: warnings from a run's metrics, and the decision to continue or stop.

The rules, their thresholds and sources are in `agents.monitoring.collapse_rules`.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Literal

from agents.monitoring.collapse_rules import RULES, MetricHistory, Row
from agents.storage.json_files import json_value

Mode = Literal["warn", "stop", "rollback"]


@dataclass(frozen=True)
class CollapseWarning:
    """A collapse, or a waste of compute, that a rule has detected."""

    kind: str
    """Name of the rule, such as 'ratio'."""
    step: int
    """Step of the detection."""
    onset: int
    """First step of the window that shows it."""
    collapse: bool
    """True if the run is lost unless it changes, False if it only wastes compute."""
    evidence: str
    """Metrics, their values and thresholds."""
    advice: str
    """Likely cause and remedy."""

    def __str__(self) -> str:
        """One line."""
        steps = (
            f"steps {self.onset} to {self.step}" if self.onset < self.step else f"step {self.step}"
        )
        return f"{self.kind}, {steps}: {self.evidence}. {self.advice}"


def current_warnings(rows: Sequence[Row]) -> list[CollapseWarning]:
    """Warnings of the last steps, as many as each rule looks at.

    Args:
        rows: Metrics of all steps so far, in order, each with its `step`.
    """
    return _warnings(rows, MetricHistory.from_rows(rows))


def all_warnings(rows: Sequence[Row]) -> list[CollapseWarning]:
    """Warnings of a whole run, each kind at its first detection."""
    warnings: dict[str, CollapseWarning] = {}
    history = MetricHistory.from_rows(rows)
    for num_steps in range(1, len(rows) + 1):
        for warning in _warnings(rows, replace(history, num_steps=num_steps)):
            warnings.setdefault(warning.kind, warning)
    return list(warnings.values())


def _warnings(rows: Sequence[Row], history: MetricHistory) -> list[CollapseWarning]:
    end = history.num_steps
    return [
        CollapseWarning(
            rule.kind,
            int(rows[end - 1]["step"]),
            int(rows[end - rule.window]["step"]),
            rule.collapse,
            evidence,
            rule.advice,
        )
        for rule in RULES
        if end >= rule.window and (evidence := rule.evidence(history))
    ]


def checkpoint_before(
    warnings: Sequence[CollapseWarning], checkpoints: Collection[int]
) -> int | None:
    """Step of the last checkpoint before the onset of any collapse; None if there is none."""
    onset = min((warning.onset for warning in warnings if warning.collapse), default=math.inf)
    return max((step for step in checkpoints if step < onset), default=None)


@dataclass(frozen=True)
class Decision:
    """Decision after a step."""

    action: Literal["continue", "stop", "rollback"] = "continue"
    warnings: Sequence[CollapseWarning] = ()
    """New ones."""
    reason: str = ""
    """Cause of a stop or rollback, in one line."""


@dataclass
class CollapseMonitor:
    """Checks the metrics of a run after each step, and reports each kind of warning once."""

    mode: Mode
    max_skipped: int
    """Consecutive optimizer steps without a finite gradient after which the run stops."""
    rows: list[Any] = field(default_factory=list)
    """Metrics of each step, with its number."""

    def __post_init__(self) -> None:
        """Counts the warnings of a resumed run's earlier steps as reported."""
        self._kinds = {warning.kind for warning in all_warnings(self.rows)}

    def update(self, step: int, metrics: Mapping[str, Any]) -> Decision:
        """Adds the metrics of one step and decides; only a collapse stops or rolls back."""
        self.rows.append({"step": step, **json_value(metrics)})
        # The norm of a step is the mean of those that are finite, and None where there is none.
        lost = takewhile(
            lambda row: row.get("train/skipped") and row.get("train/grad_norm") is None,
            reversed(self.rows),
        )
        if sum(int(row["train/skipped"]) for row in lost) >= self.max_skipped:
            reason = (
                f"the gradients of {self.max_skipped} optimizer steps in a row were not finite, "
                "and they were skipped: lower --learning-rate, or look for a loss that overflows"
            )
            return Decision("stop", reason=reason)
        warnings = [w for w in current_warnings(self.rows) if w.kind not in self._kinds]
        self._kinds |= {warning.kind for warning in warnings}
        reason = next((str(warning) for warning in warnings if warning.collapse), "")
        action = "continue" if not reason or self.mode == "warn" else self.mode
        return Decision(action, warnings, reason)

    def rewind(self, step: int) -> None:
        """Drops the metrics and warnings of all steps after a rollback's checkpoint."""
        self.rows = [row for row in self.rows if row["step"] <= step]
        self.__post_init__()
