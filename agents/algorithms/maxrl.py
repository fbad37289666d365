"""MaxRL, a learner and a command: python -m agents maxrl --help."""

from dataclasses import dataclass

from agents.advantages import Advantage, over_mean
from agents.grpo import GRPO
from agents.reductions import Reduction, token_mean


@dataclass(frozen=True, kw_only=True)
class MaxRL(GRPO):
    """Maximum likelihood reinforcement learning: GRPO with (R - mean) / mean of the group.

    The log-likelihood of success p is ln p = -Σ_k (1 - p)^k / k over all k >= 1, whose k-th term is
    a pass@k objective; the expected reward is the first alone. Of a group of g binary rewards this
    advantage estimates the gradient of the first g - 1 terms, without bias (`over_mean`): a prompt
    that is solved once in a group counts most.

    Rewards are to be 0 and 1, or at least not negative. The rest is GRPO's loss, with a mean over
    tokens and without a reference.

    Source: Tajwar et al. (arXiv:2602.02710); released code: tajwarfahim/maxrl, which adds 1e-6 to
    the mean.
    """

    advantage_function: Advantage = over_mean
    """A: over_mean, or another function of the group's rewards."""
    reduction: Reduction = token_mean
    """From the losses of tokens to a scalar."""
    beta: float | None = None
    """β, the weight of the penalty to the reference policy, >= 0."""
