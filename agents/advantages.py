"""Advantages: from the rewards of groups of responses to the credit of each response.

p prompts, g responses of a group. A function takes the rewards of the whole rollout, of all ranks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from agents.errors import UsageError
from agents.rollout import Group

Advantage = Callable[[Group], Group]
"""Rewards `[p g]` to advantages `[p g]`."""

STD_EPSILON = 1e-9
"""Added to a standard deviation before it divides, as in CPGD's released code; the papers add none.

Too small to be seen, where the 1e-6 and 1e-4 of other libraries change the sixth and the fourth
digit. It acts only where rewards differ so little that their variance underflows: groups without
any spread are zero already.
"""


def raw(reward: Group) -> Group:
    """R: the unprocessed reward, an ablation of CPGD (section 5.3)."""
    return reward


def centered(reward: Group) -> Group:
    """R - mean of the group: what a response earns beyond its siblings.

    Exactly zero where all rewards of a group are equal, and so in a group of one. The equal weight
    of CPGD (section 4.3, III).
    """
    return torch.where(_has_spread(reward), reward - reward.mean(-1, keepdim=True), 0)


def batch_centered(reward: Group) -> Group:
    """R - mean of all responses of the rollout, whatever their prompts.

    It also compares prompts with each other, of which the policy has no choice: unbiased but for
    one's own share in the mean, and noisier. Source: RPG (arXiv:2505.17508), appendix G.
    """
    return torch.where(reward.amax() != reward.amin(), reward - reward.mean(), 0)


def standardized(reward: Group) -> Group:
    """(R - mean) / std of the group, the std of a sample (over g - 1).

    The shift and positive scale of the rewards do not matter. Exactly zero where all rewards of a
    group are equal, and so in a group of one. The STD weight of CPGD (section 4.3, III) and the
    advantage of GRPO (arXiv:2402.03300).
    """
    if reward.shape[-1] == 1:
        return centered(reward)
    return centered(reward) / (reward.std(-1, keepdim=True) + STD_EPSILON)


def leave_one_out(reward: Group) -> Group:
    """R - mean of the other responses of the group = g / (g - 1) (R - mean).

    The baseline does not depend on the response itself, so the gradient's estimate has no bias.
    Zero in a group of one, which has no others. Source: Ahmadian et al., Back to Basics
    (arXiv:2402.14740), on RLOO.
    """
    group_size = reward.shape[-1]
    return centered(reward) * (group_size / max(1, group_size - 1))


@dataclass(frozen=True)
class clip_filter:  # noqa: N801 - reads like its siblings, which are functions
    """min(cap, prompts / prompts with spread) (R - mean): the clip-filter-like weight.

    One factor for the whole rollout makes up for the prompts whose responses all earned the same,
    which teach nothing. Prompts are counted over all ranks, as in the paper; the released code
    counts those of each rank. Source: CPGD (arXiv:2505.12504), section 4.3, III.
    """

    cap: float = 3.0
    """Largest factor, >= 1; the paper gives no number, the released code 3."""
    divide_by_std: bool = False
    """Divide by the standard deviation too, like the two flags of the released code together."""

    def __post_init__(self) -> None:
        if not self.cap >= 1:
            raise UsageError(f"clip_filter got a cap of {self.cap}: give it at least 1")

    def __call__(self, reward: Group) -> Group:
        """Advantages of the rewards of all prompts."""
        num_with_spread = max(1, int(_has_spread(reward).sum()))
        factor = min(self.cap, len(reward) / num_with_spread)
        return factor * (standardized(reward) if self.divide_by_std else centered(reward))


def _has_spread(reward: Group) -> Bool[Tensor, "p 1"]:
    """Whether the rewards of a group differ; not asked of their std, whose mean is rounded."""
    return reward.amax(-1, keepdim=True) != reward.amin(-1, keepdim=True)
