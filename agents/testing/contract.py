"""Search for an example on which a property of a learner fails."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from hypothesis import HealthCheck, Phase, errors, given, settings
from hypothesis import strategies as st

from agents.learner import Learner
from agents.testing import loss_properties, update_properties  # noqa: F401 - they register theirs
from agents.testing.examples import Draw
from agents.testing.gradients import PROPERTIES, Property, PropertyError


def check_properties(learner: Learner, max_examples: int, reward_parts: Sequence[str]) -> None:
    """Searches for an example on which one of `PROPERTIES` fails; see `check_learner`."""
    for title, holds in PROPERTIES.items():
        _check_property(learner, title, holds, max_examples, reward_parts)


def _check_property(
    learner: Learner, title: str, holds: Property, max_examples: int, reward_parts: Sequence[str]
) -> None:
    """Searches for the smallest example on which a property fails.

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
        draw = Draw(data.draw, reward_parts, reference=learner.uses_reference)
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
