"""Small random arguments of `compute_loss` and of an update, drawn by hypothesis.

All numbers come from coarse grids, so that a failing example shrinks to a readable one.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from agents.rollout import Group, Mask, PerToken, RewardParts

REWARDS = (0.0, 1.0, 0.5, 2.0, -1.0)
EQUAL_REWARDS = (0.0, 1.0, 0.9, 1.7)
"""Rewards of whole groups; in float32 the mean of three times 0.9 is not 0.9."""
ROUNDING_ERROR = 1e-8
"""Relative error of rewards that are equal up to rounding."""
RATIO_STEP = 0.17
"""Unit of log-ratios: no usual clip bound is a multiple of it."""
DISTANT = (-51.0, -1.0)
"""Log-probabilities with a log-ratio of 50."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Example:
    """Arguments of `compute_loss`, in float64."""

    reward: Group
    mask: Mask
    log_prob: PerToken
    old_log_prob: PerToken
    ref_log_prob: PerToken | None
    part_names: Sequence[str]
    """Components of the reward."""

    def extras(self, log_prob: PerToken) -> dict[str, Any]:
        """Further arguments of `compute_loss`, functions of the others, so padded as those are.

        Args:
            log_prob: That of the example, or near it.
        """
        teacher = -1.0 - (self.old_log_prob.where(self.mask, 0.0) / 2).cos()
        divergence = (log_prob.where(self.mask, 0.0) - teacher).square()
        tokens = (-2 * self.old_log_prob.where(self.mask, 0.0)).long()
        return {
            "entropy": surprise_of(log_prob, self.mask),
            "old_entropy": surprise_of(self.old_log_prob, self.mask),
            "texts": texts_of(tokens, self.mask),
            "tokens": tokens,
            "reward_parts": parts_of(self.reward.flatten(), self.part_names),
            "teacher_log_prob": teacher,
            "corrupted_log_prob": teacher,
            "divergence": divergence.where(self.mask, log_prob.detach()),
            "distilled": tokens.sum(-1) % 3 > 0,
        }

    @property
    def group_size(self) -> int:
        """Responses per prompt."""
        return self.reward.shape[1]

    def map(self, change: Callable[[Tensor], Tensor], mask: Mask | None = None) -> "Example":
        """The same with other log-probabilities, and optionally another mask."""
        ref = None if self.ref_log_prob is None else change(self.ref_log_prob)
        return replace(
            self,
            mask=self.mask if mask is None else mask,
            log_prob=change(self.log_prob),
            old_log_prob=change(self.old_log_prob),
            ref_log_prob=ref,
        )

    def to(self, dtype: torch.dtype) -> "Example":
        """The same in another precision."""
        return replace(self.map(lambda x: x.to(dtype)), reward=self.reward.to(dtype))

    def rows(self, order: Tensor) -> "Example":
        """The same responses in another order, their rewards with them."""
        reward = self.reward.flatten()[order].view_as(self.reward)
        return replace(self.map(lambda x: x[order]), reward=reward, mask=self.mask[order])

    def padded(self, amount: int) -> "Example":
        """The same with more columns of padding on the right."""

        def pad(values: Tensor) -> Tensor:
            return torch.nn.functional.pad(values, (0, amount))

        return self.map(pad, mask=pad(self.mask))

    def with_hole(self, place: int) -> "Example":
        """The same with a column without a loss before the one at `place`."""

        def widen(values: Tensor) -> Tensor:
            return torch.cat([values[:, :place], 1 - values[:, :1], values[:, place:]], 1)

        mask = self.mask
        holed = torch.cat([mask[:, :place], mask[:, :1] & False, mask[:, place:]], 1)
        return self.map(widen, mask=holed)

    def left_padded(self) -> "Example":
        """The same with padding on the left of each response."""
        return self.map(lambda x: align_right(x, self.mask), mask=align_right(self.mask, self.mask))

    def __str__(self) -> str:
        """One line per tensor, with dots outside the mask."""
        names = ("log_prob", "old_log_prob", "ref_log_prob")
        values = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        tensors = {name: format_tensor(value, self.mask) for name, value in values.items()}
        return _lines(
            {"group_size": self.group_size, "reward": format_tensor(self.reward), **tensors}
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class UpdateExample:
    """Arguments of an update, with the logits of a `BanditEngine`, in float64."""

    reward: Group
    tokens: Tensor
    lengths: Tensor
    logits: Tensor
    ref_logits: Tensor | None
    num_minibatches: int
    epochs: int
    part_names: Sequence[str]
    """Components of the reward."""

    def __str__(self) -> str:
        """One line per tensor, with dots beyond the length of a response."""
        mask = torch.arange(self.tokens.shape[1]) < self.lengths[:, None]
        tensors = {
            "reward": format_tensor(self.reward),
            "tokens": format_tensor(self.tokens, mask),
            "logits": format_tensor(self.logits),
            "ref_logits": None if self.ref_logits is None else format_tensor(self.ref_logits),
        }
        numbers = {"minibatches": self.num_minibatches, "epochs": self.epochs}
        return _lines({"group_size": self.reward.shape[1], **tensors, **numbers})


def _lines(values: Mapping[str, Any]) -> str:
    return "\n".join(f"  {name:<13} {value}" for name, value in values.items())


def surprise_of(log_prob: PerToken, mask: Mask) -> PerToken:
    """-p ln p in place of an entropy; outside the mask the log-probabilities, without gradient."""
    surprise = torch.special.entr(log_prob.where(mask, 0.0).exp())
    return surprise.where(mask, log_prob.detach())


def texts_of(tokens: Tensor, mask: Mask) -> tuple[str, ...]:
    """Texts of tokens: their ids, separated by spaces."""
    rows = zip(tokens, mask, strict=True)
    return tuple(" ".join(map(str, row[inside].tolist())) for row, inside in rows)


def parts_of(reward: Tensor, names: Sequence[str]) -> RewardParts:
    """Components of a reward: the reward itself, its half, its quarter, ..."""
    return RewardParts({name: reward / 2**number for number, name in enumerate(names)})


def align_right(values: Tensor, mask: Mask) -> Tensor:
    """Values of tokens, with the masked tokens moved to the end of each row."""
    column = torch.arange(mask.shape[1]) + mask.sum(-1, keepdim=True)
    return values.gather(1, column % mask.shape[1])


def format_tensor(values: Tensor, mask: Tensor | None = None) -> str:
    """Nested brackets of short numbers, with dots where the mask is False."""
    if values.ndim == 0:
        return "." if mask is not None and not mask else f"{values.item():.6g}"
    masks = [None] * len(values) if mask is None else list(mask)
    return f"[{', '.join(format_tensor(*pair) for pair in zip(values, masks, strict=True))}]"


class Draw:
    """Source of random numbers, with the last example made of them for error messages."""

    def __init__(
        self,
        draw: Callable[[st.SearchStrategy], Any],
        part_names: Sequence[str],
        *,
        reference: bool,
    ) -> None:
        self._draw, self.part_names, self.reference = draw, part_names, reference
        self.example: Any = None

    def __call__(self, strategy: st.SearchStrategy) -> Any:
        """One value."""
        return self._draw(strategy)

    def integer(self, low: int, high: int) -> int:
        """One integer."""
        return self._draw(st.integers(low, high))

    def grid(self, shape: Sequence[int], low: int, high: int) -> Tensor:
        """Integers, as float64."""
        return self._tensor(shape, st.integers(low, high))

    def choice(self, shape: Sequence[int], values: Sequence[float]) -> Tensor:
        """Random choices of the values, as float64."""
        return self._tensor(shape, st.sampled_from(values))

    def _tensor(self, shape: Sequence[int], element: st.SearchStrategy) -> Tensor:
        count = math.prod(shape)
        values = self._draw(st.lists(element, min_size=count, max_size=count))
        return torch.tensor(values, dtype=torch.float64).reshape(*shape)


def examples(draw: Draw) -> Example:
    """Up to three groups of two or three responses of one to three tokens, off-policy.

    Rewards differ within each group. All shapes draw the same numbers and use the last ones:
    hypothesis shrinks the first ones to zero, and then finds that a smaller shape fails too.
    """
    prompts, group_size, width = (draw.integer(low, 3) for low in (1, 2, 1))

    def tokens(low: int, high: int) -> Tensor:
        whole = draw.grid((3, 3, 3), low, high)
        return whole[-prompts:, -group_size:, -width:].reshape(-1, width)

    reward = draw.choice((3, 3), REWARDS)[-prompts:, -group_size:].clone()
    reward[:, 1] += reward[:, 0] == reward[:, 1]
    lengths = draw.grid((3, 3), 0, 2)[-prompts:, -group_size:].reshape(-1, 1)
    old = -4 - tokens(0, 4) / 2
    draw.example = Example(
        reward=reward,
        mask=torch.arange(width) <= lengths,
        log_prob=old + RATIO_STEP * tokens(-15, 15),
        old_log_prob=old,
        ref_log_prob=old + RATIO_STEP * tokens(-7, 7) if draw.reference else None,
        part_names=draw.part_names,
    )
    return draw.example


def equal_rewards(draw: Draw) -> Example:
    """An example with equal rewards in its first groups, one at least."""
    example = examples(draw)
    count = draw.integer(1, len(example.reward))
    reward = example.reward.clone()
    reward[:count] = draw.choice((3, 1), EQUAL_REWARDS)[:count]
    draw.example = replace(example, reward=reward)
    return draw.example


def distant_policies(draw: Draw) -> Example:
    """An example with a log-ratio of 50, 0 or -50 in each response."""
    example = examples(draw)
    first = torch.zeros_like(example.mask)
    first[:, 0] = True
    draw.example = example.map(lambda x: draw.choice((9, 1), DISTANT)[-len(x) :].where(first, -1.0))
    return draw.example


def update_examples(draw: Draw) -> UpdateExample:
    """Two or four groups of two or three responses of up to two tokens, with three arms."""
    prompts, group_size = 2 * draw.integer(1, 2), draw.integer(2, 3)
    rows = prompts * group_size
    draw.example = UpdateExample(
        reward=draw.choice((4, 3), REWARDS)[-prompts:, -group_size:],
        tokens=draw.grid((4, 3, 2), 0, 2)[-prompts:, -group_size:].reshape(rows, 2).long(),
        lengths=draw.grid((4, 3), 0, 2)[-prompts:, -group_size:].flatten().long(),
        logits=draw.grid((4, 2, 3), -2, 2)[-prompts:] / 2,
        ref_logits=draw.grid((4, 2, 3), -2, 2)[-prompts:] / 2 if draw.reference else None,
        num_minibatches=draw(st.sampled_from([1, prompts // 2])),
        epochs=draw.integer(1, 2),
        part_names=draw.part_names,
    )
    return draw.example
