"""Advantages: from the rewards of groups of responses to the advantage of each response or token.

p prompts, g responses of a group. A function of rewards takes those of the whole rollout, of all
ranks; a token-level one takes those of this rank and an all-reduce.

Whatever subtracts a mean is exactly zero where only rounding errors differ (`exceeds_rounding`).
Otherwise a division by the standard deviation of the errors would make full advantages of them, and
Adam, which divides a gradient by its own size, full steps.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from agents.errors import UsageError
from agents.rollout import Group, Mask, PerToken

Advantage = Callable[[Group], Group]
"""Rewards `[p g]` to advantages `[p g]`."""
AllReduce = Callable[[Tensor], Tensor]
"""Sum of a tensor over all ranks."""

STD_EPSILON = 1e-9
"""Added to a standard deviation before it divides, as in CPGD's released code; the papers add none.

Too small to be seen, where the 1e-6 and 1e-4 of other libraries change the sixth and the fourth
digit. Rewards that differ by less have no spread at all.
"""
ROUNDING = 1e-6
"""Largest spread that is taken for rounding, as a fraction of the scale of the values.

Eight units in the last place of float32, the dtype of rewards: the error of a sum of several parts.
"""

BISECTIONS = 40
"""Halvings of a range of thresholds: below `ROUNDING` of it, whatever the number of ranks."""


def exceeds_rounding(spread: Tensor, scale: Tensor) -> Tensor:
    """Spread > max(`ROUNDING` scale, `STD_EPSILON`): True where values differ beyond rounding.

    Relative to the scale, so that a factor common to all rewards does not matter; the absolute term
    is for sums whose parts cancel, such as 0.1 + 0.2 - 0.3. What is not finite exceeds it, and is
    not hidden.

    Args:
        spread: Of values that may be equal but for rounding, >= 0: a range or standard deviation.
        scale: Size of the same values, >= 0: their largest amount or root mean square.
    """
    return (spread > (ROUNDING * scale).clamp(min=STD_EPSILON)) | ~spread.isfinite()


def raw(reward: Group) -> Group:
    """R: the unprocessed reward, an ablation of CPGD (section 5.3)."""
    return reward


def centered(reward: Group) -> Group:
    """R - mean of the group.

    Exactly zero where the rewards of a group are equal up to rounding, and so in a group of one.
    The equal weight of CPGD (section 4.3, III).
    """
    return torch.where(has_spread(reward), reward - reward.mean(-1, keepdim=True), 0)


def batch_centered(reward: Group) -> Group:
    """R - mean of all responses of the rollout, of all prompts.

    It also compares prompts with each other, which the policy does not choose: unbiased but for
    the share of the response itself in the mean, and noisier. Exactly zero where all are equal up
    to rounding. Source: RPG (arXiv:2505.17508), appendix G.
    """
    return torch.where(has_spread(reward.flatten()), reward - reward.mean(), 0)


def standardized(reward: Group) -> Group:
    """(R - mean) / std of the group, the std of a sample (over g - 1).

    The shift and positive scale of the rewards do not matter. Exactly zero where the rewards of a
    group are equal up to rounding, and so in a group of one. The STD weight of CPGD (section 4.3,
    III) and the advantage of GRPO (arXiv:2402.03300).
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

    One factor for the whole rollout makes up for the prompts whose rewards are all equal and give
    no gradient. Prompts are counted over all ranks, as in the paper; the released code
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
        num_with_spread = max(1, int(has_spread(reward).sum()))
        factor = min(self.cap, len(reward) / num_with_spread)
        return factor * (standardized(reward) if self.divide_by_std else centered(reward))


def over_mean(reward: Group) -> Group:
    """(R - mean) / mean of the group; 0 where the mean is not positive.

    Of g binary rewards, over g, it estimates the gradient of -Σ_{k < g} (1 - p)^k / k without bias:
    g - 1 terms of ln p. R / mean, and the same less 1 with -1 in groups without a success, are
    unbiased for g terms. Source: MaxRL (arXiv:2602.02710).
    """
    mean = reward.mean(-1, keepdim=True)
    is_positive = exceeds_rounding(mean, reward.abs().mean(-1, keepdim=True))
    return torch.where(is_positive, centered(reward) / mean.where(is_positive, 1.0), 0)


@dataclass(frozen=True)
class pass_at_k:  # noqa: N801
    """Standardized pass@k reward of the groups of k in which a response is, averaged over them.

    With the share q of groups of k out of g without a success, and the same share q' of those that
    have a given wrong response, it is q for a right response and q - q' for a wrong one, divided by
    √(q (1 - q)). Undivided, and over g, its expectation is (g - k) / (g k) times the gradient of
    pass@k: with k = g it vanishes. 0 where every group of k has a success, or none.

    Source: Chen et al., Pass@k Training (arXiv:2508.10751), section 2.4; its code leaves other
    rewards than 0 and 1 as they are, here a response is right or wrong.
    """

    k: int = 4
    """Responses of which one is to be right, at most the group's."""
    threshold: float = 1.0
    """Least reward of a right response."""

    def __call__(self, reward: Group) -> Group:
        """Advantages of each response."""
        size = reward.shape[-1]
        if not 1 <= self.k <= size:
            raise UsageError(f"pass_at_k got k = {self.k} for groups of {size}: give 1 to {size}")
        is_right = reward >= self.threshold - ROUNDING
        wrong = (~is_right).sum(-1, keepdim=True).to(reward)
        failure = _share_of_subsets(wrong, size, self.k)
        own_failure = _share_of_subsets(wrong - 1, size - 1, self.k - 1)
        std = (failure * (1 - failure)).sqrt()
        return torch.where(is_right, failure, failure - own_failure) / (std + STD_EPSILON)


def _share_of_subsets(part: Tensor, size: int, k: int) -> Tensor:
    """C(part, k) / C(size, k): the share of subsets of k that are within a part."""
    share = torch.ones_like(part)
    for number in range(k):
        share = share * (part - number).clamp(min=0) / (size - number)
    return share


def return_to_go(value: PerToken, mask: Mask) -> PerToken:
    """Σ_{j >= i} of the values of a response's tokens, at its token i; no discount."""
    return value.where(mask, 0.0).flip(-1).cumsum(-1).flip(-1)


def whitened(advantage: PerToken, mask: Mask, all_reduce: AllReduce) -> PerToken:
    """(A - mean) / std over all response tokens of the rollout: the global normalization.

    Long responses count more than short ones, in the mean and in the std, which divides by the
    number of tokens. Exactly zero where all advantages are equal up to rounding. Source: Hu et al.,
    REINFORCE++ (arXiv:2501.03262); its authors' code divides by n, others by n - 1.

    Args:
        advantage: Of each token.
        mask: True on response tokens.
        all_reduce: Sum over all ranks.
    """
    values = advantage.where(mask, 0.0).double()
    count, total = all_reduce(torch.stack([mask.sum().double(), values.sum()]))
    count = count.clamp(min=1)
    mean = total / count
    deviation = (values - mean).where(mask, 0.0)
    variance = all_reduce(deviation.square().sum()) / count
    scale = (mean.square() + variance).sqrt()
    result = deviation / variance.clamp(min=1e-8).sqrt()  # the floor is that of the authors' code
    return torch.where(exceeds_rounding(variance.sqrt(), scale), result, 0).to(advantage)


def largest(
    values: PerToken, mask: Mask, share: float, all_reduce: AllReduce, *, round_down: bool = False
) -> Mask:
    """True for the share of the rollout's response tokens with the largest values.

    Ties, up to rounding, are all among them. Over all ranks, by bisection, since ranks exchange
    sums alone. Source: the threshold of Wang et al., Beyond the 80/20 Rule (arXiv:2506.01939), for
    entropies.

    Args:
        values: Of each token.
        mask: True on response tokens.
        share: Of the tokens, in (0, 1].
        all_reduce: Sum over all ranks.
        round_down: Take a whole number of tokens below the share, and at least one, not above it.
    """
    values = values.where(mask, 0.0).double()
    ends = values.amax().clamp(min=0), values.amin().clamp(max=0)
    count, high, low = all_reduce(torch.stack([mask.sum().double(), *ends]))
    number, margin = share * count, ROUNDING * (high - low)
    if round_down:
        number = number.floor().clamp(min=1)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        is_low = all_reduce(((values >= middle) & mask).sum()) >= number
        low, high = torch.where(is_low, middle, low), torch.where(is_low, high, middle)
    return (values >= low - margin) & mask


def has_spread(reward: Float[Tensor, "*p g"]) -> Bool[Tensor, "*p 1"]:
    """True if the rewards of a group differ by more than rounding.

    By their range: a standard deviation has rounding errors of its own.
    """
    spread = reward.amax(-1, keepdim=True) - reward.amin(-1, keepdim=True)
    return exceeds_rounding(spread, reward.abs().amax(-1, keepdim=True))
