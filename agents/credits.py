"""Credits: from what responses earn to what their tokens do, where the two differ."""

from collections.abc import Callable

import torch
from torch import Tensor

from agents.rollout import Mask, PerToken

Total = Callable[[Tensor], Tensor]
"""Sum of a tensor over all ranks."""


def return_to_go(value: PerToken, mask: Mask) -> PerToken:
    """Σ_{j >= i} of the values of a response's tokens, at its token i; no discount."""
    return value.where(mask, 0.0).flip(-1).cumsum(-1).flip(-1)


def whitened(credit: PerToken, mask: Mask, total: Total) -> PerToken:
    """(A - mean) / std over all response tokens of the rollout: the global normalization.

    Long responses count more than short ones, in the mean and in the std, which divides by the
    number of tokens. Zero where all credit is equal. Source: Hu et al., REINFORCE++
    (arXiv:2501.03262); its authors' code divides by n, others by n - 1.

    Args:
        credit: Of each token.
        mask: True on response tokens.
        total: Sum over all ranks.
    """
    values = credit.where(mask, 0.0).double()
    count, value = total(torch.stack([mask.sum().double(), values.sum()]))
    count = count.clamp(min=1)
    deviation = (values - value / count).where(mask, 0.0)
    # The floor acts only where nothing but rounding is left of the spread.
    variance = (total(deviation.square().sum()) / count).clamp(min=1e-8)
    return (deviation / variance.sqrt()).to(credit)
