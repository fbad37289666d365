"""CPGD, a learner and a command: python -m agents.cpgd --help."""

import math
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from agents.advantages import Advantage, standardized
from agents.divergences import Divergence, k3, unnormalized_forward_kl
from agents.learner import GroupLearner, ReferenceLearner
from agents.losses import Bound, Level, clipped_log_ratio, per_token, policy_drift
from agents.reductions import Reduction, prompt_mean
from agents.rollout import Batch, Mask, PerToken


@dataclass(frozen=True, kw_only=True)
class CPGD(GroupLearner, ReferenceLearner):
    """Clipped policy gradient optimization with policy drift.

    In theory a response y to a prompt x is one action, and the policy after π_old maximizes (eq. 1)

        E_{y ~ π_old}[min(u A, clip(u, ln(1 - ε), ln(1 + ε)) A)] - α KL(π_old || π)

    with u = ln π(y|x) / π_old(y|x). The logarithm keeps the ratio out of the gradient, where it
    would amplify a drift: from a ratio of 1 + ε, a step of PPO-clip ends further outside than one
    of this (proposition 1). Since u is a sum over tokens, each token i of a response adds

        -min(u_i A, clip(u_i, ln(1 - ε_i), ln(1 + ε_i)) A) + α min(sg(w_i) - 1, c) ln π(y_i|x, y_<i)

    to the loss (eq. 2), which is the mean over prompts of the mean over the tokens of their groups.
    Here w_i = exp(u_i), A = ω(x) (R - mean of the group), and the second term has the gradient of
    the k3 estimate of the KL divergence, capped at c (eq. 5).

    Where the sources leave room:

    - As printed, eq. 2 swaps the bounds of the clip and omits the sum over the group.
    - Proposition 1 is claimed at 1 - ε too, but there the ratio damps PPO's step and this ends
      further outside: the proof takes the sign of A (1 - w) where A (w - 1) stands.
    - The paper gives no number for ε, α, c and the cap of ω; the defaults are the released code's.
    - That code clips ln π where the paper clips u: another value, the same gradient.
    - Its scripts average over each response, then over responses: `reduction=sequence_mean`.
    - Only the paper has the schedule of ε_i and the importance factor of later epochs.

    None turns a part off: CPG has no drift, PGD no clip, PG neither (section 5.3).

    Source: Liu et al., CPGD: Toward Stable Rule-based Reinforcement Learning for Language Models
    (arXiv:2505.12504); released code: MM-EUREKA.
    """

    advantage_function: Advantage = standardized
    """A, with its weight ω: standardized (STD), centered (equal), clip_filter(cap), or raw."""
    reduction: Reduction = prompt_mean
    """From the losses of tokens to a scalar."""
    clip_low: float | None = 0.2
    """ε below, in [0, 1): a negative advantage moves no token whose ratio is under 1 - ε."""
    clip_high: float | None = 0.2
    """ε above, >= 0: a positive advantage moves no token whose ratio is over 1 + ε."""
    drift_coefficient: float | None = 0.01
    """α, the weight of the policy drift, >= 0."""
    drift_cap: float | None = 2.0
    """c, the largest slope of the policy drift, > 0."""
    clip_schedule: float | None = None
    """λ in [0, 1] of the clip ε_i = λε + (1 - λ) ε i/|y|, tight to loose, i = 1 ... |y|."""
    divergence: Divergence = unnormalized_forward_kl
    """The drift: unnormalized_forward_kl (k3, eq. 4), forward_kl (k1, eq. 3), k2, or, of section
    6.2, reverse_kl and unnormalized_reverse_kl; the cap bounds the slope of each."""
    level: Level = per_token
    """Importance-sampling level of u: per_token (eq. 2), or, with `sequence_mean`, per_turn
    or per_response (eq. 1)."""
    beta: float | None = None
    """β, the weight of the k3 penalty to the reference policy, >= 0."""

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """-Φ + α E of eq. 2, and β k3 where there is a reference policy."""
        log_prob, old = (self.level(x, batch.mask) for x in (log_prob, batch.old_log_prob))
        low, high = (self._bound(bound, batch.mask) for bound in (self.clip_low, self.clip_high))
        loss = clipped_log_ratio(
            log_prob, old, batch.advantage * self._importance(batch), low, high
        )
        if self.drift_coefficient is not None:
            drift = policy_drift(log_prob, old, self.drift_cap, self.divergence)
            loss = loss + self.drift_coefficient * drift
        if self.beta:
            ref = self.level(self.ref_log_prob(batch), batch.mask)
            loss = loss + self.beta * k3(log_prob, old, ref)
        return loss

    def _bound(self, epsilon: float | None, mask: Mask) -> Bound:
        """ε_i of section 4.3 (I)."""
        if epsilon is None or self.clip_schedule is None:
            return epsilon
        return epsilon * tight_to_loose(mask, self.clip_schedule)

    def _importance(self, batch: Batch) -> PerToken:
        """clip(π_(m-1) / π_old, 1 - ε, 1 + ε) of section 6.1, exactly 1 in the first epoch.

        π_(m-1) is the policy at the end of the previous epoch, not the live one, whose ratio
        would come back into the gradient.
        """
        ratio = self.level(batch.epoch_log_prob - batch.old_log_prob, batch.mask).exp()
        low = 0.0 if self.clip_low is None else 1 - self.clip_low
        high = math.inf if self.clip_high is None else 1 + self.clip_high
        return ratio.clamp(low, high)


def tight_to_loose(mask: Mask, tightness: float) -> Float[Tensor, "b t"]:
    """λ + (1 - λ) i/|y| of token i = 1 ... |y|, in float64: a factor that ends at 1.

    Early tokens, whose gradients vary more, get the tighter bounds (section 4.3, I).

    Args:
        mask: True on response tokens.
        tightness: λ in [0, 1]; 1 for the same bound everywhere.
    """
    length = mask.sum(-1, keepdim=True).clamp(min=1)
    return tightness + (1 - tightness) * mask.cumsum(-1).double() / length


if __name__ == "__main__":
    from agents.run import main

    main(CPGD)
