"""REINFORCE++, a learner and a command: python -m agents.reinforce_plus_plus --help."""

from dataclasses import dataclass

from agents.advantages import Advantage, AllReduce, raw, return_to_go, whitened
from agents.learner import GroupLearner, ReferenceLearner
from agents.losses import clipped_ratio
from agents.reductions import Reduction, token_mean
from agents.reinforce_plus_plus_baseline import ReinforcePlusPlusBaseline
from agents.rollout import Batch, PerToken

__all__ = ["ReinforcePlusPlus", "ReinforcePlusPlusBaseline"]


@dataclass(frozen=True, kw_only=True)
class ReinforcePlusPlus(GroupLearner, ReferenceLearner):
    """REINFORCE++: PPO's loss with a penalty in the reward, normalized over the whole rollout.

    The return of token i has the penalties from there on (no discount),

        G_i = R - β Σ_{j >= i} ln π_old(y_j) / π_ref(y_j),

    and A = (G - mean) / std over all response tokens of the rollout; the loss of a token is
    -min(w A, clip(w, 1 - ε, 1 + ε) A), with w = π / π_old. The baseline is global, so the method
    needs no groups.

    The paper leaves open whether the std divides by n or n - 1; n, as in its authors' OpenRLHF. As
    a baseline of CPGD (arXiv:2505.12504, section 3): `beta=None`, `reduction=sequence_mean`.

    Source: Hu et al., REINFORCE++ (arXiv:2501.03262); β is OpenRLHF's.
    """

    advantage_function: Advantage = raw
    """R: raw, or a function of the group's rewards."""
    reduction: Reduction = token_mean
    """From the losses of tokens to a scalar."""
    clip_low: float | None = 0.2
    """ε below, in [0, 1)."""
    clip_high: float | None = 0.2
    """ε above, >= 0."""
    dual_clip: float | None = None
    """Largest ratio where the advantage is negative, > 1."""
    beta: float | None = 0.01
    """β, the weight of the penalty in the reward, >= 0."""

    @property
    def token_advantage_uses_old_policy(self) -> bool:
        """True if there is a penalty, whose value it is."""
        return bool(self.beta)

    def token_advantage(self, batch: Batch, all_reduce: AllReduce) -> PerToken:
        """A: the return of each token, normalized."""
        advantage = batch.advantage
        if self.beta:
            penalty = batch.old_log_prob - self.ref_log_prob(batch)
            advantage = advantage - self.beta * return_to_go(penalty, batch.mask)
        return whitened(advantage, batch.mask, all_reduce)

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above."""
        bounds = self.clip_low, self.clip_high, self.dual_clip
        return clipped_ratio(log_prob, batch.old_log_prob, batch.advantage, *bounds)


if __name__ == "__main__":
    from agents.run import main

    main(ReinforcePlusPlus)
