"""Gymnasium's entry points: from the module of an environment to the environment.

Such a module has

    problems(split="train", ...) -> Sequence[Problem]; with a parameter `data` if it reads files
    REWARDS: name -> (weight, function)
    PROMPT: name of the prompt, "plain" without one
    OFFICIAL: name of the prompt that "official" stands for, if there is any
    SPLITS: names of its splits, "train" or else the one that papers report first

or, where they depend on the problems, functions `rewards(problems)` and `prompt(problems)`.
"""

import difflib
import importlib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from reasonenv.datasets.selection import held_out, select
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
    parameters = set(inspect.signature(kind).parameters) - {"problems"}
    _check_names(importlib.import_module(module), kwargs, parameters)
    definition = env_definition(module, kwargs)
    kwargs["prompt"] = definition.prompt
    return kind(definition.problems, definition.rewards, **kwargs)


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
    holdout = kwargs.pop("holdout", None)
    split = resolve_split(env_module, kwargs.pop("split", None), holdout)
    keep = None
    if holdout is not None:
        keep = held_out(holdout, split == HELD_OUT)
        split = resolve_split(env_module, None) if split == HELD_OUT else split
    names = set(inspect.signature(env_module.problems).parameters) & set(kwargs)
    arguments = {name: kwargs.pop(name) for name in names}
    problems = env_module.problems(**arguments, **_split_argument(split))
    problems = select(problems, kwargs.pop("filter", None), kwargs.pop("without", ()), keep)
    choice, unjudged = kwargs.pop("rewards", None), kwargs.pop("unjudged", 0.0)
    rewards = _rewards(env_module, problems, choice, unjudged)
    prompt = _prompt(env_module, problems, kwargs.pop("prompt", None))
    return EnvDefinition(problems, rewards, prompt)


def all_problems(id: str, split: str | None = None, data: str | None = None) -> Sequence[Problem]:
    """All problems of an environment, unreadable ones included.

    Raises:
        UsageError: There is no such split, or the environment takes no data.
        DataError: The data cannot be read.
    """
    env_module = importlib.import_module(find(id).module)
    arguments = _split_argument(resolve_split(env_module, split))
    if takes_argument(env_module, "data"):
        return env_module.problems(data=data, **arguments)
    _check_no_data(env_module, data)
    return env_module.problems(**arguments)


def _split_argument(split: str | None) -> dict[str, str]:
    """The split as an argument; None for the default of the module."""
    return {} if split is None else {"split": split}


def _check_no_data(env_module: ModuleType, data: object) -> None:
    if data is not None:
        raise UsageError(f"{env_module.__name__} makes its own problems and takes no data")


def takes_argument(env_module: ModuleType, name: str) -> bool:
    """True if `problems` of a module has a parameter of this name."""
    return name in inspect.signature(env_module.problems).parameters


def resolve_split(env_module: ModuleType, split: str | None, holdout: object = None) -> str | None:
    """The split itself; for None "train" if there is one, else the first of `SPLITS`.

    Raises:
        UsageError: When there is no such split.
    """
    splits: Sequence[str] = getattr(env_module, "SPLITS", ())
    if split is None:
        return "train" if "train" in splits else next(iter(splits), None)
    if splits and split not in splits and (holdout is None or split != HELD_OUT):
        name = env_module.__name__
        if split == HELD_OUT:
            raise UsageError(f"{name} holds nothing out unless holdout says how much, say 0.05")
        raise UsageError(f"{name} has no split {split!r}: there are {', '.join(splits)}")
    return split


def evaluation_split(id: str) -> str:
    """The split that scores are reported on: the first but "train"."""
    splits = getattr(importlib.import_module(find(id).module), "SPLITS", ("test",))
    return next((split for split in splits if split != "train"), splits[0])


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
    if choice != "official":
        return choice
    if not hasattr(env_module, "OFFICIAL"):
        raise UsageError(f"{env_module.__name__} has no official prompt: take cpgd, plain, ...")
    return env_module.OFFICIAL


def _check_names(env_module: ModuleType, kwargs: dict[str, Any], parameters: set[str]) -> None:
    parameters = parameters | set(inspect.signature(env_module.problems).parameters)
    names = parameters | {"split", "data", "filter", "without", "holdout", "unjudged"}
    for name in kwargs:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.65)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(sorted(names))}"
            # No TypeError, to which Gymnasium adds text of its own.
            raise UsageError(f"{env_module.__name__} takes no argument {name!r}: {hint}")
