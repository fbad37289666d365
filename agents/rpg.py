"""RPG, a learner and a command: python -m agents.rpg --help."""

from dataclasses import dataclass
from functools import partial

from agents import references
from agents.advantages import Advantage, centered
from agents.divergences import Divergence, unnormalized_reverse_kl
from agents.learner import GroupLearner, ReferenceLearner
from agents.losses import (
    Clip,
    Estimator,
    Function,
    Level,
    differentiable,
    masked,
    per_token,
    slope,
)
from agents.reductions import Reduction, token_mean
from agents.references import Refresh
from agents.rollout import Batch, PerToken


@dataclass(frozen=True, kw_only=True)
class RPG(GroupLearner, ReferenceLearner):
    """Regularized policy gradient: the exact off-policy gradient of E_π[R] - β D.

    D is a divergence between the policy π and a reference, by default the old policy that sampled.
    With the ratio w = π / π_old, every expectation under π is one over its samples, and the loss

        Z_old (-w A + β d)                      fully differentiable (Table 1)
        -Z_old sg(w A - β d') ln π              REINFORCE-style (Table 2)

    has the gradient -∇(E_π[R] - β D): d is the value of the divergence at a sample, d' its slope in
    ln π, A = R - mean of the group. The two have one gradient; the second's value means nothing.

        divergence                 d              d'
        forward_kl                 -ln w          -1
        reverse_kl                 w ln w         w (ln w + 1)
        unnormalized_forward_kl    w - 1 - ln w   w - 1
        unnormalized_reverse_kl    w ln w - w + 1 w ln w

    `divergences` has their forms for a reference of its own. The RPG-style clip (section 3.3,
    algorithm 2) is that of PPO with a dual clip, chosen by the sign of the weight g = w A - β d',
    so that where a token is clipped its divergence is silent too. A variant is a product of
    divergence, estimator, clip and level; no bounds are no clip, no beta no divergence.

    Where the sources leave room:

    - Algorithm 1 differentiates through the clipped weight. That shifts the gradient and loses the
      forward divergences altogether; as appendix G.2 asks, the weight is stopped here.
    - The released code clips -w A alone and adds β d outside: `kl_in_clip=False`. It cuts d at ±10,
      never calls its REINFORCE loss, and knows tokens alone and no Z_old.
    - Equation 4.1 can be read as cutting w in g, without ever stopping a token: `clip=truncated`.
    - The mean of a group includes the response itself, which shortens the gradient by (g - 1) / g;
      `leave_one_out` does not.

    The numbers are those of the released scripts, which come with each of the four divergences;
    they also have `--max-generations 20` and, of 2,048 tokens, `--overlong-buffer 512`.

    Source: Zhang et al., On the Design of KL-Regularized Policy Gradient Algorithms for LLM
    Reasoning (arXiv:2505.17508); released code: complex-reasoning/RPG.
    """

    advantage_function: Advantage = centered
    """A: centered, leave_one_out, batch_centered, or raw."""
    reduction: Reduction = token_mean
    """From the losses of tokens to a scalar."""
    divergence: Divergence = unnormalized_reverse_kl
    """D: forward_kl, reverse_kl, unnormalized_forward_kl, or unnormalized_reverse_kl."""
    estimator: Estimator = differentiable
    """differentiable, or reinforce."""
    beta: float | None = 1e-4
    """β, the weight of the divergence, >= 0."""
    reference: Refresh = references.old
    """The policy that D is from: old, fixed, every(steps), or when_moved(kappa)."""
    clip: Clip = masked
    """What a clipped token does: masked (nothing), or truncated (learns with a bounded weight)."""
    clip_low: float | None = 0.2
    """ε1 in [0, 1): the ratio's lower bound is 1 - ε1."""
    clip_high: float | None = 0.28
    """ε2 >= 0: the ratio's upper bound is 1 + ε2."""
    dual_clip: float | None = 10.0
    """c > 1: the largest ratio where the weight is negative."""
    kl_in_clip: bool = True
    """Clip reward and divergence together, or the reward alone."""
    level: Level = per_token
    """Importance-sampling level, what w is a ratio of: per_token, or, with
    `sequence_mean`, per_turn or per_response."""
    z_old: float = 1.0
    """Z_old > 0, the mass of an old policy whose probabilities do not add up to one."""

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above, clipped."""
        ref = self.ref_log_prob(batch)
        log_prob, old, ref = (
            self.level(x, batch.mask) for x in (log_prob, batch.old_log_prob, ref)
        )
        reward = partial(_reward, old=old, advantage=batch.advantage)
        penalty = partial(self._penalty, old=old, ref=ref)
        if self.kl_in_clip:
            both = partial(_sum, reward, penalty)
            loss = self.estimator(both, self._clipped(log_prob, old, -slope(both, log_prob)))
        else:
            loss = self.estimator(reward, self._clipped(log_prob, old, batch.advantage))
            loss = loss + self.estimator(penalty, log_prob)
        return self.z_old * loss

    def _penalty(self, x: PerToken, old: PerToken, ref: PerToken) -> PerToken:
        return (self.beta or 0.0) * self.divergence(x, old, ref)

    def _clipped(self, log_prob: PerToken, old: PerToken, credit: PerToken) -> PerToken:
        bounds = self.clip_low, self.clip_high, self.dual_clip
        return old + self.clip(log_prob - old, credit, *bounds)


def _reward(x: PerToken, old: PerToken, advantage: PerToken) -> PerToken:
    return -advantage * (x - old).exp()


def _sum(one: Function, other: Function, x: PerToken) -> PerToken:
    return one(x) + other(x)


if __name__ == "__main__":
    from agents.run import main

    main(RPG)
