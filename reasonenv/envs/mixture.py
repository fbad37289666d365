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
    training split of every part. without: "invalid" for every part, or ids.

Rewards: own (weight 1), the reward of the problem's own environment. With `rewards` selected by
    name, those instead, for all.

Splits:
    "train" (default): that of each part, or the first of a part without it. "test": what each part
    is evaluated on, every problem once, the first 500 of one that is drawn; a part without
    problems beside those to train on is left out. Other names: the split of each part. An id is
    that of the part and that of the problem, "GSM8K-v0/7"; metadata "env" is the part.

Version History:
    v0: Initial version.
"""

import importlib
import math
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from types import ModuleType
from typing import Any, ClassVar

from reasonenv import entry_points
from reasonenv.datasets.selection import INVALID, warn_once, without_images
from reasonenv.entry_points import LONGEST_SPLIT, NUM_GENERATED
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.problem import LazySequence, Problem
from reasonenv.prompts import PromptTemplate, find_prompt
from reasonenv.registration import find
from reasonenv.rewards import Rewards, total

CLUSTER = "cluster"
Options = Mapping[str, Mapping[str, Any]]

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
        cluster: Its `CLUSTER`.
    """

    id: str
    problems: Sequence[Problem]
    rewards: Rewards
    prompt: PromptTemplate
    weight: float
    cluster: str | None = None


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
        part, place = self._find(self.wrap(index))
        return _named(part, part.problems[place])

    def without_images(self, index: int) -> Problem:
        """A problem without its images, where they need not be read."""
        part, place = self._find(self.wrap(index))
        return _named(part, without_images(part.problems, place))

    def _find(self, index: int) -> tuple[Part, int]:
        number = bisect_right(self._starts, index) - 1
        part = self.parts[number]
        return part, (index - self._starts[number]) % len(part.problems)


class EvaluationMixture(Mixture):
    """Every problem of the parts once, one of each part in turn."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        sizes = (len(part.problems) for part in parts)
        counts = (NUM_GENERATED if size > LONGEST_SPLIT else size for size in sizes)
        self._places = sorted((i, number) for number, n in enumerate(counts) for i in range(n))

    def __len__(self) -> int:
        return len(self._places)

    def _find(self, index: int) -> tuple[Part, int]:
        place, number = self._places[index]
        return self.parts[number], place


def _named(part: Part, problem: Problem) -> Problem:
    """A problem of a part with an id, a cluster and metadata that no other part has."""
    cluster = problem.metadata.get(part.cluster) if part.cluster else None
    cluster = None if cluster in (None, "") else f"{part.id}/{cluster}"
    common = {"env": part.id, CLUSTER: cluster}
    metadata = {**common, **problem.metadata, **common}  # "env" first, the kind in evaluations
    return replace(problem, id=f"{part.id}/{problem.id}", metadata=metadata)


def splits(
    data: str | None = None,
    envs: Sequence[str] = (),
    options: Options | None = None,
    holdout: float | None = None,
) -> tuple[str, ...]:
    """Those of its parts together; no "train" where all are benchmarks without it."""
    own = part_options(envs, data, options, holdout)
    if not any("train" in entry_points.split_names(_module(id), own[id]) for id in own):
        return ("test",)
    return ("train", "test") if any(_has_unseen(id, own[id]) for id in own) else ("train",)


def problems(  # noqa: PLR0913, PLR0917 - arguments of a user
    split: str | None = None,
    data: str | None = None,
    envs: Sequence[str] = (),
    weights: Sequence[float] | None = None,
    options: Options | None = None,
    holdout: float | None = None,
    without: Collection[str] = (),
) -> Mixture:
    """The problems of a mixture; see the module.

    Of `without`, "invalid" goes to the parts; ids are left out of the whole mixture afterwards.

    Raises:
        UsageError: In one line, for weights or options that do not fit the environments.
    """
    own = part_options(envs, data, options, holdout)
    if without == INVALID:
        own = {id: {"without": INVALID, **each} for id, each in own.items()}
    weights = [1.0] * len(own) if weights is None else list(weights)
    _check_weights(list(own), weights)
    if split != "test":
        split = None if split == "train" else split
        pairs = zip(own, weights, strict=True)
        return Mixture([_part(id, weight, {"split": split, **own[id]}) for id, weight in pairs])
    if "train" in splits(data, envs, options, holdout):
        for id in [id for id in own if not _has_unseen(id, own[id])]:
            warn_once(f"{id} has no problems beside those to train on: the test leaves it out")
            del own[id]
    evaluation = {id: entry_points.evaluation_split(id, own[id]) for id in own}
    return EvaluationMixture([_part(id, 1.0, {**own[id], "split": evaluation[id]}) for id in own])


def part_options(
    envs: Sequence[str], data: str | None, options: Options | None, holdout: float | None
) -> dict[str, dict[str, Any]]:
    """The options of each part, by its id."""
    ids, options = _ids(envs), options or {}
    for id in options:
        if id not in ids:
            raise UsageError(f"options: {id!r} is no part of the mixture of {', '.join(ids)}")
    own: dict[str, dict[str, Any]] = {}
    for id in ids:
        takes_data = entry_points.takes_argument(_module(id), "data")
        common = {"data": data} if takes_data else {}
        common |= {} if holdout is None else {"holdout": holdout}
        own[id] = {**common, **options.get(id, {})}
    return own


def _has_unseen(id: str, options: Mapping[str, Any]) -> bool:
    """True if a part is evaluated on another split than it is trained on."""
    training = options.get("split") or entry_points.resolve_split(_module(id), None, options)
    return entry_points.evaluation_split(id, options) != training


def _module(id: str) -> ModuleType:
    return importlib.import_module(find(id).module)


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


def _part(id: str, weight: float, arguments: dict[str, Any]) -> Part:
    arguments |= {"split": entry_points.resolve_split(_module(id), arguments["split"], arguments)}
    definition = entry_points.env_definition(find(id).module, arguments)
    if arguments:
        raise UsageError(f"options: {id} takes no argument {next(iter(arguments))!r} in a mixture")
    prompt = find_prompt(definition.prompt)
    cluster = getattr(_module(id), "CLUSTER", None)
    return Part(id, definition.problems, definition.rewards, prompt, weight, cluster)


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
