"""The prompts of a teacher, made of the answered problems of a rollout by a learner's view."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from agents.engines import RolloutEngine, TrainEngine, error_on_all_ranks
from agents.errors import PromptLengthError, UsageError
from agents.rollout import Prompt
from agents.training.rollouts import Rollout
from agents.views import AnsweredGroup, Observation, View

COLUMNS = ("system", "question", "images")


def with_contexts(
    rollout: Rollout,
    view: View,
    group_size: int,
    sampler: RolloutEngine,
    seed: tuple[int, ...],
    engine: TrainEngine | None = None,
) -> Rollout:
    """The rollout, its responses with the contexts that a view gives them.

    A context that is too long for the model is none. An error on one rank is one on all.

    Args:
        rollout: Of this rank.
        view: From a group to an observation for each response.
        group_size: Responses of a group.
        sampler: Encodes the observations.
        seed: Of the view's random choices; that of a group has its number besides.
        engine: Of this rank; None for a process alone.

    Raises:
        UsageError: The view gives another number of observations than a group has responses.
    """
    with error_on_all_ranks(engine, "the view"):
        views: list[Observation | None] = []
        for start in range(0, len(rollout.responses), group_size):
            group = _group(rollout, slice(start, start + group_size), (*seed, start // group_size))
            own = view(group)
            if len(own) != group_size:
                raise UsageError(
                    f"the view gives {len(own)} observations for a group of {group_size} "
                    "responses: give one, or None, for each"
                )
            views += own
        contexts = _encode(sampler, views)
    pairs = zip(contexts, rollout.responses.prompts, strict=True)
    responses = replace(
        rollout.responses,
        contexts=tuple(context or prompt for context, prompt in pairs),
        distilled=torch.tensor([context is not None for context in contexts]),
    )
    return replace(rollout, responses=responses)


def _group(rollout: Rollout, rows: slice, seed: tuple[int, ...]) -> AnsweredGroup:
    """A group of a rollout, with what the environment tells of each response."""
    columns = rollout.infos.items()
    infos: dict[str, Any] = {name: x for name, x in columns if isinstance(x, np.ndarray)}
    return AnsweredGroup(
        {name: rollout.observations[name][rows.start] for name in COLUMNS},
        rollout.responses.texts[rows],
        rollout.rewards[rows].tolist(),
        {name: x[rows] for name, x in infos.items() if len(x) == len(rollout.responses)},
        seed,
    )


def _encode(sampler: RolloutEngine, views: Sequence[Observation | None]) -> Sequence[Prompt | None]:
    """Prompts of observations; None where there is none, and where it is too long."""
    given: Any = [view for view in views if view is not None]
    if not given:
        return [None] * len(views)
    try:
        prompts = iter(sampler.encode({name: [view[name] for view in given] for name in COLUMNS}))
    except PromptLengthError as error:
        fits = iter([row not in error.reasons for row in range(len(given))])
        return _encode(sampler, [view if view and next(fits) else None for view in views])
    return [None if view is None else next(prompts) for view in views]
