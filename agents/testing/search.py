"""The search for numbers on which an algorithm breaks a property."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from hypothesis import HealthCheck, Phase, errors, given, settings
from hypothesis import strategies as st

from agents.learner import Learner
from agents.testing.examples import Draw
from agents.testing.outcomes import Broken

Property = Callable[[Learner, Draw], None]


def hold(learner: Learner, title: str, check: Property, max_examples: int) -> None:
    """Looks for numbers on which a property does not hold, and tells the smallest found.

    Raises:
        AssertionError: Title, what is wrong, the learner, the tensors.
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
    def run(data: Any) -> None:
        draw = Draw(data.draw)
        found = _look(learner, check, draw)
        causes[:] = [found]
        # Not within an `except`: hypothesis tells failures apart by what they came from.
        if found:
            told = str(found) if isinstance(found, Broken) else f"{type(found).__name__}: {found}"
            raise AssertionError(f"{title}: {told}\n  {spelled(learner)}\n{draw.shown}")

    causes: list[Exception | None] = []
    try:
        run()
    except errors.Flaky as error:
        raise AssertionError(f"{title}: equal numbers gave others\n  {spelled(learner)}") from error
    except AssertionError as error:
        # Another one, without the notes of hypothesis: its message says it all.
        raise AssertionError(str(error)) from causes[0]


def spelled(learner: Learner) -> str:
    """A learner and its fields, functions by their names."""
    values = ((field.name, getattr(learner, field.name)) for field in fields(learner))
    words = (f"{name}={getattr(value, '__name__', repr(value))}" for name, value in values)
    return f"{type(learner).__name__}({', '.join(words)})"


def _look(learner: Learner, check: Property, draw: Draw) -> Exception | None:
    """What is wrong on one example."""
    try:
        check(learner, draw)
    except errors.HypothesisException:
        raise
    except Exception as error:
        return error
    return None
