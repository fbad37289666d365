"""SAPO, a learner and a command: python -m agents sapo --help."""

from dataclasses import dataclass

import torch

from agents.learner import GroupLearner
from agents.reductions import Reduction, sequence_mean
from agents.rollout import Batch, PerToken


@dataclass(frozen=True, kw_only=True)
class SAPO(GroupLearner):
    """Soft adaptive policy optimization: a smooth gate in place of a clip.

    With w = π / π_old a token's loss is

        -4 / τ σ(τ (w - 1)) A

    so that the slope in ln π is -A w 4 σ (1 - σ): exactly -A on policy, for every τ, and less and
    less the further the ratio has moved either way, where PPO's is 0 on one side and not bounded on
    the other. τ is larger where A < 0, whose gradient raises the logits of all other tokens.
    A = (R - mean) / std of the group.

    Source: Gao et al., Soft Adaptive Policy Optimization (arXiv:2511.20347).
    """

    reduction: Reduction = sequence_mean
    """From the losses of tokens to a scalar."""
    tau_positive: float = 1.0
    """τ > 0 where A > 0."""
    tau_negative: float = 1.05
    """τ > 0 elsewhere."""

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above."""
        advantage = batch.advantage
        taus = (torch.full_like(advantage, x) for x in (self.tau_positive, self.tau_negative))
        tau = torch.where(advantage > 0, *taus)
        ratio = (log_prob - batch.old_log_prob).exp()
        return -4 / tau * torch.sigmoid(tau * (ratio - 1)) * advantage
