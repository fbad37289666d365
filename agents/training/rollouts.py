"""One rollout: the problems that an environment has posed, responses to them, and their rewards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from agents.engines import RolloutEngine, TrainEngine
from agents.errors import typed_errors
from agents.monitoring.timing import Clock
from agents.rollout import Group, Responses
from reasonenv.rewards import overlong_penalty


@dataclass(frozen=True, eq=False)
class Generation:
    """A batch of problems, this rank's responses to them, and what these earned."""

    posed: Mapping[str, Sequence[Any]]
    """Observations of the vector environment."""
    responses: Responses
    rewards: np.ndarray
    """Of each response, overlong shaping included."""
    overlong: np.ndarray
    """What overlong shaping added, in [-1, 0]."""
    infos: Mapping[str, Any]
    """As the environment gave them with its rewards."""
    upcoming: Mapping[str, Sequence[Any]]
    """Observations of the problems that are posed next."""

    def groups(self, size: int) -> tuple[Responses, Group, Group]:
        """Responses, rewards and whether they are right, a row for each group of `size`."""
        values = (self.rewards, self.infos["accuracy"])
        reward, accuracy = (torch.as_tensor(v, dtype=torch.float32).view(-1, size) for v in values)
        return self.responses, reward, accuracy


def generate(
    envs: Any,
    sampler: RolloutEngine,
    posed: Mapping[str, Sequence[Any]],
    seed: tuple[int, ...],
    clock: Clock,
    overlong: Sequence[int] = (0, 0),
) -> Generation:
    """Answers what is posed and has it graded, which poses the next problems.

    Args:
        envs: Vector environment.
        sampler: Gives the responses.
        posed: What `envs` observed last.
        seed: Of the responses.
        clock: Told the seconds of rollout and grading.
        overlong: Longest response and length of the buffer before it, in tokens; a buffer of 0 is
            none. Source: Yu et al., DAPO (arXiv:2503.14476), eq. 13.
    """
    with clock("rollout"), typed_errors("sampling"):
        responses = sampler.generate(sampler.encode(posed), seed, envs.submit)
    with clock("grade"):
        upcoming, rewards, _, _, infos = envs.step(responses.texts)
    longest, buffer = overlong
    penalty = np.zeros(len(rewards))
    if buffer:
        penalty += [overlong_penalty(n, longest, buffer) for n in responses.lengths.tolist()]
    return Generation(posed, responses, rewards + penalty, penalty, infos, upcoming)


def reward_metrics(
    generations: Sequence[Generation], names: Sequence[str], engine: TrainEngine
) -> dict[str, float]:
    """Means over all responses of all ranks, also of those that are not trained on.

    Args:
        generations: Of one training step, as many on every rank and all of one size.
        names: Of the parts of the reward.
        engine: Of this rank.
    """
    rows = [_row(generation, names) for generation in generations]
    values = torch.tensor([list(row.values()) for row in rows], dtype=torch.float64)
    means = engine.all_gather(values).mean(0).tolist()
    return dict(zip(rows[0], means, strict=True))


def _row(generation: Generation, names: Sequence[str]) -> dict[str, float]:
    infos = generation.infos
    parts = {"reward/mean": generation.rewards, "response/overlong": generation.overlong}
    parts |= {f"reward/{name}": infos[name] for name in dict.fromkeys(names)}
    parts |= {f"grade/{status}": told for status, told in infos["grade"].items()}
    return {name: float(np.mean(np.asarray(value, np.float64))) for name, value in parts.items()}


def num_tokens(generations: Sequence[Generation], engine: TrainEngine) -> int:
    """Response tokens of all ranks."""
    mine = sum(int(generation.responses.lengths.sum()) for generation in generations)
    return int(engine.all_gather(torch.tensor([mine])).sum())
