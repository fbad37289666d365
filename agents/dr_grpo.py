"""Dr. GRPO, a learner and a command: python -m agents.dr_grpo --help."""

from dataclasses import dataclass

from agents.advantages import Advantage, centered
from agents.learner import GroupLearner
from agents.losses import clipped_ratio
from agents.reductions import Reduction, constant_length
from agents.rollout import Batch, PerToken


@dataclass(frozen=True, kw_only=True)
class DrGRPO(GroupLearner):
    """GRPO done right: without its two divisions, and without a reference policy.

    GRPO divides a response's loss by its length, which makes wrong long responses cheap, and its
    advantage by the std of the group, which favors problems that are nearly solved or nearly
    hopeless. Here A = R - mean of the group, and the token losses

        -min(w A, clip(w, 1 - ε, 1 + ε) A),    w = π / π_old,

    are summed over a response, divided by a constant and averaged over responses: on policy that
    is the policy gradient of the expected reward, up to the constant and (g - 1) / g.

    The constant, 3000, is the longest response of the released scripts (`--generate_max_length`),
    whose loss divides by it; for other lengths give `constant_length(...)`.

    Source: Liu et al., Understanding R1-Zero-Like Training (arXiv:2503.20783), section 3.2;
    released code: sail-sg/understand-r1-zero.
    """

    advantage_function: Advantage = centered
    """A: centered, or another function of the group's rewards."""
    reduction: Reduction = constant_length(3000)  # noqa: RUF009 - frozen
    """From the losses of tokens to a scalar."""
    clip_low: float | None = 0.2
    """ε below, in [0, 1)."""
    clip_high: float | None = 0.2
    """ε above, >= 0."""
    dual_clip: float | None = None
    """Largest ratio where the advantage is negative, > 1; not in the paper."""

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above."""
        bounds = self.clip_low, self.clip_high, self.dual_clip
        return clipped_ratio(log_prob, batch.old_log_prob, batch.advantage, *bounds)


if __name__ == "__main__":
    from agents.run import main

    main(DrGRPO)
