"""Advantages: from the rewards of groups of responses to the credit of each response.

p prompts, g responses of a group. Every function takes the rewards of the whole rollout, of all ranks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from agents.rollout import Group

Advantage = Callable[[Group], Group]
"""Rewards `[p g]` to advantages `[p g]`."""

STD_EPSILON = 1e-9
"""Added to the standard deviation before dividing by it, as CPGD's released code does; the papers add nothing.

Small enough to be invisible (2e-9 of a standard deviation of 0.5), where the 1e-6 and 1e-4 of other libraries
show in the sixth and fourth digit. It only matters where rewards differ by so little that their variance
underflows: groups without any spread never reach the division.
"""


def raw(reward: Group) -> Group:
    """R: the unprocessed reward, an ablation of CPGD (section 5.3)."""
    return reward


def centered(reward: Group) -> Group:
    """R - mean of the group: what a response earns beyond its siblings.

    Exactly zero where all rewards of a group are equal, and so in a group of one.
    """
    return torch.where(_has_spread(reward), reward - reward.mean(-1, keepdim=True), 0)


def standardized(reward: Group) -> Group:
    """(R - mean) / std of the group, the sample standard deviation (over g - 1).

    Independent of the shift and the positive scale of the rewards; exactly zero where all rewards of a group are
    equal, and so in a group of one. The STD weight of CPGD (section 4.3, III) and the advantage of GRPO.
    """
    if reward.shape[-1] == 1:
        return torch.zeros_like(reward)
    return centered(reward) / (reward.std(-1, keepdim=True) + STD_EPSILON)


def leave_one_out(reward: Group) -> Group:
    """R - mean of the other responses of the group = g / (g - 1) (R - mean).

    The baseline does not depend on the response itself, so the estimate of the gradient has no bias. Zero in a
    group of one, which has no others. Source: Ahmadian et al. (arXiv:2402.14740), section 2.2.
    """
    num_others = max(1, reward.shape[-1] - 1)
    return centered(reward) * (reward.shape[-1] / num_others)


@dataclass(frozen=True)
class clip_filter:  # noqa: N801 - reads like its siblings, which are functions
    """min(cap, prompts / prompts with spread) (R - mean): the clip-filter-like weight.

    One factor >= 1 for the whole rollout makes up for the prompts whose responses all earned the same and which
    thus teach nothing. Source: CPGD (arXiv:2505.12504), section 4.3, III. The paper counts the prompts of the
    whole batch and so does this; the released code counts those of one rank.
    """

    cap: float = 3.0
    """Largest factor, >= 1; 3 in the released code, no number in the paper."""
    divide_by_std: bool = False
    """Divide by the standard deviation too; the released code's two flags together."""

    def __post_init__(self) -> None:
        if not self.cap >= 1:
            raise ValueError(f"clip_filter needs a cap >= 1, got {self.cap}")

    def __call__(self, reward: Group) -> Group:
        num_with_spread = max(1, int(_has_spread(reward).sum()))
        weight = min(self.cap, len(reward) / num_with_spread)
        return weight * (standardized(reward) if self.divide_by_std else centered(reward))


def _has_spread(reward: Group) -> Bool[Tensor, "p 1"]:
    """Whether the rewards of a group differ, asked of the rewards themselves: their mean is rounded."""
    return reward.amax(-1, keepdim=True) > reward.amin(-1, keepdim=True)
