"""REINFORCE++-Baseline, a learner: python -m agents.reinforce_plus_plus_baseline --help."""

from dataclasses import dataclass

from agents.advantages import Advantage, AllReduce, centered, whitened
from agents.divergences import Divergence, k2
from agents.learner import GroupLearner, ReferenceLearner
from agents.losses import clipped_ratio
from agents.reductions import Reduction, token_mean
from agents.rollout import Batch, PerToken


@dataclass(frozen=True, kw_only=True)
class ReinforcePlusPlusBaseline(GroupLearner, ReferenceLearner):
    """REINFORCE++-Baseline: rewards centered in their group, normalized over the whole rollout.

    A = (C - mean) / std over all response tokens of the rollout, C = R - mean of the group; the
    std is global, so that a group with little spread is not blown up. The loss of a token is

        -min(w A, clip(w, 1 - ε, 1 + ε) A) + β d,    w = π / π_old,

    where d, if any, is k2 to a reference policy: (ln π / π_ref)² / 2, whose slope on policy is that
    of KL(π || π_ref).

    The std divides by n, as in the authors' OpenRLHF. As a baseline of RPG it has clip_high 0.28
    and β 1e-4 of k1 with the reference `old`, whose gradient is zero in expectation on policy.

    Source: Hu et al., REINFORCE++ (arXiv:2501.03262).
    """

    advantage_function: Advantage = centered
    """C: centered, or another function of the group's rewards."""
    reduction: Reduction = token_mean
    """From the losses of tokens to a scalar."""
    clip_low: float | None = 0.2
    """ε below, in [0, 1)."""
    clip_high: float | None = 0.2
    """ε above, >= 0."""
    dual_clip: float | None = None
    """Largest ratio where the advantage is negative, > 1."""
    divergence: Divergence = k2
    """The penalty: k2, or another."""

    @property
    def token_advantage_uses_old_policy(self) -> bool:
        """False: `whitened` reads rewards and lengths alone."""
        return False

    def token_advantage(self, batch: Batch, all_reduce: AllReduce) -> PerToken:
        """A: C at each token, normalized."""
        return whitened(batch.advantage, batch.mask, all_reduce)

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above."""
        old, bounds = batch.old_log_prob, (self.clip_low, self.clip_high, self.dual_clip)
        loss = clipped_ratio(log_prob, old, batch.advantage, *bounds)
        if self.beta:
            ref = self.ref_log_prob(batch)
            loss = loss + self.beta * self.divergence(log_prob, old, ref)
        return loss


if __name__ == "__main__":
    from agents.run import main

    main(ReinforcePlusPlusBaseline)
