"""Clip-Cov, a learner and a command: python -m agents clip_cov --help."""

from dataclasses import dataclass

import torch

from agents.advantages import AllReduce, largest
from agents.grpo import GRPO
from agents.losses import masked, record_clipped
from agents.reductions import Reduction, token_mean
from agents.rollout import Batch, PerToken


@dataclass(frozen=True, kw_only=True)
class ClipCov(GRPO):
    """GRPO without the gradient of a few tokens that would cost the most entropy.

    Entropy falls where likely tokens have high advantages: by the covariance of ln π and A. With
    cov = (A - mean of A)(ln π - mean of ln π), means over all tokens of the rollout, tokens whose
    cov is within (low, high) and which PPO's clip leaves are eligible; of these, `share` of all
    tokens, at least one, are drawn at random. Their loss is 0, and they stay in the denominator.

    The choice is made once, at the policy with which the update begins; the released code makes it
    in each microbatch, where it depends on how the batch is cut. Its random numbers follow from
    `choice_seed` and a token's ln π_old: tokens of equal ln π_old are drawn together. Its scripts
    clip the ratio to [0, 2].

    Source: Cui et al., The Entropy Mechanism of Reinforcement Learning for Reasoning Language
    Models (arXiv:2505.22617); released code: PRIME-RL/Entropy-Mechanism-of-RL.
    """

    reduction: Reduction = token_mean
    """From the losses of tokens to a scalar."""
    beta: float | None = None
    """β, the weight of the penalty to the reference policy, >= 0."""
    share: float = 2e-4
    """Share of all tokens that are drawn, in (0, 1]."""
    cov_low: float = 1.0
    """Lower bound of cov."""
    cov_high: float = 5.0
    """Upper bound of cov."""
    choice_seed: int = 0
    """Seed of the random choice."""

    def prepare(self, batch: Batch, all_reduce: AllReduce, log_prob: PerToken) -> Batch:
        """Adds the tokens that are drawn."""
        batch = super().prepare(batch, all_reduce, log_prob)
        log_ratio = log_prob - batch.old_log_prob
        is_clipped = masked(log_ratio, batch.advantage, self.clip_low, self.clip_high) != log_ratio
        cov = covariance(batch, log_prob, all_reduce)
        eligible = (cov > self.cov_low) & (cov < self.cov_high) & ~is_clipped & batch.mask
        number = pseudo_random(batch.old_log_prob, self.choice_seed).where(eligible, 0.0)
        selection = largest(number, batch.mask, self.share, all_reduce, round_down=True)
        return batch.with_extras(selection=selection & eligible)

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """GRPO's, and 0 for tokens that are drawn."""
        selection = batch.extras["selection"]
        record_clipped(selection)
        return super().loss(log_prob, batch).where(~selection, 0.0)


def covariance(batch: Batch, log_prob: PerToken, all_reduce: AllReduce) -> PerToken:
    """(A - mean of A)(ln π - mean of ln π) of each token; means over all tokens of all ranks."""
    values = torch.stack([batch.advantage, log_prob]).double().where(batch.mask, 0.0)
    sums = all_reduce(torch.stack([*values.sum((1, 2)), batch.mask.sum().double()]))
    means = sums[:2] / sums[2].clamp(min=1)
    return (values - means[:, None, None]).prod(0).where(batch.mask, 0.0)


def pseudo_random(values: PerToken, seed: int) -> PerToken:
    """A number in [0, 1) for each value, the same wherever it stands and on whatever rank."""
    return (torch.sin(values.double() * 12.9898 + seed) * 43758.5453).frac().abs()
