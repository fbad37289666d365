r"""Mixture-v0: the problems of several environments, each as often as its weight says.

    reasonenv.make(["MMK12-v0", "Figures-v2"], weights=[3, 1], num_envs=64, group_size=8)
    gymnasium.make_vec("reasonenv/Mixture-v0", envs=["MMK12-v0", "Figures-v2"], weights=[3, 1])

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
    parts by id, such as {"Figures-v2": {"level": 2}}. split, data: of all of them; `data` must be
    a folder with one subfolder per data set. holdout: fraction that is held out of the
    training split of every part.

Rewards: own (weight 1), the reward of the problem's own environment. With `rewards` selected by
    name, those instead, for all.

Splits:
    "train" (default): that of each part, or the first of a part without it. "test": what each part
    is evaluated on, every problem once, the first 500 of one that is drawn; a part without
    problems beside those to train on is left out. "heldout": what `holdout` keeps out of each part,
    on which benchmarks alone are evaluated. Other names: the split of each part. An id is
    that of the part and that of the problem, "GSM8K-v0/7"; metadata "env" is the part.

Version History:
    v0: Initial version.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from reasonenv.datasets import ConcatRows
from reasonenv.datasets.schema import InvalidRow
from reasonenv.datasets.selection import Subset, invalid_rows_of, warn_once, without_images
from reasonenv.entry_points import define, takes_option
from reasonenv.environment import HELD_OUT, LONGEST_SPLIT, NUM_GENERATED, Environment
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.problem import LazyProblems, Problem
from reasonenv.prompts import PromptTemplate, find_prompt
from reasonenv.registration import find
from reasonenv.rewards import Rewards, total

_CLUSTER = "cluster"
Options = Mapping[str, Mapping[str, Any]]

# The problems of a pass and their permutation are held in memory, 16 bytes a problem.
_LONGEST_PASS = 50_000_000


@dataclass(frozen=True, eq=False)
class Part(LazyProblems):
    """An environment in a mixture: its problems, whose ids and clusters no other part has.

    Args:
        id: Registered id.
        problems: Problems of its split.
        rewards: Its rewards.
        prompt: Its prompt.
        weight: Share of its problems, relative to the others.
        cluster: Metadata that is the cluster of a problem.
    """

    id: str
    problems: Sequence[Problem]
    rewards: Rewards
    prompt: PromptTemplate
    weight: float
    cluster: str = ""

    def __len__(self) -> int:
        return len(self.problems)

    def make(self, index: int, with_images: bool) -> Problem:
        """The problem at an index, with the id of the part as metadata."""
        own = self.problems
        problem = own[index] if with_images else without_images(own, index)
        cluster = problem.metadata.get(self.cluster)
        cluster = None if cluster in (None, "") else f"{self.id}/{cluster}"
        common = {"env": self.id, _CLUSTER: cluster}
        metadata = {**common, **problem.metadata, **common}  # "env" first, the kind in evaluations
        return replace(problem, id=f"{self.id}/{problem.id}", metadata=metadata)

    def invalid_rows(self) -> dict[int, InvalidRow]:
        """Rows that make no problem, by number."""
        rows = invalid_rows_of(self.problems).items()
        return {i: replace(row, id=f"{self.id}/{row.id}") for i, row in rows}


class Mixture(Subset):
    """The problems of some parts.

    Args:
        parts: Of weights above 0.
        once: False for a pass of training, part by part, each as often as its weight says; True for
            an evaluation, in which each problem comes once, one of each part in turn.

    Raises:
        UsageError: When a pass would be too long to hold every problem once.
    """

    def __init__(self, parts: Sequence[Part], once: bool = False) -> None:
        self.parts = parts
        starts = [0, *accumulate(map(len, parts))]
        super().__init__(ConcatRows(parts), (_in_turn if once else _by_weight)(parts, starts))


def _by_weight(parts: Sequence[Part], starts: Sequence[int]) -> np.ndarray:
    whole = sum(part.weight for part in parts)
    length = max(len(part) * whole / part.weight for part in parts)
    if length > _LONGEST_PASS:
        raise UsageError(f"weights so unequal need a pass of {length:.0f} problems")
    shares = (max(len(part), round(length * part.weight / whole)) for part in parts)
    places = (np.arange(share) % len(part) for part, share in zip(parts, shares, strict=True))
    return np.concatenate([start + each for start, each in zip(starts, places, strict=False)])


def _in_turn(parts: Sequence[Part], starts: Sequence[int]) -> list[int]:
    counts = (NUM_GENERATED if len(part) > LONGEST_SPLIT else len(part) for part in parts)
    places = sorted((i, number) for number, n in enumerate(counts) for i in range(n))
    return [starts[number] + i for i, number in places]


def splits(
    data: str | None = None,
    envs: Sequence[str] = (),
    options: Options | None = None,
    holdout: float | None = None,
) -> tuple[str, ...]:
    """Those of its parts together; no "train" where all are benchmarks without it."""
    own = _part_options(envs, data, options, holdout)
    if not any("train" in find(id).split_names(own[id]) for id in own):
        return ("test",) if holdout is None else ("test", HELD_OUT)
    return ("train", "test") if any(_has_unseen(id, own[id]) for id in own) else ("train",)


def problems(
    split: str | None = None,
    data: str | None = None,
    envs: Sequence[str] = (),
    weights: Sequence[float] | None = None,
    options: Options | None = None,
    holdout: float | None = None,
) -> Mixture:
    """The problems of a mixture; see the module.

    Raises:
        UsageError: In one line, for weights or options that do not fit the environments.
    """
    own = _part_options(envs, data, options, holdout)
    shares = _shares(own, weights)
    if split == "test":
        if "train" in splits(data, envs, options, holdout):
            for id in [id for id in own if not _has_unseen(id, own[id])]:
                warn_once(f"{id} has no problems beside those to train on: the test leaves it out")
                del own[id]
        for id, each in own.items():
            each["split"] = find(id).evaluation_split(each)
    elif split not in (None, "train"):
        own = {id: {"split": split, **each} for id, each in own.items()}
    parts = [_part(id, shares[id], each) for id, each in own.items()]
    return Mixture(parts, once=split in ("test", HELD_OUT))


def _part_options(
    envs: Sequence[str], data: str | None, options: Options | None, holdout: float | None
) -> dict[str, dict[str, Any]]:
    is_list = isinstance(envs, Sequence) and not isinstance(envs, str)
    if not is_list or not envs or not all(isinstance(name, str) for name in envs):
        raise UsageError(f"envs={envs!r}: give a list of environments to mix")
    ids, options = [find(name).id for name in envs], options or {}
    if len(set(ids)) < len(ids) or "Mixture-v0" in ids:
        raise UsageError(f"envs={ids}: each environment once, and no mixture among them")
    tables = options.values() if isinstance(options, Mapping) else (None,)
    if not all(isinstance(table, Mapping) for table in tables):
        raise UsageError(f"options={options!r}: give a dict of options for each part by its id")
    for id in options.keys() - ids:
        raise UsageError(f"options: {id!r} is no part of the mixture of {', '.join(ids)}")
    folders = {id: data if takes_option(id, "data") else None for id in ids}
    return {
        id: {"data": folder, "holdout": holdout, **options.get(id, {})}
        for id, folder in folders.items()
    }


def _has_unseen(id: str, options: Mapping[str, Any]) -> bool:
    """True if a part is evaluated on another split than it is trained on."""
    environment = find(id)
    training = options.get("split") or environment.resolve_split(None, options)
    return environment.evaluation_split(options) != training


def _shares(ids: Iterable[str], weights: Sequence[float] | None) -> dict[str, float]:
    if not isinstance(weights, Iterable | None):
        raise UsageError(f"weights={weights!r}: give a list of numbers, one for each environment")
    ids = list(ids)
    weights = [1.0] * len(ids) if weights is None else list(weights)
    if len(weights) != len(ids):
        raise UsageError(f"{len(weights)} weights for {len(ids)} environments")
    for id, weight in zip(ids, weights, strict=True):
        if not isinstance(weight, int | float) or not math.isfinite(weight) or weight <= 0:
            raise UsageError(f"weight {weight!r} of {id}: a number above 0 is needed")
    return dict(zip(ids, weights, strict=True))


def _part(id: str, weight: float, arguments: dict[str, Any]) -> Part:
    environment = find(id)
    for other, problems in environment.overlaps.items():
        warn_once(f"{id} shares problems with {other}, {problems}: scores on it would be too high")
    if environment.tools is not None:
        raise UsageError(f"{id} has episodes of several turns: a mixture has those of one response")
    arguments |= {"split": environment.resolve_split(arguments.get("split"), arguments)}
    problems, rewards, prompt = define(environment, arguments)
    if arguments:
        raise UsageError(f"options: {id} takes no argument {next(iter(arguments))!r} in a mixture")
    return Part(id, problems, rewards, find_prompt(prompt), weight, environment.cluster)


class _OwnPart:
    """The reward, and the prompt, of the problem's own environment."""

    bounds: ClassVar = (-math.inf, math.inf)

    def __init__(self, mixture: Mixture) -> None:
        self._parts = {part.id: (part.rewards, part.prompt) for part in mixture.parts}

    def __call__(self, response: str, problem: Problem, grade: Grade) -> float:
        """The total of the rewards."""
        rewards, _ = self._parts[str(problem.metadata["env"])]
        return total(rewards, response, problem, grade)[0]

    def ask(self, problem: Problem) -> tuple[str, str]:
        """The system text and the user text of a problem."""
        _, prompt = self._parts[str(problem.metadata["env"])]
        return prompt.ask(problem)


def default_model(envs: Any = (), options: Any = None) -> str:
    """The default model of the first part."""
    first = envs[0] if isinstance(envs, list | tuple) and envs else ""
    own = (options or {}).get(first, {}) if isinstance(options, dict) else {}
    return find(first).default_model(own) if isinstance(first, str) and first else "tiny"


ENVIRONMENT = Environment(
    id="Mixture-v0",
    problems=problems,
    splits=splits,
    rewards=lambda mixture: {"own": (1.0, _OwnPart(mixture))},
    prompt=_OwnPart,
    cluster=_CLUSTER,
    model=default_model,
)
