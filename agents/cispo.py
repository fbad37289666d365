"""CISPO, a learner and a command: python -m agents.cispo --help."""

from dataclasses import dataclass

from agents.learner import GroupLearner
from agents.losses import Level, per_token, truncated
from agents.reductions import Reduction, token_mean
from agents.rollout import Batch, PerToken


@dataclass(frozen=True, kw_only=True)
class CISPO(GroupLearner):
    """Clipped importance-sampling policy optimization: every token learns, with a bounded weight.

    PPO's clip silences a token that has moved too far, often a rare one at which the reasoning
    forks. Here the ratio w = π / π_old is clipped inside the weight instead, which carries no
    gradient: a token's loss is

        -sg(clip(w, 1 - ε_low, 1 + ε_high)) A ln π

    with A = (R - mean) / std of the group, and one mean over all tokens (eqs. 4 and 5).

    The paper has no lower bound, and tunes ε_high without telling it. 4 bounds the weight at 5, the
    value that TRL's documentation gives for the ε_max of ScaleRL (arXiv:2510.13786).

    Source: MiniMax-M1 (arXiv:2506.13585), section 3.1.
    """

    reduction: Reduction = token_mean
    """From the losses of tokens to a scalar."""
    clip_low: float | None = None
    """ε_low in [0, 1): the smallest weight is 1 - ε_low."""
    clip_high: float | None = 4.0
    """ε_high >= 0: the largest weight is 1 + ε_high."""
    level: Level = per_token
    """Importance-sampling level of w: per_token, or, with `sequence_mean`, geometric,
    per_turn or per_response."""

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above."""
        new, old = (self.level(x, batch.mask) for x in (log_prob, batch.old_log_prob))
        log_ratio, advantage = new - old, batch.advantage
        weight = truncated(log_ratio, advantage, self.clip_low, self.clip_high).exp().detach()
        return -weight * advantage * log_prob


if __name__ == "__main__":
    from agents.run import main

    main(CISPO)
