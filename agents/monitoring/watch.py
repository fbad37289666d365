"""A run that watches itself: what its metrics warn of, and whether it goes on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from agents.monitoring.collapse import Finding, Mode, action, history, unknown
from agents.monitoring.logs import plain


@dataclass(frozen=True)
class Judgement:
    """What is done after a step."""

    action: str = "continue"
    """Or "stop", or "rollback"."""
    found: Sequence[Finding] = ()
    """What was found for the first time."""
    reason: str = ""
    """Why the run does not go on, in one line."""


@dataclass
class Watch:
    """The metrics of a run's steps so far, and what has been said of them."""

    mode: Mode
    max_skipped: int
    """Optimizer steps in a row without a finite gradient after which the run stops."""
    rows: list[Any] = field(default_factory=list)
    """Metrics of each step, with its number."""
    told: set[str] = field(default_factory=set)
    """Kinds of findings that were made; each is told once."""

    def __post_init__(self) -> None:
        """What a resumed run has shown before is not told again."""
        self.told |= {finding.kind for finding in history(self.rows)}

    def see(self, step: int, metrics: Mapping[str, Any]) -> Judgement:
        """Judges the run after one more step."""
        self.rows.append({"step": step, **plain(metrics)})
        if self._num_skipped() >= self.max_skipped:
            return Judgement("stop", reason=self._skipped())
        found = unknown(self.rows, self.told)
        self.told |= {finding.kind for finding in found}
        reason = next((str(finding) for finding in found if finding.collapse), "")
        return Judgement(action(found, self.mode), found, reason)

    def back_to(self, step: int) -> None:
        """Forgets what came after a step, to which the run has gone back."""
        self.rows = [row for row in self.rows if row["step"] <= step]
        self.told = {finding.kind for finding in history(self.rows)}

    def _num_skipped(self) -> int:
        """Optimizer steps without a finite gradient since the last update that made another."""
        # The norm of a step is the mean of those that are finite, and None where there is none.
        lost = takewhile(
            lambda row: row.get("train/skipped") and row.get("train/grad_norm") is None,
            reversed(self.rows),
        )
        return sum(int(row["train/skipped"]) for row in lost)

    def _skipped(self) -> str:
        return (
            f"the gradients of {self.max_skipped} optimizer steps in a row were not finite, and "
            "they were skipped: lower --learning-rate, or look for a loss that overflows"
        )
