"""The guard of a run: which signs of collapse its steps have shown, and what is done about them.

Pure functions of the rows of `metrics.jsonl`; the signs and their sources are in
`agents.monitoring.collapse_rules`.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agents.monitoring.collapse_rules import RULES, WINDOW, Past, Row, seen

Mode = Literal["warn", "stop", "rollback"]
Action = Literal["continue", "stop", "rollback"]


@dataclass(frozen=True)
class Finding:
    """A sign of trouble in a run."""

    kind: str
    """Name of the rule, such as 'ratio'."""
    step: int
    """In which it was found."""
    onset: int
    """The first of the steps that show it."""
    collapse: bool
    """Whether the run is lost if it goes on so, or only wastes time."""
    evidence: str
    """Metrics, their values and what they are held against."""
    advice: str
    """The likely cause, and what to do."""

    def __str__(self) -> str:
        """One line."""
        return f"{self.kind}, steps {self.onset} to {self.step}: {self.evidence}. {self.advice}"


def findings(rows: Sequence[Row]) -> list[Finding]:
    """What the last steps of a run show; nothing before `WINDOW` steps are done.

    Args:
        rows: Metrics of all steps so far, in order, each with its `step`.
    """
    return _found(rows, seen(rows))


def unknown(rows: Sequence[Row], told: Collection[str]) -> list[Finding]:
    """Those of `findings` whose kinds have not been told: each is told once in a run."""
    return [finding for finding in findings(rows) if finding.kind not in told]


def history(rows: Sequence[Row]) -> Iterator[Finding]:
    """The findings of a run as it went, each kind when it was first found."""
    told: set[str] = set()
    whole = seen(rows)
    for end in range(WINDOW, len(rows) + 1):
        for finding in _found(rows, replace(whole, end=end)):
            if finding.kind not in told:
                told.add(finding.kind)
                yield finding


def _found(rows: Sequence[Row], past: Past) -> list[Finding]:
    if past.end < WINDOW:
        return []
    step, onset = int(rows[past.end - 1]["step"]), int(rows[past.end - WINDOW]["step"])
    return [
        Finding(rule.__name__, step, onset, collapse, evidence, advice)
        for rule, (collapse, advice) in RULES.items()
        if (evidence := rule(past))
    ]


def action(found: Sequence[Finding], mode: Mode) -> Action:
    """What a run does about its new findings: only a collapse stops it or takes it back."""
    if mode == "warn" or not any(finding.collapse for finding in found):
        return "continue"
    return mode


def checkpoint_before(found: Sequence[Finding], checkpoints: Collection[int]) -> int | None:
    """The last checkpoint, by its step, that no collapse has touched; None where there is none."""
    onset = min((finding.onset for finding in found if finding.collapse), default=math.inf)
    return max((step for step in checkpoints if step < onset), default=None)
