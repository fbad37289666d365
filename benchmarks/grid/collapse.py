"""What counts as a collapse; written down before any run of a study was made.

A run has collapsed at step t when one of these is true for the first time:

- accuracy: the mean accuracy of the training responses over the 10 steps that end with t is below
  half of the best so far, which is the largest of such means and of the accuracy of step 1, whose
  responses the warm start gave;
- numbers: a loss or a gradient of step t is not finite, which the log writes as null, or counts in
  `train/skipped`.

A collapse of accuracy is one into `form` where the mean of the format reward over the same steps is
at least 0.5: the responses keep the shape that is paid for and lose the answer. Else it is one into
`noise`. It is `lasting` when accuracy is below half of the best at the end of the run too, or the
run ended before its last step. Length is not a part of it: that responses become short, without a
loss of accuracy, is told by `shrunk`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WINDOW = 10
"""Steps of a mean."""
Steps = Mapping[str, Sequence[float | None]]
"""Metrics, each over all steps of a run."""


@dataclass(frozen=True)
class Collapse:
    """When and how a run collapsed."""

    step: int
    """The first, from 1, at which it is true."""
    kind: str
    """'form', 'noise' or 'numbers'."""
    lasting: bool
    """Whether it is true at the end too."""


def collapse(steps: Steps, num_steps: int) -> Collapse | None:
    """The first collapse of a run; None where there is none.

    Args:
        steps: `reward/accuracy`, and where they are known `reward/format`, `train/loss`,
            `train/grad_norm` and `train/skipped`.
        num_steps: That the run was meant to have.
    """
    accuracy = [value or 0.0 for value in steps["reward/accuracy"]]
    best, lost = 0.0, []
    for end in range(1, len(accuracy) + 1):
        now = window_mean(accuracy, end)
        if end == 1 or end >= WINDOW:
            best = max(best, now)
        lost.append(end >= WINDOW and now < best / 2)
    broken = not_finite(steps)
    for step, (low, odd) in enumerate(zip(lost, broken, strict=True), 1):
        if low or odd:
            early = len(accuracy) < num_steps
            return Collapse(step, _kind(steps, step, odd), early or lost[-1])
    return None


def shrunk(steps: Steps) -> bool:
    """Whether the last responses have less than a third of the length of the first, in the mean."""
    lengths = [value or 0.0 for value in steps["response/length_mean"]]
    return window_mean(lengths, len(lengths)) < window_mean(lengths, WINDOW) / 3


def not_finite(steps: Steps) -> list[bool]:
    """Of each step, whether a loss or a gradient was no number."""
    count = len(steps["reward/accuracy"])
    found = [False] * count
    for name in ("train/loss", "train/grad_norm"):
        for place, value in enumerate(steps.get(name, ())):
            found[place] |= value is None
    for place, value in enumerate(steps.get("train/skipped", ())):
        found[place] |= bool(value)
    return found


def window_mean(values: Sequence[float], end: int) -> float:
    """Mean of the `WINDOW` values before place `end`, or of as many as there are."""
    part = values[max(0, end - WINDOW) : end]
    return sum(part) / len(part) if part else 0.0


def _kind(steps: Steps, step: int, odd: bool) -> str:
    if odd:
        return "numbers"
    form = [value or 0.0 for value in steps.get("reward/format", ())]
    return "form" if window_mean(form, step) >= 0.5 else "noise"
