"""GMPO, a learner and a command: python -m agents gmpo --help."""

import math
from dataclasses import dataclass

from agents.learner import GroupLearner
from agents.losses import geometric, masked
from agents.reductions import Reduction, sequence_mean
from agents.rollout import Batch, PerToken


@dataclass(frozen=True, kw_only=True)
class GMPO(GroupLearner):
    """Geometric-mean policy optimization: tokens are clipped, then a response has one ratio.

    With u_i = ln π(y_i) / π_old(y_i), held at c where A > 0 has pushed it above, and at -c where
    A < 0 has pushed it below, the loss of a response is

        -A exp(1/|y| Σ_i u_i)

    and that of a rollout their mean (`sequence_mean`). A token that is held has no gradient, but
    its ratio stays in the mean that weighs the others. A = (R - mean) / std of the group.

    c bounds the logarithm: ratios to [0.67, 1.49], wider than PPO's. verl's `geo_mean` reads its
    clip ratios as such bounds too.

    Source: Zhao et al., Geometric-Mean Policy Optimization (arXiv:2507.20673).
    """

    reduction: Reduction = sequence_mean
    """From the losses of tokens to a scalar; others do not average the loss of a response."""
    log_clip: float = 0.4
    """c > 0, in nats."""

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above, at each token of its response."""
        low, high = -math.expm1(-self.log_clip), math.expm1(self.log_clip)
        log_ratio = masked(log_prob - batch.old_log_prob, batch.advantage, low, high)
        return -batch.advantage * geometric(log_ratio, batch.mask).exp()
