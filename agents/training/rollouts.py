"""Rollouts: problems from an environment, sampled responses and their rewards."""

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents.engines import RolloutEngine, TrainEngine, error_on_all_ranks
from agents.engines.sampling import check_prompt_lengths
from agents.episodes import Episodes
from agents.errors import PromptLengthError, UsageError, typed_errors
from agents.monitoring.timing import Clock
from agents.rollout import Group, Prompt, Responses, RewardParts
from agents.views import AnsweredGroup, Observation, View

Observations = Mapping[str, Sequence[Any]]
EXCEEDS = "exceeds --max-prompt-length {}"
COLUMNS = ("system", "question", "images")
ROUNDS = 20
"""Times that problems of a batch are replaced before too long prompts are an error."""


@dataclass(frozen=True, eq=False)
class Rollout:
    """A batch of problems with this rank's responses and their rewards."""

    observations: Observations
    """Problems, as observed from the vector environment."""
    responses: Responses
    rewards: np.ndarray
    """Reward of each response, overlong penalty included."""
    overlong_penalties: np.ndarray
    """Overlong penalty of each response, in [-1, 0]."""
    infos: Mapping[str, Any]
    """Infos of the environment's step."""
    next_observations: Observations
    num_left_out: int
    """Problems of this rank that were left out, with others in their place."""
    position: int = 0
    """Of the next problems in the problem order, over all ranks."""
    counts: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Counts of each episode by name, of an environment whose episodes have several turns."""

    def groups(self, size: int, parts: Sequence[str] = ()) -> tuple[Responses, Group, Group]:
        """Responses, rewards and accuracies, the latter with a row for each group of `size`.

        Args:
            size: Responses of a group.
            parts: Components of the reward that the responses get, by name; 0, as in the sum,
                where one does not apply.
        """
        values = {name: np.nan_to_num(self.infos[name]) for name in parts}
        values |= {"overlong_penalty": self.overlong_penalties} if parts else {}
        own = RewardParts({name: _float32(value) for name, value in values.items()})
        reward, accuracy = _float32(self.rewards), _float32(self.infos["accuracy"])
        responses = replace(self.responses, reward_parts=own)
        return responses, reward.view(-1, size), accuracy.view(-1, size)

    def summary(self) -> str:
        """Mean reward and accuracy of this rank's responses."""
        reward, accuracy = np.mean(self.rewards), np.mean(self.infos["accuracy"])
        return f"reward {reward:.3f}, accuracy {accuracy:.3f} of {len(self.rewards)} responses"


def _float32(values: np.ndarray) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float32)


def sample_rollout(  # noqa: PLR0913 - optional ones are keywords, and no caller needs all
    envs: Any,
    sampler: RolloutEngine,
    observations: Observations,
    seed: tuple[int, ...],
    clock: Clock,
    *,
    length_penalty: Callable[[int], float] | None = None,
    max_prompt_length: int | None = None,
    on_response: Callable[[int], None] = lambda count: None,
    engine: TrainEngine | None = None,
) -> Rollout:
    """Samples a response to each observation and steps the environment, until episodes end.

    Problems with too long prompts are left out. An error on one rank is one on all.

    Args:
        envs: Vector environment.
        sampler: Samples the responses.
        observations: Last ones of `envs`.
        seed: Of the responses.
        clock: Measures sampling and grading.
        length_penalty: Addition to the reward, in [-1, 0], by the length of a response in tokens.
        max_prompt_length: In tokens; None for the context of the model alone.
        on_response: Called with the number of complete responses of the turn at each.
        engine: Of this rank; None for a process alone.
    """
    together = partial(error_on_all_ranks, engine, "a rollout")

    def submit(index: int, response: str) -> None:
        envs.submit(index, response)
        on_response(next(counts))

    with together(), clock("rollout"):
        observations, prompts = encode(envs, sampler, observations, max_prompt_length)
    num_left_out = envs.num_left_out
    episodes = Episodes(envs, sampler, prompts, seed, engine)
    while not episodes.is_over:
        counts = itertools.count(1)
        # Sampling may gather the weights of all ranks: none begins it where another has failed.
        with together(), clock("rollout"), typed_errors("sampling"):
            actions = episodes.respond(submit)
        start = time.perf_counter()
        with together():
            episodes.step(actions)
        clock.add("tools" if episodes.goes_on else "grade", time.perf_counter() - start)
    responses = episodes.responses()
    penalty = length_penalty or (lambda length: 0.0)
    penalties = np.array([penalty(length) for length in responses.sizes.tolist()])
    parts = episodes.infos, episodes.observations, num_left_out, envs.position
    rewards = episodes.rewards + penalties
    return Rollout(observations, responses, rewards, penalties, *parts, episodes.counts)


def encode(
    envs: Any, sampler: RolloutEngine, observations: Observations, max_length: int | None = None
) -> tuple[Observations, tuple[Prompt, ...]]:
    """Observations of `envs` and their prompts, with others in place of those that are too long.

    Args:
        envs: Vector environment.
        sampler: Knows the context of the model.
        observations: Current ones of `envs`.
        max_length: Of a prompt, in tokens; None for the context alone.

    Raises:
        PromptLengthError: Most prompts are too long.
    """
    rounds = 0
    while True:
        try:
            prompts = sampler.encode(observations)
            check_prompt_lengths(prompts, max_length or math.inf, EXCEEDS.format(max_length))
            return observations, prompts
        except PromptLengthError as error:
            if rounds == ROUNDS:
                raise
            observations, rounds = envs.leave_out(error.reasons), rounds + 1


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
        for number in range(len(rollout.responses) // group_size):
            own = view(_group(rollout, number, group_size, seed))
            if len(own) != group_size:
                raise UsageError(
                    f"the view gives {len(own)} observations for a group of {group_size} "
                    "responses: give one, or None, for each"
                )
            views += own
        contexts = _encode_views(sampler, views)
    pairs = zip(contexts, rollout.responses.prompts, strict=True)
    responses = replace(
        rollout.responses,
        contexts=tuple(context or prompt for context, prompt in pairs),
        distilled=torch.tensor([context is not None for context in contexts]),
    )
    return replace(rollout, responses=responses)


def _group(rollout: Rollout, number: int, size: int, seed: tuple[int, ...]) -> AnsweredGroup:
    """A group of a rollout, with what the environment tells of each response."""
    rows, infos = slice(number * size, (number + 1) * size), rollout.infos.items()
    columns: Any = {name: x for name, x in infos if isinstance(x, np.ndarray)}
    return AnsweredGroup(
        {name: rollout.observations[name][rows.start] for name in COLUMNS},
        rollout.responses.texts[rows],
        rollout.rewards[rows].tolist(),
        {name: x[rows] for name, x in columns.items() if len(x) == len(rollout.responses)},
        (*seed, number),
    )


def _encode_views(
    sampler: RolloutEngine, views: Sequence[Observation | None]
) -> Sequence[Prompt | None]:
    """Prompts of observations; None where there is none, and where it is too long."""
    given: Any = [view for view in views if view is not None]
    if not given:
        return [None] * len(views)
    try:
        prompts = iter(sampler.encode({name: [view[name] for view in given] for name in COLUMNS}))
    except PromptLengthError as error:
        fits = iter([row not in error.reasons for row in range(len(given))])
        return _encode_views(sampler, [view if view and next(fits) else None for view in views])
    return [None if view is None else next(prompts) for view in views]


def reward_metrics(
    rollouts: Sequence[Rollout], names: Sequence[str], engine: TrainEngine
) -> dict[str, float]:
    """Means over all responses of all ranks, including those that dynamic sampling drops.

    A part of the reward is averaged where it applies, and NaN where it never does.

    Args:
        rollouts: Of one training step; equal in number and size on every rank.
        names: Parts of the reward.
        engine: Of this rank.
    """
    rows = [_columns(rollout, names) for rollout in rollouts]
    values = torch.from_numpy(np.array([list(row.values()) for row in rows]))
    means = engine.all_gather(values).nanmean((0, 2)).tolist()
    return dict(zip(rows[0], means, strict=True))


def _columns(rollout: Rollout, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Values of each metric, one for each response."""
    infos = rollout.infos
    parts = {"reward/mean": rollout.rewards, "response/overlong": rollout.overlong_penalties}
    parts |= {f"reward/{name}": infos[name] for name in dict.fromkeys(names)}
    parts |= {f"grade/{status}": flags for status, flags in infos["grade"].items()}
    parts |= {f"episode/{name}": values for name, values in rollout.counts.items()}
    if rollout.counts:  # the part of a rollout's turns for which an episode rests
        turns = rollout.counts["turns"]
        parts["episode/idle"] = 1 - turns / turns.max()
    return {name: np.asarray(value, np.float64) for name, value in parts.items()}


def count(rollouts: Sequence[Rollout], engine: TrainEngine) -> tuple[int, int]:
    """Response tokens, and problems left out, of all ranks."""
    rows = [[int(each.responses.sizes.sum()), each.num_left_out] for each in rollouts]
    tokens, left_out = engine.all_gather(torch.tensor(rows)).sum(0).tolist()
    return tokens, left_out
