"""Properties of a learner's `compute_loss` on tensors."""

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import torch
from hypothesis import strategies as st
from torch import Tensor

from agents.advantages import Advantage
from agents.learner import Learner
from agents.losses import per_turn
from agents.rollout import Batch, PerToken
from agents.testing.examples import (
    ROUNDING_ERROR,
    Draw,
    Example,
    align_right,
    distant_policies,
    equal_rewards,
    examples,
    format_tensor,
)
from agents.testing.gradients import PropertyError, example_loss, outcome, required, slopes

NOISE = 0.2
"""Largest noise in float32, relative to the gradient for rewards of 0 and 1. Rounding errors
divided by themselves reach 0.8; with 1e-6 added to the std, as in much released code, 0.1."""
TINY_ADVANTAGE = 1e-9
TINY_GRADIENT = 1e-6


@required("equal arguments must give equal numbers")
def _deterministic(learner: Learner, draw: Draw) -> None:
    example = examples(draw)
    same = replace(example.map(Tensor.clone), reward=example.reward.clone())
    outcome(learner, example).assert_close(outcome(learner, same), "a second time")


@required("what is outside the mask must not matter")
def _ignores_values_outside_the_mask(learner: Learner, draw: Draw) -> None:
    example = examples(draw)
    result = outcome(learner, example)
    result.assert_close(result.map(lambda x: x.where(example.mask, 0.0)), "outside the mask")
    value = draw(st.sampled_from((7.0, -1e30, math.inf, math.nan)))
    other = outcome(learner, example.map(lambda x: x.where(example.mask, value)))
    result.assert_close(other, f"with {value:g} outside the mask")


@required("the amount of padding must not matter")
def _ignores_the_amount_of_padding(learner: Learner, draw: Draw) -> None:
    example = examples(draw)
    amount = draw.integer(1, 3)
    other = outcome(learner, example.padded(amount)).map(lambda x: x[:, :-amount])
    outcome(learner, example).assert_close(other, f"with {amount} more columns of padding")


@required("the side of the padding must not matter")
def _ignores_the_side_of_padding(learner: Learner, draw: Draw) -> None:
    example = examples(draw)
    result = outcome(learner, example).map(lambda x: align_right(x, example.mask))
    result.assert_close(outcome(learner, example.left_padded()), "with the padding on the left")


@required("tokens without a loss among others must not matter")
def _ignores_holes(learner: Learner, draw: Draw) -> None:
    if getattr(learner, "level", None) is per_turn:
        return  # a turn ends there
    example = examples(draw)
    place = draw.integer(0, example.mask.shape[1] - 1)
    kept = torch.arange(example.mask.shape[1] + 1) != place
    other = outcome(learner, example.with_hole(place)).map(lambda x: x[:, kept])
    outcome(learner, example).assert_close(other, f"with a token without a loss at {place}")


@required("responses without tokens must do no harm")
def _allows_responses_without_tokens(learner: Learner, draw: Draw) -> None:
    example = examples(draw)
    for count in (1, len(example.mask)):
        mask = example.mask.clone()
        mask[:count] = False
        empty = replace(example, mask=mask)
        other = outcome(learner, empty.map(lambda x: x.where(empty.mask, math.nan)))  # noqa: B023
        case = f"with NaN in {count} responses without tokens"
        outcome(learner, empty).assert_close(other, case)


@required("the order of responses in a group must not matter")
def _ignores_the_order_within_groups(learner: Learner, draw: Draw) -> None:
    example = examples(draw)
    rows = torch.arange(len(example.mask)).view(-1, example.group_size)
    for order in permutations(range(example.group_size)):
        case = f"in the order {order} of each group"
        _assert_equivariant(learner, example, rows[:, order].flatten(), case)


@required("the order of groups must not matter")
def _ignores_the_order_of_groups(learner: Learner, draw: Draw) -> None:
    example = examples(draw)
    rows = torch.arange(len(example.mask)).view(-1, example.group_size)
    for order in permutations(range(len(rows))):
        case = f"in the order {order} of groups"
        _assert_equivariant(learner, example, rows[list(order)].flatten(), case)


def _assert_equivariant(learner: Learner, example: Example, rows: Tensor, case: str) -> None:
    """A permutation of the responses permutes the gradient."""
    result = outcome(learner, example).map(lambda x: x[rows])
    result.assert_close(outcome(learner, example.rows(rows)), case)


@required("a shift of the rewards must not matter")
def _ignores_a_shift_of_the_rewards(learner: Learner, draw: Draw) -> None:
    example = examples(draw)
    if shift := ignored_shift(learner):
        amounts = shift(draw.grid((len(example.reward), 1), -9, 9))
        other = replace(example, reward=example.reward + amounts)
        case = f"for the rewards {format_tensor(other.reward)}"
        outcome(learner, example).assert_close(outcome(learner, other), case)


@required("groups of equal rewards must give no signal")
def _ignores_equal_rewards(learner: Learner, draw: Draw) -> None:
    example = equal_rewards(draw).to(torch.float32)
    outcome(learner, example)
    if shift := ignored_shift(learner):
        # On-policy and of the gradient alone, where noise is neither amplified nor added up.
        example = replace(example, log_prob=example.old_log_prob)
        alternating = torch.arange(example.reward.numel()).view_as(example.reward) % 2
        signal = outcome(learner, replace(example, reward=alternating.to(example.reward)))
        other = replace(example, reward=example.reward - shift(example.reward[:, :1]))
        case = f"on-policy in float32 for the rewards {format_tensor(other.reward)}"
        one, two = (replace(outcome(learner, each), loss=0.0) for each in (example, other))
        one.assert_close(two, case, NOISE * signal.values.abs().max().item())


@required("rounding errors of rewards must give no signal")
def _ignores_rounding_errors_of_rewards(learner: Learner, draw: Draw) -> None:
    example = equal_rewards(draw)
    shift = ignored_shift(learner)
    if shift is None:
        return
    example = replace(example, log_prob=example.old_log_prob)
    # Whatever is shared by all rewards is ignored: then all of them are equal.
    reward = shift(example.reward[:, :1]).expand_as(example.reward)
    errors = ROUNDING_ERROR * draw.grid((3, 3), -1, 1)[-len(reward) :, -reward.shape[1] :]
    one, two = (replace(example, reward=each) for each in (reward, reward * (1 + errors)))
    case = f"for rewards with relative rounding errors of up to {ROUNDING_ERROR:g}"
    outcome(learner, one).assert_close(outcome(learner, two), case)


@required("an advantage of zero must give no signal")
def _ignores_zero_advantages(learner: Learner, draw: Draw) -> None:
    example = examples(draw)
    example = replace(example, log_prob=example.old_log_prob)
    result = outcome(with_scaled_advantage(learner, 0.0), example)
    for factor in (TINY_ADVANTAGE, -TINY_ADVANTAGE):
        other = outcome(with_scaled_advantage(learner, factor), example)
        result.assert_close(other, f"at {factor:g} of the advantage instead of 0", TINY_GRADIENT)


@required("log-ratios of 50 must give finite numbers")
def _finite_for_distant_policies(learner: Learner, draw: Draw) -> None:
    example = distant_policies(draw)
    for dtype in (torch.float32, torch.bfloat16):
        try:
            outcome(learner, example.to(dtype))
        except PropertyError as error:
            raise PropertyError(f"in {str(dtype).removeprefix('torch.')} {error}") from None


@required("the gradient must be that of the loss")
def _gradient_is_the_slope_of_the_loss(learner: Learner, draw: Draw) -> None:
    example = examples(draw)
    result = outcome(learner, example)
    slope = slopes(lambda x: example_loss(learner, example, x), example.log_prob, example.mask)
    expected = result.map(lambda gradient: slope.where(~slope.isnan(), gradient))
    result.assert_close(expected, "by finite differences")


def with_scaled_advantage(learner: Learner, factor: float) -> Learner:
    """The same algorithm with advantages scaled by `factor` in its loss."""

    def scaled_loss(self: Learner, log_prob: PerToken, batch: Batch) -> PerToken:
        return type(learner).loss(
            self, log_prob, replace(batch, advantage=factor * batch.advantage)
        )

    scaled = copy.copy(learner)
    # Assignment would fail: the dataclass is frozen.
    object.__setattr__(scaled, "__class__", type("Scaled", (type(learner),), {"loss": scaled_loss}))
    return scaled


def ignored_shift(learner: Learner) -> Callable[[Tensor], Tensor] | None:
    """Shifts of the rewards that leave the advantages unchanged.

    The result turns any amounts, one per group, into such a shift: any amount for each group, or
    one for all. None if every shift changes the advantages. Considers the learner's
    `advantage_function`, or `advantage` where a learner has no such field.
    """
    declared: Advantage | None = getattr(learner, "advantage_function", None)
    advantage = declared if callable(declared) else learner.advantage
    reward = torch.tensor([[1.0, 2.0, 0.5], [3.0, 0.0, -1.0]], dtype=torch.float64)
    for shift in (lambda x: x, lambda x: x[:1].expand_as(x)):
        if torch.allclose(advantage(reward), advantage(reward - shift(reward[:, :1]))):
            return shift
    return None
