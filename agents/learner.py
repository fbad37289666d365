"""The learner: an algorithm as a value, and the one update that all of them share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from agents import diagnostics
from agents.engines import TrainEngine
from agents.reductions import Reduction, token_mean
from agents.rollout import Batch, Group, Mask, PerResponse, PerToken, Responses


@dataclass(frozen=True, kw_only=True)
class Learner(ABC):
    """An algorithm: how rewards become advantages, and advantages a loss for each token.

    A learner is a frozen value without state. A subclass gives `advantage` and `loss`; its fields are its
    hyper-parameters and its command line.
    """

    reduction: Reduction = token_mean
    """How the losses of tokens become one number."""

    uses_reference = False
    """Whether the loss looks at `ref_log_prob`."""

    @abstractmethod
    def advantage(self, reward: Group) -> Group:
        """Credit of each response, from the rewards of all prompts of the rollout on all ranks."""

    @abstractmethod
    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """Loss of each token, to be minimised; values outside the mask are ignored."""
