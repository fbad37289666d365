"""KL-Cov, a learner and a command: python -m agents kl_cov --help."""

from dataclasses import dataclass

from agents.advantages import AllReduce, largest
from agents.algorithms.clip_cov import covariance
from agents.grpo import GRPO
from agents.reductions import Reduction, token_mean
from agents.rollout import Batch, PerToken


@dataclass(frozen=True, kw_only=True)
class KLCov(GRPO):
    """A policy gradient whose tokens that would cost the most entropy are held near π_old.

    With w = π / π_old and the covariance of `ClipCov`, a token's loss is -w A, and for the `share`
    of all tokens with the largest covariance

        -w A + κ |ln w|

    There is no clip. At w = 1, in the first step after a rollout, the penalty has no gradient. The
    choice is made once, at the policy with which the update begins; the released code makes it in
    each microbatch. The paper writes a KL divergence where its code has |ln w|.

    `share` is 2e-3 in the paper's runs with 7 billion weights, 2e-4 with 32; verl's κ is 0.1.

    Source: as `ClipCov` (arXiv:2505.22617).
    """

    reduction: Reduction = token_mean
    """From the losses of tokens to a scalar."""
    clip_low: float | None = None
    """ε below, in [0, 1)."""
    clip_high: float | None = None
    """ε above, >= 0."""
    beta: float | None = None
    """β, the weight of the penalty to the reference policy, >= 0."""
    share: float = 2e-3
    """Share of all tokens, in (0, 1]."""
    kappa: float = 1.0
    """κ, the weight of the penalty to π_old, >= 0."""

    def prepare(self, batch: Batch, all_reduce: AllReduce, log_prob: PerToken) -> Batch:
        """Adds the tokens with the largest covariance."""
        batch = super().prepare(batch, all_reduce, log_prob)
        cov = covariance(batch, log_prob, all_reduce)
        selection = largest(cov, batch.mask, self.share, all_reduce, round_down=True)
        return batch.with_extras(selection=selection)

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above."""
        distance = (log_prob - batch.old_log_prob).abs()
        return super().loss(log_prob, batch) + self.kappa * distance * batch.extras["selection"]
