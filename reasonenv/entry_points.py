"""Gymnasium's entry points: from the module of an environment to the environment.

Such a module has

    problems(split="train", ...) -> Sequence[Problem]; with a parameter `data` if it reads files
    REWARDS: name -> (weight, function)
    PROMPT: name of the prompt, "plain" without one
    OFFICIAL: name of the prompt that "official" stands for, if there is any
    SPLITS: names of its splits, "train" or else the one that papers report first

or, where they depend on the problems, functions `rewards(problems)` and `prompt(problems)`, and
where they depend on the data, `splits(...)`, whose parameters are some of those of `problems`. A
module whose `problems` has a parameter `holdout` holds problems out itself.
"""

import difflib
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from reasonenv.datasets.schema import InvalidRow
from reasonenv.datasets.selection import INVALID, held_out, select
from reasonenv.env import ReasonEnv
from reasonenv.errors import UsageError
from reasonenv.problem import Problem
from reasonenv.prompts import PromptTemplate
from reasonenv.registration import find
from reasonenv.rewards import Rewards, by_name
from reasonenv.vector import ReasonVectorEnv

HELD_OUT = "heldout"
"""Name of the split that `holdout` takes out of the training split."""


def make_env(module: str, **kwargs: Any) -> ReasonEnv:
    """The environment of `module` for one problem at a time."""
    return _make(ReasonEnv, module, kwargs)


def make_vector_env(module: str, **kwargs: Any) -> ReasonVectorEnv:
    """The vectorised environment of `module`."""
    return _make(ReasonVectorEnv, module, kwargs)


make_env.metadata = ReasonEnv.metadata  # pyright: ignore[reportFunctionMemberAccess] - Gymnasium's


def _make(kind: Any, module: str, kwargs: dict[str, Any]) -> Any:
    """Divides the arguments between the module's `problems` and the class."""
    _check_names(importlib.import_module(module), kwargs, kind)
    leaves_out = kwargs.get("without") == INVALID
    definition = env_definition(module, kwargs)
    kwargs["prompt"] = definition.prompt
    env = kind(definition.problems, definition.rewards, **kwargs)
    if leaves_out:  # images are read when their problem is posed
        env.left_out = {}
    return env


@dataclass(frozen=True)
class EnvDefinition:
    """Problems, rewards and prompt of an environment, vectorised or not."""

    problems: Sequence[Problem]
    rewards: Rewards
    prompt: str | PromptTemplate


def env_definition(module: str, kwargs: dict[str, Any]) -> EnvDefinition:
    """The definition of an environment by its module; removes its arguments from `kwargs`.

    Args:
        module: Importable name; see above.
        kwargs: Parameters of `problems`, such as `split` and `data`; and of every environment
            `filter`, `without`, `holdout`, `rewards`, `unjudged`, `prompt`.

    Raises:
        UsageError: An argument does not fit.
        DataError: The data cannot be read.
    """
    env_module = importlib.import_module(module)
    if not takes_argument(env_module, "data"):
        _check_no_data(env_module, kwargs.pop("data", None))
    problems, keep = _problems(env_module, kwargs)
    problems = select(problems, kwargs.pop("filter", None), kwargs.pop("without", ()), keep)
    choice, unjudged = kwargs.pop("rewards", None), kwargs.pop("unjudged", 0.0)
    rewards = _rewards(env_module, problems, choice, unjudged)
    prompt = _prompt(env_module, problems, kwargs.pop("prompt", None))
    return EnvDefinition(problems, rewards, prompt)


def _problems(
    env_module: ModuleType, kwargs: dict[str, Any]
) -> tuple[Sequence[Problem], Callable[[str], bool] | None]:
    """The problems of a split, and a predicate of the ids to keep where some are held out.

    Removes the arguments of `problems`, `split` and `holdout` from `kwargs`.
    """
    split, keep = kwargs.pop("split", None), None
    if not _splits_depend_on_data(env_module):  # else `problems` itself looks for the split
        split = resolve_split(env_module, split, kwargs)
    names = set(inspect.signature(env_module.problems).parameters) & set(kwargs)
    arguments = {name: kwargs.pop(name) for name in names}
    holdout = kwargs.pop("holdout", None)
    if holdout is not None:
        keep = held_out(holdout, split == HELD_OUT)
        split = resolve_split(env_module, None, arguments) if split == HELD_OUT else split
    return env_module.problems(**arguments, **_split_argument(split)), keep


def all_problems(
    id: str,
    split: str | None = None,
    data: Any = None,
    options: Mapping[str, Any] | None = None,
) -> Sequence[Problem]:
    """All problems of an environment, unreadable ones included.

    Args:
        id: Of the environment.
        split: None for the default one.
        data: As in `reasonenv.make`.
        options: Further arguments; those that are not of its `problems` are ignored.

    Raises:
        UsageError: There is no such split, or the environment takes no data.
        DataError: The data cannot be read.
    """
    env_module = importlib.import_module(find(id).module)
    if not takes_argument(env_module, "data"):
        _check_no_data(env_module, data)
    return _problems(env_module, {**(options or {}), "split": split, "data": data})[0]


def invalid_rows(id: str, options: Mapping[str, Any]) -> list[InvalidRow]:
    """The rows of a split of data that make no problem.

    Args:
        id: Of the environment.
        options: Its arguments; rows that `without` or `holdout` leave out do not count.

    Raises:
        UsageError: An argument does not fit.
        DataError: The data cannot be read.
    """
    env_module = importlib.import_module(find(id).module)
    if not takes_argument(env_module, "data"):
        return []
    problems, keep = _problems(env_module, dict(options))
    rows = getattr(problems, "invalid_rows", dict)().values()
    without = options.get("without", ())
    if without == INVALID:
        return []
    return [row for row in rows if row.id not in without and (keep is None or keep(row.id))]


def _split_argument(split: str | None) -> dict[str, str]:
    """The split as an argument; None for the default of the module."""
    return {} if split is None else {"split": split}


def _check_no_data(env_module: ModuleType, data: object) -> None:
    if data is not None:
        raise UsageError(f"{env_module.__name__} makes its own problems and takes no data")


def takes_argument(env_module: ModuleType, name: str) -> bool:
    """True if `problems` of a module has a parameter of this name."""
    return name in inspect.signature(env_module.problems).parameters


def split_names(env_module: ModuleType, options: Mapping[str, Any]) -> Sequence[str]:
    """The splits of a module, with a held-out one where it holds problems out itself.

    Args:
        env_module: Of the environment.
        options: Arguments of its problems, on which they may depend.
    """
    if not _splits_depend_on_data(env_module):
        return getattr(env_module, "SPLITS", ())
    names = set(inspect.signature(env_module.splits).parameters) & set(options)
    return env_module.splits(**{name: options[name] for name in names})


def _splits_depend_on_data(env_module: ModuleType) -> bool:
    return callable(getattr(env_module, "splits", None))


def resolve_split(
    env_module: ModuleType, split: str | None, options: Mapping[str, Any] | None = None
) -> str | None:
    """The split itself; for None "train" if there is one, else the first.

    Args:
        env_module: Of the environment.
        split: Name of a split, or None.
        options: Further arguments of the environment, `holdout` among them.

    Raises:
        UsageError: When there is no such split.
    """
    options = options or {}
    splits = split_names(env_module, options)
    if split is None:
        return "train" if "train" in splits else next(iter(splits), None)
    if splits and split not in splits and (options.get("holdout") is None or split != HELD_OUT):
        name = env_module.__name__
        if split == HELD_OUT:
            raise UsageError(f"{name} holds nothing out unless holdout says how much, say 0.05")
        raise UsageError(f"{name} has no split {split!r}: there are {', '.join(splits)}")
    return split


def evaluation_split(id: str, options: Mapping[str, Any] | None = None) -> str:
    """The split that scores are reported on: the first but "train".

    Args:
        id: Of the environment.
        options: Its arguments, on which its splits may depend.
    """
    splits = split_names(importlib.import_module(find(id).module), options or {}) or ("test",)
    return next((split for split in splits if split != "train"), splits[0])


def takes_option(id: str, name: str) -> bool:
    """True if an environment has an argument of this name."""
    if name == "data":  # which others refuse
        return takes_argument(importlib.import_module(find(id).module), name)
    return name in _option_names(importlib.import_module(find(id).module), ReasonVectorEnv)


def _rewards(env_module: ModuleType, problems: Any, choice: Any, weight: Any) -> Rewards:
    """The rewards of a choice, else the module's own, and the reward without a verdict."""
    own = env_module.rewards(problems) if hasattr(env_module, "rewards") else env_module.REWARDS
    rewards = own if choice is None else by_name(choice, own)
    return rewards if weight == 0 else {**rewards, **by_name({"unjudged": weight})}


def _prompt(env_module: ModuleType, problems: Any, choice: Any) -> str | PromptTemplate:
    """The prompt of a choice, else the module's own; "official" is its `OFFICIAL`."""
    if choice is None:
        prompt = env_module.prompt(problems) if hasattr(env_module, "prompt") else None
        return prompt or getattr(env_module, "PROMPT", "plain")
    if choice not in ("official", "official:user"):
        return choice
    if not hasattr(env_module, "OFFICIAL"):
        raise UsageError(f"{env_module.__name__} has no official prompt: take cpgd, plain, ...")
    return choice.replace("official", env_module.OFFICIAL)


def _option_names(env_module: ModuleType, kind: Any) -> set[str]:
    """The arguments of an environment of a class."""
    parameters = {
        *inspect.signature(kind).parameters,
        *inspect.signature(env_module.problems).parameters,
    }
    return parameters - {"problems"} | {"split", "data", "filter", "without", "holdout", "unjudged"}


def _check_names(env_module: ModuleType, kwargs: dict[str, Any], kind: Any) -> None:
    names = _option_names(env_module, kind)
    for name in kwargs:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.65)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(sorted(names))}"
            # No TypeError, to which Gymnasium adds text of its own.
            raise UsageError(f"{env_module.__name__} takes no argument {name!r}: {hint}")
