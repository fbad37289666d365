"""DAPO, a learner and a command: python -m agents.dapo --help."""

from dataclasses import dataclass
from typing import Any

from agents.learner import GroupLearner
from agents.losses import Level, clipped_ratio, per_token
from agents.reductions import Reduction, token_mean
from agents.rollout import Batch, PerToken


@dataclass(frozen=True, kw_only=True)
class DAPO(GroupLearner):
    """Decoupled clip and dynamic sampling policy optimization.

    GRPO without the reference policy, with a wider upper bound ("clip-higher": a rare token may
    grow more) and one mean over all tokens, so that long responses count by their length. With
    w = π / π_old a token's loss is (eq. 8)

        -min(w A, clip(w, 1 - ε_low, 1 + ε_high) A)

    and A = (R - mean) / std of the group. Two more parts act before the loss and are options of a
    run, on by default here: dynamic sampling, which replaces prompts whose responses are all right
    or all wrong (`max_generations`), and overlong shaping of the reward (`overlong_buffer`).

    The paper has no dual clip; its scripts pass 10, which acts on ratios above 10 alone.

    Source: Yu et al., DAPO (arXiv:2503.14476).
    """

    reduction: Reduction = token_mean
    """From the losses of tokens to a scalar."""
    clip_low: float | None = 0.2
    """ε_low in [0, 1)."""
    clip_high: float | None = 0.28
    """ε_high >= 0."""
    dual_clip: float | None = None
    """Largest ratio where the advantage is negative, > 1."""
    level: Level = per_token
    """Importance-sampling level of w: per_token, or, with `sequence_mean`, geometric (GSPO),
    geometric_token, per_turn or per_response."""

    @classmethod
    def run_defaults(cls, max_response_length: int) -> dict[str, Any]:
        """At most ten rollouts for an update, and the paper's fifth of a response as its buffer."""
        return {"max_generations": 10, "overlong_buffer": max_response_length // 5}

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above."""
        bounds = self.clip_low, self.clip_high, self.dual_clip
        new, old = (self.level(x, batch.mask) for x in (log_prob, batch.old_log_prob))
        return clipped_ratio(new, old, batch.advantage, *bounds)


if __name__ == "__main__":
    from agents.run import main

    main(DAPO)
