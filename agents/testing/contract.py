"""Properties of every learner, and the search for an example on which one fails."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from hypothesis import HealthCheck, Phase, errors, given, settings
from hypothesis import strategies as st

from agents.learner import Learner
from agents.testing import loss_properties, update_properties
from agents.testing.examples import Draw
from agents.testing.gradients import PropertyError

Property = Callable[[Learner, Draw], None]
PROPERTIES: dict[str, Property] = {
    "equal arguments must give equal numbers": loss_properties.deterministic,
    "what is outside the mask must not matter": loss_properties.ignores_values_outside_the_mask,
    "the amount of padding must not matter": loss_properties.ignores_the_amount_of_padding,
    "the side of the padding must not matter": loss_properties.ignores_the_side_of_padding,
    "responses without tokens must do no harm": loss_properties.allows_responses_without_tokens,
    "the order of responses in a group must not matter": (
        loss_properties.ignores_the_order_within_groups
    ),
    "the order of groups must not matter": loss_properties.ignores_the_order_of_groups,
    "a shift of the rewards must not matter": loss_properties.ignores_a_shift_of_the_rewards,
    "groups of equal rewards must give no signal": loss_properties.ignores_equal_rewards,
    "rounding errors of rewards must give no signal": (
        loss_properties.ignores_rounding_errors_of_rewards
    ),
    "an advantage of zero must give no signal": loss_properties.ignores_zero_advantages,
    "log-ratios of 50 must give finite numbers": loss_properties.finite_for_distant_policies,
    "the gradient must be that of the loss": loss_properties.gradient_is_the_slope_of_the_loss,
    "microbatches must not matter": update_properties.ignores_microbatches,
    "the number of ranks must not matter": update_properties.ignores_the_number_of_ranks,
    "without a signal nothing must change": update_properties.rests_without_a_signal,
    "update must train on compute_loss": update_properties.trains_on_compute_loss,
}


def check_property(
    learner: Learner, title: str, holds: Property, max_examples: int, reward_parts: Sequence[str]
) -> None:
    """Searches for the smallest example on which a property fails.

    Args:
        learner: The algorithm.
        title: Property in words.
        holds: Raises for an example on which the property fails.
        max_examples: Examples to try.
        reward_parts: Names of the components of the reward.

    Raises:
        AssertionError: Title, difference, learner and tensors.
    """

    @settings(
        max_examples=max_examples,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(st.data())
    def search(data: Any) -> None:
        draw = Draw(data.draw, reward_parts)
        error = _failure(learner, holds, draw)
        causes[:] = [error]
        # Not within an `except`: hypothesis distinguishes failures by their cause.
        if error:
            message = str(error)
            if not isinstance(error, PropertyError):
                message = f"{type(error).__name__}: {message}"
            raise AssertionError(f"{title}: {message}\n  {_repr(learner)}\n{draw.example}")

    causes: list[Exception | None] = []
    try:
        search()
    except errors.Flaky as error:
        raise AssertionError(f"{title}: equal numbers gave others\n  {_repr(learner)}") from error
    except AssertionError as error:
        # A new error, without the notes that hypothesis adds.
        raise AssertionError(str(error)) from causes[0]


def _failure(learner: Learner, holds: Property, draw: Draw) -> Exception | None:
    """The error of a property on one example."""
    try:
        holds(learner, draw)
    except errors.HypothesisException:
        raise
    except Exception as error:
        return error
    return None


def _repr(learner: Learner) -> str:
    """A learner with its fields, functions by name."""
    values = ((field.name, getattr(learner, field.name)) for field in fields(learner))
    words = (f"{name}={getattr(value, '__name__', repr(value))}" for name, value in values)
    return f"{type(learner).__name__}({', '.join(words)})"
