"""Signs that a run is collapsing, in the metrics of its last steps.

Training of language models by reward fails in ways that the metrics show. The rules follow the
failure signatures of

- Liu et al., CPGD (arXiv:2505.12504), section 4.2 and figure 1: policy ratios explode before RLOO,
  REINFORCE++ and GRPO collapse; without a clip the ratio is calm and the responses shrink to a lone
  `<think>` that earns the reward for format; about 1 % of the tokens are clipped in a good run;
- Zhang et al., RPG (arXiv:2505.17508): the KL divergence explodes, the entropy collapses;
- Yu et al., DAPO (arXiv:2503.14476), section 3: entropy falls, groups become all right or all
  wrong, responses run into the length limit.

The thresholds lie well outside what runs that learned have shown: 39 of 30 steps with thirteen
algorithms and 6 of 150 steps with CPGD on Figures-v0, under `benchmarks/`. There `policy/kl_old`
was 0.017 at most, entropy fell to 8.6 % of its start as accuracy rose to 0.98 and never doubled,
mean length stayed within a third of its start, and accuracy never fell by a half.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

WINDOW = 5
"""Steps that a sign must last, about; medians over them pass over a single odd step."""
Row = Mapping[str, Any]
"""Metrics of a step; what is missing or None says nothing."""
LOST = "train/lost"


@dataclass(frozen=True)
class Past:
    """The first steps of a run; a metric that is not there is NaN, of which no rule is true."""

    columns: Mapping[str, Sequence[float]]
    """Each metric of all steps."""
    end: int
    """Number of steps that are past."""

    def start(self, name: str) -> float:
        """Median over the first steps; NaN until they are over."""
        return self._median(name, 0) if self.end >= 2 * WINDOW else math.nan

    def now(self, name: str) -> float:
        """Median over the last steps."""
        return self._median(name, self.end - WINDOW)

    def best(self, name: str) -> float:
        """The highest mean over `WINDOW` steps, one stretch after another, before the last."""
        values = self.columns.get(name, ())
        starts = range(0, self.end - 2 * WINDOW + 1, WINDOW)
        sums = (sum(values[i : i + WINDOW]) for i in starts) if values else ()
        return max((s for s in sums if not math.isnan(s)), default=math.nan) / WINDOW

    def _median(self, name: str, first: int) -> float:
        values = self.columns.get(name, ())[max(0, first) : first + WINDOW]
        known = [value for value in values if not math.isnan(value)]
        return median(known) if len(known) > WINDOW // 2 else math.nan


def seen(rows: Sequence[Row]) -> Past:
    """All steps of a run; `LOST` tells the updates that skipped an optimizer step."""
    names = {name for row in rows for name in row}
    columns = {name: [_number(row.get(name)) for row in rows] for name in names}
    # Before there was train/skipped, a gradient that was not finite stood in the log as null.
    columns[LOST] = [
        float(bool(row.get("train/skipped")) or row.get("train/grad_norm", 0.0) is None)
        for row in rows
    ]
    return Past(columns, len(rows))


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def ratio(past: Past) -> str:
    """Importance ratios beyond every cap in use: 3 in CPGD's drift and dual clip, 10 in RPG's.

    A loss that is linear in the ratio then has the variance of its largest; a small ratio is
    harmless to it and only tells how far the policy has moved, hence the wider bound.
    """
    high, low = past.now("policy/ratio_max"), past.now("policy/ratio_min")
    if high > 10:
        return f"policy/ratio_max is {high:.3g}, above 10"
    return f"policy/ratio_min is {low:.2g}, below 0.01" if low < 0.01 else ""


def kl(past: Past) -> str:
    """A policy that moves by a tenth of a nat a token in one update, or by one from its reference.

    Runs that learned moved by less than a hundredth nearly always.
    """
    old, ref = past.now("policy/kl_old"), past.now("policy/kl_ref")
    if old > 0.1:
        return f"policy/kl_old is {old:.3g} nats a token, above 0.1"
    return f"policy/kl_ref is {ref:.3g} nats a token, above 1" if ref > 1 else ""


def entropy_rise(past: Past) -> str:
    """Responses turn to noise: entropy three times that of the start, and 0.2 nats above it."""
    start, now = past.start("policy/entropy"), past.now("policy/entropy")
    if now > 3 * start and now > start + 0.2:
        return f"policy/entropy is {now:.3g} nats, {now / start:.1f} times that of the start"
    return ""


def entropy_fall(past: Past) -> str:
    """Nothing is tried any more though much is wrong: a twentieth of the entropy of the start.

    Where nearly all is right it is what learning looks like.
    """
    start, now = past.start("policy/entropy"), past.now("policy/entropy")
    accuracy = past.now("reward/accuracy")
    if now < start / 20 and accuracy < 0.9:
        return f"policy/entropy fell from {start:.3g} to {now:.2g} nats at accuracy {accuracy:.2f}"
    return ""


def accuracy(past: Past) -> str:
    """Half of the best accuracy is lost; a best below a tenth may be luck."""
    best, now = past.best("reward/accuracy"), past.now("reward/accuracy")
    if best > 0.1 and now < best / 2:
        return f"reward/accuracy fell from {best:.2f} to {now:.2f}"
    return ""


def hacking(past: Past) -> str:
    """Format rises and a fifth of accuracy goes, or format stays and a half goes."""
    form, now = past.start("reward/format"), past.now("reward/format")
    if not now > max(0.5, form - 0.05):
        return ""
    best, right = past.best("reward/accuracy"), past.now("reward/accuracy")
    lost = max(0.05, best / 5) if now > form + 0.1 else max(0.1, best / 2)
    if not right < best - lost:
        return ""
    return (
        f"reward/format went from {form:.2f} to {now:.2f} while reward/accuracy fell from "
        f"{best:.2f} to {right:.2f}"
    )


def shrinking(past: Past) -> str:
    """Responses have a third of their first length, and accuracy has gained nothing by it."""
    start, now = past.start("response/length_mean"), past.now("response/length_mean")
    if now < start / 3 and not _gained(past):
        return f"response/length_mean fell from {start:.4g} to {now:.4g} tokens"
    return ""


def growing(past: Past) -> str:
    """Responses have three times their first length, and accuracy has gained nothing by it."""
    start, now = past.start("response/length_mean"), past.now("response/length_mean")
    if now > 3 * start and not _gained(past):
        return f"response/length_mean rose from {start:.4g} to {now:.4g} tokens"
    return ""


def truncated(past: Past) -> str:
    """At least half of the responses end at the length limit, where no answer stands."""
    now = past.now("response/truncated")
    return f"response/truncated is {now:.2f}, at least 0.5" if now >= 0.5 else ""


def equal_groups(past: Past) -> str:
    """Nearly all groups are all right or all wrong, and have no advantage, before all is solved."""
    mixed, right = past.now("rollout/mixed"), past.now("reward/accuracy")
    if mixed < 0.1 and right < 0.9:
        return f"rollout/mixed is {mixed:.2f}, below 0.1, at accuracy {right:.2f}"
    return ""


def sampler(past: Past) -> str:
    """Sampler and trainer differ by a twentieth of a nat a token; in float32 it is a millionth."""
    now = past.now("sampler/log_prob_diff_mean")
    return f"sampler/log_prob_diff_mean is {now:.3g} nats, above 0.05" if now > 0.05 else ""


def skipped(past: Past) -> str:
    """Most of the last updates had an optimizer step whose gradient was no number."""
    lost = int(sum(past.columns[LOST][past.end - WINDOW : past.end]))
    return f"{lost} of the last {WINDOW} updates skipped a step" if lost > WINDOW // 2 else ""


def _gained(past: Past) -> bool:
    return past.now("reward/accuracy") > past.start("reward/accuracy") + 0.05


Rule = Callable[[Past], str]
"""Evidence, or nothing."""
RULES: dict[Rule, tuple[bool, str]] = {
    ratio: (
        True,
        "The policy moves too far within an update: lower --learning-rate, use a clip that bounds "
        "the ratio (CPGD, or a dual clip), or larger minibatches",
    ),
    kl: (
        True,
        "The updates are too large for the KL term or the clip to hold: lower --learning-rate, "
        "clip, or raise beta or the drift coefficient",
    ),
    entropy_rise: (
        True,
        "The policy unlearns its language: lower --learning-rate, subtract the group's mean",
    ),
    entropy_fall: (
        False,
        "Sampling has become greedy: raise --clip-high above --clip-low (DAPO), lower "
        "--learning-rate, check --temperature, or give more varied problems",
    ),
    accuracy: (
        True,
        "The policy has collapsed: look at the other findings and at the responses, go back to a "
        "checkpoint, and lower --learning-rate or add a clip",
    ),
    hacking: (
        True,
        "The reward pays for form without substance: lower the weight of format, or require a "
        "right answer for it; see what the responses have become",
    ),
    shrinking: (
        True,
        "Short responses earn as much, as with rewards for format alone or without a clip: look at "
        "the responses, clip (--clip-low, --clip-high), weigh format less",
    ),
    growing: (
        False,
        "Length is rewarded or no longer bounded: look for repetition, use --overlong-buffer, or a "
        "reduction that does not favour long responses",
    ),
    truncated: (
        False,
        "Cut responses earn nothing: raise --max-response-length, or shape by --overlong-buffer",
    ),
    equal_groups: (
        False,
        "Equal groups teach nothing: choose problems of middling difficulty, raise --group-size, "
        "or sample more by --max-generations (dynamic sampling)",
    ),
    sampler: (
        False,
        "The sampler is not the policy: check precision, weights, and --top-p and --top-k, or "
        "correct by --sampler-correction",
    ),
    skipped: (
        True,
        "Gradients overflow: look at the loss and the ratios before it, lower --learning-rate",
    ),
}
