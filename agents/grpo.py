"""GRPO, a learner and a command: python -m agents.grpo --help."""

from dataclasses import dataclass

from agents.divergences import Divergence, k3
from agents.learner import GroupLearner, ReferenceLearner
from agents.losses import Level, clipped_ratio, per_token, policy_drift
from agents.reductions import Reduction, sequence_mean
from agents.rollout import Batch, PerToken


@dataclass(frozen=True, kw_only=True)
class GRPO(GroupLearner, ReferenceLearner):
    """Group relative policy optimization: PPO whose baseline is the group, not a critic.

    Each token's loss is, with w = π / π_old and ρ = π / π_ref,

        -min(w A, clip(w, 1 - ε, 1 + ε) A) + β (1 / ρ - 1 + ln ρ)

    where A = (R - mean) / std of the group (eqs. 3 and 4). Gradient and ratio are those of a token,
    while the advantage is that of a response. The k3 penalty takes the sample to be the policy's
    own: even on policy its gradient is that of KL(π_ref || π), as RPG shows (arXiv:2505.17508,
    section 2.2). With the ratio, differentiated too, it is right: `unnormalized_reverse_kl`.

    None turns a part off: both bounds, the dual clip, the penalty, the drift of CPGD. Libraries add
    1e-4, 1e-6 or 1e-9 to the std, where the paper adds nothing, and cut the penalty at 10.

    Source: Shao et al., DeepSeekMath (arXiv:2402.03300), section 4.1, whose β is 0.04 and which
    gives no ε; 0.2 is PPO's. Dual clip and drift: CPGD (arXiv:2505.12504), figure 1.
    """

    reduction: Reduction = sequence_mean
    """From the losses of tokens to a scalar; many libraries take `token_mean`."""
    clip_low: float | None = 0.2
    """ε below, in [0, 1)."""
    clip_high: float | None = 0.2
    """ε above, >= 0."""
    dual_clip: float | None = None
    """Largest ratio where the advantage is negative, > 1; 3.0 in CPGD's comparison."""
    beta: float | None = 0.04
    """β, the weight of the penalty to the reference policy, >= 0."""
    divergence: Divergence = k3
    """The penalty: k3 as published, or unnormalized_reverse_kl, which is k3 corrected."""
    drift_coefficient: float | None = None
    """α, the weight of the policy drift, >= 0; 0.01 in CPGD's comparison."""
    drift_cap: float | None = 2.0
    """The largest slope of the policy drift, > 0."""
    level: Level = per_token
    """Importance-sampling level of w: per_token, or, with `sequence_mean`, geometric (GSPO),
    geometric_token, per_turn or per_response. Penalty and drift are those of tokens."""

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above, and α times the drift."""
        old, bounds = batch.old_log_prob, (self.clip_low, self.clip_high, self.dual_clip)
        new, anchor = (self.level(x, batch.mask) for x in (log_prob, old))
        loss = clipped_ratio(new, anchor, batch.advantage, *bounds)
        if self.drift_coefficient is not None:
            loss = loss + self.drift_coefficient * policy_drift(log_prob, old, self.drift_cap)
        if self.beta:
            ref = self.ref_log_prob(batch)
            loss = loss + self.beta * self.divergence(log_prob, old, ref)
        return loss


if __name__ == "__main__":
    from agents.run import main

    main(GRPO)
