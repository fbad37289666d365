"""Collapse detection: rules on a run's last metrics, and the decision to continue or stop.

Training of language models by reward fails in ways that the metrics show. The rules follow the
failure signatures of

- Liu et al., CPGD (arXiv:2505.12504), section 4.2 and figure 1: policy ratios explode before RLOO,
  REINFORCE++ and GRPO collapse; without a clip the ratio is calm and the responses shrink to a lone
  `<think>` that earns the reward for format; about 1 % of the tokens are clipped in a good run;
- Zhang et al., RPG (arXiv:2505.17508): the KL divergence explodes, the entropy collapses;
- Yu et al., DAPO (arXiv:2503.14476), section 3: entropy falls, groups become all right or all
  wrong, responses run into the length limit.

The thresholds lie outside the range of successful runs, whose records are under `benchmarks/`. On
Figures-v0, 39 of 30 steps with thirteen algorithms and 6 of 150 steps with CPGD, they lie well
outside: `policy/kl_old` was 0.017 at most, entropy fell to 8.6 % of its start as accuracy rose to
0.98 and never doubled, mean length stayed within a third of its start, and accuracy never fell by a
half. A pretrained model that learns WordProblems-v0 from an accuracy of 0.05 moves further: half of
its first responses are cut off, five steps later their mean length is a third, and entropy ends at
5 % of its start, 0.1 nats, while accuracy still rises. What is said below of cut responses, of the
first ten steps and of the least entropy comes from these runs.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from statistics import median
from typing import Any, Literal, NamedTuple

from agents.storage.json_files import json_value

Mode = Literal["warn", "stop", "rollback"]
WINDOW = 5
"""Steps in the moving median of a metric, so that a single odd step triggers no rule."""
Row = Mapping[str, Any]
"""Metrics of a step; one that is missing or None triggers no rule."""


class _History(NamedTuple):
    """Metrics of the first steps of a run. A missing value is NaN, and comparisons with it fail."""

    columns: Mapping[str, Sequence[float]]
    """Values of each metric at all steps."""
    num_steps: int
    """Steps to consider."""

    def last(self, name: str) -> float:
        """Value at the last step."""
        return self.columns[name][self.num_steps - 1] if name in self.columns else math.nan

    def initial(self, name: str) -> float:
        """Median over the first `WINDOW` steps; NaN before step 2 `WINDOW`."""
        return self._median(name, 0) if self.num_steps >= 2 * WINDOW else math.nan

    def recent(self, name: str) -> float:
        """Median over the last `WINDOW` steps."""
        return self._median(name, self.num_steps - WINDOW)

    def best(self, name: str) -> float:
        """Highest mean over consecutive blocks of `WINDOW` steps, except the last `WINDOW`."""
        values = self.columns.get(name, ())
        starts = range(0, self.num_steps - 2 * WINDOW + 1, WINDOW)
        sums = (sum(values[i : i + WINDOW]) for i in starts) if values else ()
        return max((s for s in sums if not math.isnan(s)), default=math.nan) / WINDOW

    def above(self, name: str, bound: float, unit: str = "") -> str:
        """Words on a recent value above a bound, else ""."""
        value = self.recent(name)
        return f"{name} is {value:.3g}{unit}, above {bound:g}" if value > bound else ""

    def _median(self, name: str, first: int) -> float:
        values = self.columns.get(name, ())[max(0, first) : first + WINDOW]
        numbers = [value for value in values if not math.isnan(value)]
        return median(numbers) if len(numbers) > WINDOW // 2 else math.nan


class _Rule(NamedTuple):
    """A check of the metrics and the advice that it gives."""

    kind: str
    evidence: Callable[[_History], str]
    """Metrics, their values and thresholds in words; empty if the rule does not fire."""
    advice: str
    """Likely cause and remedy."""
    collapse: bool
    """True if the run is lost unless it changes, False if it only wastes compute."""
    window: int
    """Number of the last steps that it looks at; it does not fire before."""


RULES: list[_Rule] = []
"""All rules."""


def _rule(advice: str, *, collapse: bool = True, window: int = WINDOW) -> Callable[[Any], Any]:
    """Decorator of a rule's evidence, whose name is its kind; see `_Rule`."""
    return lambda evidence: RULES.append(
        _Rule(evidence.__name__[1:], evidence, advice, collapse, window)
    )


@_rule(
    "The policy moves too far within an update: lower --learning-rate, use a clip that bounds "
    "the ratio (CPGD, or a dual clip), or larger minibatches"
)
def _ratio(history: _History) -> str:
    """A ratio above 10 or below 0.01.

    Every cap in use is below 10: 3 in CPGD's drift and dual clip, 10 in RPG's. A loss that is
    linear in the ratio has the variance of the largest ratio. A small ratio is harmless to the
    loss and only measures policy drift, hence the wider bound.
    """
    lowest = history.recent("policy/ratio_min")
    is_low = f"policy/ratio_min is {lowest:.2g}, below 0.01" if lowest < 0.01 else ""
    return history.above("policy/ratio_max", 10) or is_low


@_rule(
    "The updates are too large for the KL term or the clip to hold: lower --learning-rate, "
    "clip, or raise beta or the drift coefficient"
)
def _kl(history: _History) -> str:
    """A divergence of an update above 0.1 nats a token, where good runs stay below 0.01."""
    unit = " nats a token"
    return history.above("policy/kl_old", 0.1, unit) or history.above("policy/kl_ref", 1, unit)


@_rule("Responses turn into noise: lower --learning-rate, or subtract the group's mean reward")
def _entropy_rise(history: _History) -> str:
    """Entropy above three times its initial value, and at least 0.2 nats above it."""
    initial, recent = history.initial("policy/entropy"), history.recent("policy/entropy")
    if not recent > max(3 * initial, initial + 0.2):
        return ""
    return f"policy/entropy is {recent:.3g} nats, {recent / initial:.1f} times that of the start"


@_rule(
    "Sampling has become greedy: raise --clip-high above --clip-low (DAPO), lower "
    "--learning-rate, check --temperature, or give more varied problems",
    collapse=False,
)
def _entropy_fall(history: _History) -> str:
    """Entropy below 0.05 nats and a twentieth of its initial value, at an accuracy below 0.9.

    At a higher accuracy, low entropy is the normal end of learning; above 0.05 nats a token, groups
    still hold different responses.
    """
    initial, recent = history.initial("policy/entropy"), history.recent("policy/entropy")
    accuracy = history.recent("reward/accuracy")
    if not (recent < 0.05 and recent < initial / 20 and accuracy < 0.9):
        return ""
    return f"policy/entropy fell from {initial:.3g} to {recent:.2g} nats at accuracy {accuracy:.2f}"


@_rule(
    "The policy has collapsed: look at the other warnings and at the responses, go back to a "
    "checkpoint, and lower --learning-rate or add a clip"
)
def _accuracy(history: _History) -> str:
    """Accuracy below half of its best, where the best is above 0.1: a lower one may be luck."""
    best, recent = history.best("reward/accuracy"), history.recent("reward/accuracy")
    is_low = best > 0.1 and recent < best / 2
    return f"reward/accuracy fell from {best:.2f} to {recent:.2f}" if is_low else ""


@_rule(
    "The format reward is earned without right answers: lower its weight, or pay it only "
    "with a right answer; look at the responses"
)
def _hacking(history: _History) -> str:
    """Accuracy down by a fifth while the format reward rises, or by half while it stays high."""
    initial, recent = history.initial("reward/format"), history.recent("reward/format")
    best, accuracy = history.best("reward/accuracy"), history.recent("reward/accuracy")
    drop = max(0.05, best / 5) if recent > initial + 0.1 else max(0.1, best / 2)
    if not (recent > max(0.5, initial - 0.05) and accuracy < best - drop):
        return ""
    return (
        f"reward/format went from {initial:.2f} to {recent:.2f} while reward/accuracy fell from "
        f"{best:.2f} to {accuracy:.2f}"
    )


@_rule(
    "Short responses earn as much, as with a format reward alone or without a clip: look at "
    "the responses, clip (--clip-low, --clip-high), lower the weight of format"
)
def _shrinking(history: _History) -> str:
    """Responses below a third of their initial length without a gain in accuracy.

    Where a quarter or more of the first ones were cut off at the length limit, they have to become
    shorter: that is no sign of a collapse.
    """
    name, accuracy = "response/length_mean", "reward/accuracy"
    initial, recent = history.initial(name), history.recent(name)
    has_gain = history.recent(accuracy) > history.initial(accuracy) + 0.05
    is_cut = history.initial("response/truncated") >= 0.25
    if not recent < initial / 3 or has_gain or is_cut:
        return ""
    return f"{name} fell from {initial:.4g} to {recent:.4g} tokens"


@_rule(
    "Truncated responses earn no reward: raise --max-response-length, or use --overlong-buffer",
    collapse=False,
)
def _truncated(history: _History) -> str:
    """At least half of the responses cut off at the length limit, before their answer.

    Not within the first two windows, in which a model may still learn the limit.
    """
    recent, is_late = history.recent("response/truncated"), history.num_steps >= 2 * WINDOW
    return f"response/truncated is {recent:.2f}, at least 0.5" if is_late and recent >= 0.5 else ""


@_rule(
    "Groups of equal rewards have no advantage: if that goes on, choose easier or harder "
    "problems, raise --group-size, or sample more with --max-generations",
    collapse=False,
    window=1,
)
def _no_signal(history: _History) -> str:
    """No optimizer step of the last update had a signal: there was nothing to learn."""
    if history.last("train/no_signal") != 1:
        return ""
    is_equal = history.last("rollout/mixed") == 0
    kind = "both right and wrong responses" if is_equal else "different rewards"
    return f"no group with {kind}: nothing to learn (train/no_signal is 1)"


@_rule(
    "Sampler and trainer have different policies: check precision, weights, --top-p and "
    "--top-k, or use --sampler-correction",
    collapse=False,
)
def _sampler(history: _History) -> str:
    """Log-probabilities 0.05 nats apart; about 1e-6 in float32, but for updates between them."""
    is_stale = "staleness/age" in history.columns
    return "" if is_stale else history.above("sampler/log_prob_diff_mean", 0.05, " nats")


@_rule("Gradients overflow: look at the loss and the ratios before, lower --learning-rate")
def _skipped(history: _History) -> str:
    """Most updates skipped a step whose gradient was not finite."""
    is_most = history.recent("train/skipped") > 0
    return "most of the last updates skipped a step (train/skipped)" if is_most else ""


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
        steps = f"steps {self.onset} to" if self.onset < self.step else "step"
        return f"{self.kind}, {steps} {self.step}: {self.evidence}. {self.advice}"


def current_warnings(rows: Sequence[Row]) -> list[CollapseWarning]:
    """Warnings of the last steps, as many as each rule looks at.

    Args:
        rows: Metrics of all steps so far, in order, each with its `step`.
    """
    return _warnings(rows, _History(_columns(rows), len(rows)))


def all_warnings(rows: Sequence[Row]) -> list[CollapseWarning]:
    """Warnings of a whole run, each kind at its first detection."""
    warnings: dict[str, CollapseWarning] = {}
    columns = _columns(rows)
    for num_steps in range(1, len(rows) + 1):
        for warning in _warnings(rows, _History(columns, num_steps)):
            warnings.setdefault(warning.kind, warning)
    return list(warnings.values())


def _columns(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Values of each metric at all steps."""
    names = {name for row in rows for name in row}
    values = {name: [row.get(name) for row in rows] for name in names}
    return {
        name: [float(v) if isinstance(v, int | float) else math.nan for v in column]
        for name, column in values.items()
    }


def _warnings(rows: Sequence[Row], history: _History) -> list[CollapseWarning]:
    end = history.num_steps
    found = ((rule, rule.evidence(history)) for rule in RULES if end >= rule.window)
    return [
        CollapseWarning(
            rule.kind,
            int(rows[end - 1]["step"]),
            int(rows[end - rule.window]["step"]),
            rule.collapse,
            evidence,
            rule.advice,
        )
        for rule, evidence in found
        if evidence
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
