"""DPPO, a learner and a command: python -m agents dppo --help."""

from dataclasses import dataclass
from typing import Literal

import torch

from agents.advantages import Advantage, centered
from agents.learner import GroupLearner
from agents.losses import record_clipped
from agents.reductions import Reduction, constant_length
from agents.rollout import Batch, PerToken


def binary_tv(log_prob: PerToken, anchor: PerToken) -> PerToken:
    """|π - μ|: the total variation of "this token" against "any other"."""
    return (log_prob.exp() - anchor.exp()).abs()


def binary_kl(log_prob: PerToken, anchor: PerToken) -> PerToken:
    """μ ln(μ / π) + (1 - μ) ln((1 - μ) / (1 - π)): KL(μ || π) of the same."""
    new, old = (1 - x.exp() for x in (log_prob, anchor))
    rest = (old.clamp(min=SMALLEST) / new.clamp(min=SMALLEST)).log()
    return anchor.exp() * (anchor - log_prob) + old * rest


SMALLEST = 1e-8
"""Least probability of any other token, as in the released code."""
DISTANCES = {"tv": binary_tv, "kl": binary_kl}
"""Distances of a policy from μ, by their names."""


@dataclass(frozen=True, kw_only=True)
class DPPO(GroupLearner):
    """Divergence proximal policy optimization: a trust region of probabilities, not of ratios.

    A ratio says little about a distribution: of a rare token it soon doubles and changes nothing,
    of a likely one it moves a little and changes much. With the sampler's μ, w = π / μ and the
    distance of the two distributions over "this token" and "any other", a token's loss is

        -sg(min(w, c)) A ln π

    and 0 where the distance exceeds δ_high and A > 0 has pushed π above μ, or δ_low and A <= 0 has
    pushed it below. Ratio and region are those of the sampler, which needs no pass for π_old.
    A = R - mean of the group.

    The distance is the total variation |π - μ|, or, with δ 0.05, KL(μ || π); the paper's top-k
    forms, which need the sampler's probabilities of other tokens, are left out. c is 20 in verl,
    10 in the authors' code, whose script sets 10,000; L of the reduction is that of Dr. GRPO.
    verl's `dppo_tv` compares with π_old: the same where that is the sampler.

    Source: DPPO (arXiv:2602.04879); released code: sail-sg/Stable-RL.
    """

    advantage_function: Advantage = centered
    """A: centered, or another function of the group's rewards."""
    reduction: Reduction = constant_length(3000)  # noqa: RUF009 - frozen
    """From the losses of tokens to a scalar."""
    distance: Literal["tv", "kl"] = "tv"
    """The binary total variation, or the binary KL divergence."""
    delta_low: float = 0.15
    """δ_low >= 0, for tokens that have become less likely; inf for no bound."""
    delta_high: float = 0.15
    """δ_high >= 0, for tokens that have become more likely; inf for no bound."""
    ratio_cap: float = 20.0
    """c > 0, the largest weight."""

    @property
    def uses_sampler(self) -> bool:
        """True: the loss compares with the sampler's probabilities."""
        return True

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above; without a sampler's μ, π_old is its."""
        anchor = batch.old_log_prob if batch.sampler_log_prob is None else batch.sampler_log_prob
        new, advantage = log_prob.detach(), batch.advantage
        distance = DISTANCES[self.distance](new, anchor)
        above = (distance > self.delta_high) & (new > anchor)
        below = (distance > self.delta_low) & (new < anchor)
        outside = torch.where(advantage > 0, above, below)
        record_clipped(outside & (advantage != 0))
        weight = (new - anchor).exp().clamp(max=self.ratio_cap)
        return (-weight * advantage * log_prob).where(~outside, 0.0)
