"""RLOO, a learner and a command: python -m agents.rloo --help."""

from dataclasses import dataclass

from agents.advantages import Advantage, AllReduce, leave_one_out, whitened
from agents.learner import GroupLearner
from agents.losses import Level, clipped_ratio, per_token, policy_gradient
from agents.reductions import Reduction, constant_length
from agents.rollout import Batch, PerToken


@dataclass(frozen=True, kw_only=True)
class RLOO(GroupLearner):
    """REINFORCE leave-one-out: each response against the mean of the others.

    A response is one action, and its loss -A Σ_i ln π(y_i | x, y_<i), with A = R - mean of the
    other responses to the prompt: a baseline that does not depend on the response, so on policy
    the gradient is that of the expected reward, without bias.

    With a bound the loss becomes PPO's, -min(w A, clip(w, 1 - ε, 1 + ε) A), in the forms of others:

    - verl, OpenRLHF: bounds 0.2 and `token_mean`.
    - TRL: bounds 0.2, `level=per_response` and `sequence_mean`.
    - CPGD's comparison: bounds 0.2, `whiten`, `sequence_mean`, and a dual clip of 3 in its code.

    Source: Ahmadian et al., Back to Basics (arXiv:2402.14740).
    """

    advantage_function: Advantage = leave_one_out
    """A: leave_one_out, or another function of the group's rewards."""
    reduction: Reduction = constant_length(1)  # noqa: RUF009 - frozen
    """From the losses of tokens to a scalar: by default summed over each response."""
    whiten: bool = False
    """Normalize A over all tokens of the rollout."""
    clip_low: float | None = None
    """ε below, in [0, 1)."""
    clip_high: float | None = None
    """ε above, >= 0."""
    dual_clip: float | None = None
    """Largest ratio where the advantage is negative, > 1."""
    level: Level = per_token
    """Importance-sampling level, what w is a ratio of: per_token, or, with
    `sequence_mean`, per_turn or per_response."""

    @property
    def token_advantage_uses_old_policy(self) -> bool:
        """False: `whitened` reads rewards and lengths alone."""
        return False

    def token_advantage(self, batch: Batch, all_reduce: AllReduce) -> PerToken:
        """A at each token."""
        return whitened(batch.advantage, batch.mask, all_reduce) if self.whiten else batch.advantage

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """-A ln π, or PPO's loss where there is a bound."""
        bounds = self.clip_low, self.clip_high, self.dual_clip
        if bounds == (None, None, None):
            return policy_gradient(log_prob, batch.advantage)
        log_prob, old = (self.level(x, batch.mask) for x in (log_prob, batch.old_log_prob))
        return clipped_ratio(log_prob, old, batch.advantage, *bounds)


if __name__ == "__main__":
    from agents.run import main

    main(RLOO)
