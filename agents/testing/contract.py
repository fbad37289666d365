"""Search for an example on which a property of a learner fails."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from hypothesis import HealthCheck, Phase, errors, given, settings
from hypothesis import strategies as st

from agents.learner import Learner
from agents.testing import loss_properties, update_properties  # noqa: F401 - they register theirs
from agents.testing.examples import Draw
from agents.testing.gradients import Property, PropertyError


def check_property(
    learner: Learner, title: str, holds: Property, max_examples: int, reward_parts: Sequence[str]
) -> None:
    """Searches for an example on which a property fails; see `check_learner`.

    Raises:
        AssertionError: With the smallest one.
    """
    cause: Exception | None = None

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
        nonlocal cause
        draw, cause = Draw(data.draw, reward_parts, reference=learner.uses_reference), None
        try:
            holds(learner, draw)
        except errors.HypothesisException:
            raise
        except Exception as error:
            cause = error
        # Not within the `except`: hypothesis distinguishes failures by their cause.
        if cause:
            kind = "" if isinstance(cause, PropertyError) else f"{type(cause).__name__}: "
            raise AssertionError(f"{title}: {kind}{cause}\n  {_repr(learner)}\n{draw.example}")

    try:
        search()
    except errors.Flaky as error:
        raise AssertionError(f"{title}: equal numbers gave others\n  {_repr(learner)}") from error
    except AssertionError as error:
        # A new error, without the notes that hypothesis adds.
        raise AssertionError(str(error)) from cause


def _repr(learner: Learner) -> str:
    """A learner with its fields, functions by name."""
    values = ((field.name, getattr(learner, field.name)) for field in fields(learner))
    words = (f"{name}={getattr(value, '__name__', repr(value))}" for name, value in values)
    return f"{type(learner).__name__}({', '.join(words)})"
