"""Properties of an algorithm on tensors, through `compute_loss`.

Each function draws an example and raises `Broken`, or whatever the learner raises, where a property
does not hold.
"""

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
from agents.rollout import Batch, PerToken
from agents.testing.examples import Draw, Example, equal_groups, examples, far_apart, numbers, push
from agents.testing.outcomes import Broken, loss, outcome
from agents.testing.slopes import slopes

NOISE = 0.2
"""Of the gradient that rewards of 0 and 1 make, in float32: less is no signal. Rounding divided by
itself comes to 0.8, and with 1e-6 beside the std, as in much released code, to 0.1."""
TINY, NOT_TINY = 1e-9, 1e-6
"""Of an advantage: so small that its signal is none; of a signal: so large that it is one."""


def is_a_function(learner: Learner, draw: Draw) -> None:
    """Equal arguments, equal numbers; the arguments are left as they are."""
    example = examples(draw, learner.uses_reference)
    same = replace(example.each(Tensor.clone), reward=example.reward.clone())
    outcome(learner, example).expect(outcome(learner, same), "a second time")


def ignores_what_is_outside_the_mask(learner: Learner, draw: Draw) -> None:
    """Neither numbers nor NaN there matter, and nothing there is moved."""
    example = examples(draw, learner.uses_reference)
    found = outcome(learner, example)
    found.expect(found.moved(lambda x: x.where(example.mask, 0.0)), "outside the mask")
    value = draw(st.sampled_from((7.0, -1e30, math.inf, math.nan)))
    other = outcome(learner, example.each(lambda x: x.where(example.mask, value)))
    found.expect(other, f"with {value:g} outside the mask")


def ignores_the_amount_of_padding(learner: Learner, draw: Draw) -> None:
    """Further columns that nobody looks at do not matter."""
    example = examples(draw, learner.uses_reference)
    amount = draw(st.integers(1, 3))
    other = outcome(learner, example.padded(amount)).moved(lambda x: x[:, :-amount])
    outcome(learner, example).expect(other, f"with {amount} more columns of padding")


def ignores_the_side_of_padding(learner: Learner, draw: Draw) -> None:
    """Tokens at the left and at the right end of the tensors are the same tokens."""
    example = examples(draw, learner.uses_reference)
    found = outcome(learner, example).moved(lambda x: push(x, example.mask))
    found.expect(outcome(learner, example.padded_left()), "with the padding on the left")


def survives_responses_without_tokens(learner: Learner, draw: Draw) -> None:
    """They do nothing, whatever stands in them: neither one of them nor a whole batch."""
    example = examples(draw, learner.uses_reference)
    for count in (1, len(example.mask)):
        mask = example.mask.clone()
        mask[:count] = False
        empty = replace(example, mask=mask)
        other = outcome(learner, empty.each(lambda x: x.where(empty.mask, math.nan)))  # noqa: B023
        outcome(learner, empty).expect(other, f"with NaN in {count} responses without tokens")


def ignores_the_order_within_groups(learner: Learner, draw: Draw) -> None:
    """Responses of a group are equals."""
    example = examples(draw, learner.uses_reference)
    rows = torch.arange(len(example.mask)).view(-1, example.group_size)
    for order in permutations(range(example.group_size)):
        how = f"in the order {order} of each group"
        _expect_the_same(learner, example, rows[:, order].flatten(), how)


def ignores_the_order_of_groups(learner: Learner, draw: Draw) -> None:
    """Groups are equals."""
    example = examples(draw, learner.uses_reference)
    rows = torch.arange(len(example.mask)).view(-1, example.group_size)
    for order in permutations(range(len(rows))):
        how = f"in the order {order} of groups"
        _expect_the_same(learner, example, rows[list(order)].flatten(), how)


def _expect_the_same(learner: Learner, example: Example, rows: Tensor, how: str) -> None:
    """Of the same responses in another order."""
    found = outcome(learner, example).moved(lambda x: x[rows])
    found.expect(outcome(learner, example.rows(rows)), how)


def finds_no_signal_in_equal_rewards(learner: Learner, draw: Draw) -> None:
    """In groups of equal rewards all is finite, and rounding is not taken for an advantage."""
    example = equal_groups(draw, learner.uses_reference).to(torch.float32)
    outcome(learner, example)
    if shift := ignored_shift(learner):
        # On-policy and of the gradient alone, where noise is neither amplified nor added up.
        example = replace(example, log_prob=example.old_log_prob)
        spread = torch.arange(example.reward.numel()).view_as(example.reward) % 2
        signal = outcome(learner, replace(example, reward=spread.to(example.reward)))
        other = replace(example, reward=example.reward - shift(example.reward[:, :1]))
        how = f"on-policy in float32 for the rewards {numbers(other.reward)}"
        one, two = (replace(outcome(learner, each), loss=0.0) for each in (example, other))
        one.expect(two, how, NOISE * signal.values.abs().max().item())


def finds_no_signal_in_no_advantage(learner: Learner, draw: Draw) -> None:
    """On-policy, the gradient at an advantage of 0 is that of next to no advantage."""
    example = examples(draw, learner.uses_reference)
    example = replace(example, log_prob=example.old_log_prob)
    found = outcome(with_advantage_times(learner, 0.0), example)
    for factor in (TINY, -TINY):
        other = outcome(with_advantage_times(learner, factor), example)
        found.expect(other, f"at {factor:g} of the advantage instead of 0", NOT_TINY)


def ignores_a_shift_of_the_rewards(learner: Learner, draw: Draw) -> None:
    """What its advantages ignore does not matter to the learner."""
    example = examples(draw, learner.uses_reference)
    if shift := ignored_shift(learner):
        amounts = shift(draw.grid((len(example.reward), 1), -9, 9))
        other = replace(example, reward=example.reward + amounts)
        how = f"for the rewards {numbers(other.reward)}"
        outcome(learner, example).expect(outcome(learner, other), how)


def survives_far_policies(learner: Learner, draw: Draw) -> None:
    """Finite numbers, whether or not the precision is low."""
    example = far_apart(draw, learner.uses_reference)
    for dtype in (torch.float32, torch.bfloat16):
        try:
            outcome(learner, example.to(dtype))
        except Broken as error:
            raise Broken(f"in {str(dtype).removeprefix('torch.')} {error}") from None


def has_the_gradient_of_its_loss(learner: Learner, draw: Draw) -> None:
    """By central differences in float64, with what is detached held constant."""
    example = examples(draw, learner.uses_reference)
    found = outcome(learner, example)
    slope = slopes(lambda x: loss(learner, example, x), example.log_prob, example.mask)
    expected = found.moved(lambda gradient: slope.where(~slope.isnan(), gradient))
    found.expect(expected, "by finite differences")


def with_advantage_times(learner: Learner, factor: float) -> Learner:
    """The same algorithm, whose loss sees `factor` times the advantages."""

    def scaled_loss(self: Learner, log_prob: PerToken, batch: Batch) -> PerToken:
        return type(learner).loss(
            self, log_prob, replace(batch, advantage=factor * batch.advantage)
        )

    other = copy.copy(learner)
    # A frozen dataclass lets nobody else set this.
    object.__setattr__(other, "__class__", type("Scaled", (type(learner),), {"loss": scaled_loss}))
    return other


def ignored_shift(learner: Learner) -> Callable[[Tensor], Tensor] | None:
    """Which amounts, one for each group, may be added to the rewards without a change.

    The function makes such amounts of any; None where there are none. It is the learner's
    `advantage_function` that declares it, or `advantage` where a learner has no such field.
    """
    declared: Advantage | None = getattr(learner, "advantage_function", None)
    advantage = declared if callable(declared) else learner.advantage
    reward = torch.tensor([[1.0, 2.0, 0.5], [3.0, 0.0, -1.0]], dtype=torch.float64)
    for shift in (lambda x: x, lambda x: x[:1].expand_as(x)):
        if torch.allclose(advantage(reward), advantage(reward - shift(reward[:, :1]))):
            return shift
    return None
