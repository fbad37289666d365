"""Reductions: from the losses of tokens to a scalar.

A reduction takes the lengths of all responses of a minibatch, over all ranks, and gives the
weight of a token of each; the scalar is the weighted sum of the losses of response tokens. Neither
microbatches nor ranks can change that sum, since the weights know nothing of them.

b responses, p = b / group_size prompts, |y_i| tokens of response i.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from agents.errors import UsageError

Reduction = Callable[[Int[Tensor, " b"], int], Float[Tensor, " b"]]
"""Lengths and group size, to the weight of a token of each response, in float64."""


def token_mean(lengths: Int[Tensor, " b"], group_size: int) -> Float[Tensor, " b"]:
    """1 / Σ_j |y_j|: every token of the minibatch counts the same.

    The weights of all tokens add up to one. Source: Yu et al., DAPO (arXiv:2503.14476).

    Args:
        lengths: Response tokens of each response, >= 0.
        group_size: Ignored.
    """
    return (1 / _at_least_one(lengths.sum())).expand(len(lengths))


def sequence_mean(lengths: Int[Tensor, " b"], group_size: int) -> Float[Tensor, " b"]:
    """1 / (b |y_i|): every response counts the same, and its tokens share that.

    The weights of all tokens add up to one when no response is empty. Gradient accumulation over
    microbatches of one response amounts to this. Source: Shao et al., DeepSeekMath
    (arXiv:2402.03300), on GRPO.

    Args:
        lengths: Response tokens of each response, >= 0; an empty response adds nothing.
        group_size: Ignored.
    """
    return 1 / (len(lengths) * _at_least_one(lengths))


def prompt_mean(lengths: Int[Tensor, " b"], group_size: int) -> Float[Tensor, " b"]:
    """1 / (p Σ_{k in group of i} |y_k|): every prompt counts the same, its group's tokens share it.

    The weights of all tokens add up to one when no group is empty. Source: CPGD
    (arXiv:2505.12504), eq. 2.

    Args:
        lengths: Response tokens of each response, >= 0; those of a group are consecutive.
        group_size: Responses to one prompt.

    Raises:
        UsageError: When the responses are not whole groups.
    """
    if len(lengths) % group_size:
        raise UsageError(
            f"prompt_mean got {len(lengths)} responses in groups of {group_size}: "
            "give it whole groups, a minibatch that is a multiple of the group size"
        )
    tokens = _at_least_one(lengths.reshape(-1, group_size).sum(-1))
    return 1 / (len(tokens) * tokens).repeat_interleave(group_size)


@dataclass(frozen=True)
class constant_length:  # noqa: N801 - reads like its siblings, which are functions
    """1 / (b L): the weight of a token does not depend on the lengths of the responses.

    Source: Liu et al., Understanding R1-Zero-Like Training (arXiv:2503.20783), on Dr. GRPO.
    """

    length: int
    """L, in tokens: any constant, such as the longest response allowed."""

    def __post_init__(self) -> None:
        if self.length < 1:
            raise UsageError(f"constant_length got {self.length} tokens: give it at least 1")

    def __call__(self, lengths: Int[Tensor, " b"], group_size: int) -> Float[Tensor, " b"]:
        """The same weight for each of `lengths`; `group_size` is ignored."""
        weight = 1 / max(1, len(lengths) * self.length)
        return torch.full(lengths.shape, weight, dtype=torch.float64, device=lengths.device)


def _at_least_one(tokens: Int[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Numbers to divide by; where there is no token, any finite weight will do."""
    return tokens.clamp(min=1).double()
