"""Rollouts: problems from an environment, sampled responses and their rewards."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents.engines import RolloutEngine, TrainEngine
from agents.errors import typed_errors
from agents.monitoring.timing import Clock
from agents.rollout import Group, Responses, RewardParts


@dataclass(frozen=True, eq=False)
class Rollout:
    """A batch of problems with this rank's responses and their rewards."""

    observations: Mapping[str, Sequence[Any]]
    """Problems, as observed from the vector environment."""
    responses: Responses
    rewards: np.ndarray
    """Reward of each response, overlong penalty included."""
    overlong_penalties: np.ndarray
    """Overlong penalty of each response, in [-1, 0]."""
    infos: Mapping[str, Any]
    """Infos of the environment's step."""
    next_observations: Mapping[str, Sequence[Any]]

    def groups(self, size: int, parts: Sequence[str] = ()) -> tuple[Responses, Group, Group]:
        """Responses, rewards and accuracies, the latter with a row for each group of `size`.

        Args:
            size: Responses of a group.
            parts: Components of the reward that the responses get, by name.
        """
        values = {name: self.infos[name] for name in parts}
        if parts:
            values["overlong_penalty"] = self.overlong_penalties
        parts_by_name = {name: _float32(value) for name, value in values.items()}
        responses = replace(self.responses, reward_parts=RewardParts(parts_by_name))
        reward, accuracy = _float32(self.rewards), _float32(self.infos["accuracy"])
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
    observations: Mapping[str, Sequence[Any]],
    seed: tuple[int, ...],
    clock: Clock,
    *,
    length_penalty: Callable[[int], float] | None = None,
    on_response: Callable[[int], None] = lambda count: None,
) -> Rollout:
    """Samples a response to each observation and steps the environment.

    Args:
        envs: Vector environment.
        sampler: Samples the responses.
        observations: Last ones of `envs`.
        seed: Of the responses.
        clock: Measures sampling and grading.
        length_penalty: Addition to the reward, in [-1, 0], by the length of a response in tokens.
        on_response: Called with the number of complete responses at each.
    """
    counts = itertools.count(1)

    def submit(index: int, response: str) -> None:
        envs.submit(index, response)
        on_response(next(counts))

    with clock("rollout"), typed_errors("sampling"):
        responses = sampler.generate(sampler.encode(observations), seed, submit)
    with clock("grade"):
        next_observations, rewards, _, _, infos = envs.step(responses.texts)
    penalties = np.zeros(len(rewards))
    if length_penalty:
        penalties += [length_penalty(length) for length in responses.lengths.tolist()]
    return Rollout(
        observations, responses, rewards + penalties, penalties, infos, next_observations
    )


def reward_metrics(
    rollouts: Sequence[Rollout], names: Sequence[str], engine: TrainEngine
) -> dict[str, float]:
    """Means over all responses of all ranks, including those that dynamic sampling drops.

    Args:
        rollouts: Of one training step; equal in number and size on every rank.
        names: Parts of the reward.
        engine: Of this rank.
    """
    rows = [_means(rollout, names) for rollout in rollouts]
    values = torch.tensor([list(row.values()) for row in rows], dtype=torch.float64)
    means = engine.all_gather(values).mean(0).tolist()
    return dict(zip(rows[0], means, strict=True))


def _means(rollout: Rollout, names: Sequence[str]) -> dict[str, float]:
    infos = rollout.infos
    parts = {"reward/mean": rollout.rewards, "response/overlong": rollout.overlong_penalties}
    parts |= {f"reward/{name}": infos[name] for name in dict.fromkeys(names)}
    parts |= {f"grade/{status}": flags for status, flags in infos["grade"].items()}
    return {name: float(np.mean(np.asarray(value, np.float64))) for name, value in parts.items()}


def count_tokens(rollouts: Sequence[Rollout], engine: TrainEngine) -> int:
    """Response tokens of all ranks."""
    count = sum(int(rollout.responses.lengths.sum()) for rollout in rollouts)
    return int(engine.all_gather(torch.tensor([count])).sum())
