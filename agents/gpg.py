"""GPG, a learner and a command: python -m agents.gpg --help."""

import math
from dataclasses import dataclass

from agents.advantages import clip_filter
from agents.learner import Learner
from agents.losses import policy_gradient
from agents.reductions import Reduction, token_mean
from agents.rollout import Batch, Group, PerToken


@dataclass(frozen=True, kw_only=True)
class GPG(Learner):
    """Group policy gradient: -A ln π of each token, with neither ratio, clip nor reference.

    A = α (R - mean of the group) / F_norm. The factor α = prompts / prompts whose responses differ
    in reward keeps the gradient's size when some groups teach nothing; it is counted over the
    rollout of all ranks. F_norm is 1, or the std of the group.

    The released code leaves α out of A and divides the loss by 1 / α, with the same gradient. The
    paper also samples again when too few groups teach something: dynamic sampling, of a run.

    Source: Chu et al., GPG: A Simple and Strong Reinforcement Learning Baseline for Model
    Reasoning (arXiv:2504.02546).
    """

    reduction: Reduction = token_mean
    """From the losses of tokens to a scalar."""
    divide_by_std: bool = False
    """F_norm is the standard deviation of the group, rather than 1."""

    def advantage(self, reward: Group) -> Group:
        """α (R - mean of the group) / F_norm."""
        return clip_filter(math.inf, self.divide_by_std)(reward)

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """-A ln π."""
        return policy_gradient(log_prob, batch.advantage)


if __name__ == "__main__":
    from agents.run import main

    main(GPG)
