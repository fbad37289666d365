r"""Mixture-v0: the problems of several environments, each as often as its weight says.

    reasonenv.make(["MMK12-v0", "Figures-v1"], weights=[3, 1], num_envs=64, group_size=8)
    gymnasium.make_vec("reasonenv/Mixture-v0", envs=["MMK12-v0", "Figures-v1"], weights=[3, 1])

Description:
    A pass through the mixture holds every problem of every part at least once, and the parts in
    the proportion of their weights: the problems of a part that is smaller than its share are
    repeated, all equally often or one time more. Passes are shuffled, so that parts are mixed in
    every batch.

Action Space: text, as in the problem's own environment.
Observation Space: a dict of `system`, `question` and `images`, with the prompt of the problem's own
    environment unless one is selected for all.

Options:
    envs: ids of the parts. weights: of each, above 0; equal if absent. options: arguments of
    parts by id, such as {"Figures-v1": {"level": 2}}. split, data: of all of them; `data` must be
    a folder with one subfolder per data set.

Rewards: own (weight 1), the reward of the problem's own environment. With `rewards` selected by
    name, those instead, for all.

Splits:
    Those of its parts; by default "train", or the first of a part without it. Metadata "env" is
    the id of the part.

Version History:
    v0: Initial version.
"""

import importlib
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar

from reasonenv import entry_points
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.problem import LazySequence, Problem
from reasonenv.prompts import PromptTemplate, find_prompt
from reasonenv.registration import find
from reasonenv.rewards import Rewards, total

# The permutation of a pass is held in memory, eight bytes a problem.
_LONGEST_PASS = 50_000_000


@dataclass(frozen=True)
class Part:
    """An environment in a mixture.

    Args:
        id: Registered id.
        problems: Problems of its split.
        rewards: Its rewards.
        prompt: Its prompt.
        weight: Share of its problems, relative to the others.
    """

    id: str
    problems: Sequence[Problem]
    rewards: Rewards
    prompt: PromptTemplate
    weight: float


class Mixture(LazySequence[Problem]):
    """The problems of one pass, part by part.

    Args:
        parts: Of weights above 0.

    Raises:
        UsageError: When a pass would be too long to hold every problem once.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        whole = sum(part.weight for part in parts)
        length = max(len(part.problems) * whole / part.weight for part in parts)
        if length > _LONGEST_PASS:
            raise UsageError(f"weights so unequal need a pass of {length:.0f} problems")
        shares = (max(len(p.problems), round(length * p.weight / whole)) for p in parts)
        self._starts = [0, *accumulate(shares)]

    def __len__(self) -> int:
        return self._starts[-1]

    def item(self, index: int) -> Problem:
        """The problem at an index, with the id of its environment as metadata."""
        index = self.wrap(index)
        number = bisect_right(self._starts, index) - 1
        part = self.parts[number]
        problem = part.problems[(index - self._starts[number]) % len(part.problems)]
        return replace(problem, metadata={"env": part.id, **problem.metadata})


def problems(
    split: str | None = None,
    data: str | None = None,
    envs: Sequence[str] = (),
    weights: Sequence[float] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Mixture:
    """The problems of a mixture; see the module.

    Raises:
        UsageError: In one line, for weights or options that do not fit the environments.
    """
    ids = _ids(envs)
    weights = [1.0] * len(ids) if weights is None else list(weights)
    _check_weights(ids, weights)
    options = dict(options or {})
    for id in options:
        if id not in ids:
            raise UsageError(f"options: {id!r} is no part of the mixture of {', '.join(ids)}")
    return Mixture(
        [
            _part(id, weight, split, data, dict(options.get(id, {})))
            for id, weight in zip(ids, weights, strict=True)
        ]
    )


def _ids(envs: Sequence[str]) -> list[str]:
    if isinstance(envs, str) or not envs:
        raise UsageError(f"envs={envs!r}: give a list of environments to mix")
    ids = [find(name).id for name in envs]
    if len(set(ids)) < len(ids) or "Mixture-v0" in ids:
        raise UsageError(f"envs={ids}: each environment once, and no mixture among them")
    return ids


def _check_weights(ids: Sequence[str], weights: Sequence[float]) -> None:
    if len(weights) != len(ids):
        raise UsageError(f"{len(weights)} weights for {len(ids)} environments")
    for id, weight in zip(ids, weights, strict=True):
        if not isinstance(weight, int | float) or not math.isfinite(weight) or weight <= 0:
            raise UsageError(f"weight {weight!r} of {id}: a number above 0 is needed")


def _part(
    id: str, weight: float, split: str | None, data: str | None, options: dict[str, Any]
) -> Part:
    module = find(id).module
    env_module = importlib.import_module(module)
    if entry_points.takes_argument(env_module, "data"):
        options.setdefault("data", data)
    arguments = {"split": entry_points.resolve_split(env_module, split, options), **options}
    definition = entry_points.env_definition(module, arguments)
    if arguments:
        raise UsageError(f"options: {id} takes no argument {next(iter(arguments))!r} in a mixture")
    return Part(id, definition.problems, definition.rewards, find_prompt(definition.prompt), weight)


@dataclass(frozen=True)
class OwnReward:
    """The total of the rewards of the problem's own environment."""

    rewards: Mapping[str, Rewards]

    bounds: ClassVar = (-math.inf, math.inf)

    def __call__(self, response: str, problem: Problem, grade: Grade) -> float:
        """The total."""
        return total(self.rewards[str(problem.metadata["env"])], response, problem, grade)[0]


@dataclass(frozen=True)
class OwnPrompt:
    """The prompt of the problem's own environment."""

    prompts: Mapping[str, PromptTemplate]

    def ask(self, problem: Problem) -> tuple[str, str]:
        """The system text and the user text of a problem."""
        return self.prompts[str(problem.metadata["env"])].ask(problem)


def rewards(mixture: Mixture) -> Rewards:
    """The rewards of a mixture."""
    return {"own": (1.0, OwnReward({part.id: part.rewards for part in mixture.parts}))}


def prompt(mixture: Mixture) -> PromptTemplate:
    """The prompt of a mixture."""
    return OwnPrompt({part.id: part.prompt for part in mixture.parts})
