"""From a module that describes an environment to the environment: Gymnasium's entry points.

Such a module has

    problems(split="train", ...) -> Sequence[Problem]; takes `data` if it reads files
    REWARDS: name -> (weight, function)
    PROMPT: name of the instruction, "plain" without one
    OFFICIAL: name of the instruction that "official" stands for, if there is any
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
from reasonenv.prompts import Asking
from reasonenv.registration import find
from reasonenv.rewards import Rewards, by_name
from reasonenv.vector import ReasonVectorEnv

HELD_OUT = "heldout"
"""The split that `holdout` takes out of the training split."""


def make_env(module: str, **kwargs: Any) -> ReasonEnv:
    """The environment of `module` for one problem at a time."""
    return _make(ReasonEnv, module, kwargs)


def make_vector_env(module: str, **kwargs: Any) -> ReasonVectorEnv:
    """The vectorised environment of `module`."""
    return _make(ReasonVectorEnv, module, kwargs)


make_env.metadata = ReasonEnv.metadata  # pyright: ignore[reportFunctionMemberAccess] - Gymnasium's


def _make(kind: Any, module: str, kwargs: dict[str, Any]) -> Any:
    """Shares out the arguments between the module's `problems` and the class."""
    theirs = set(inspect.signature(kind).parameters) - {"problems"}
    _check_names(importlib.import_module(module), kwargs, theirs)
    made = content(module, kwargs)
    return kind(made.problems, made.rewards, **{**kwargs, "prompt": made.prompt})


@dataclass(frozen=True)
class Content:
    """What an environment is made of, whatever its class."""

    problems: Sequence[Problem]
    rewards: Rewards
    prompt: str | Asking


def content(module: str, kwargs: dict[str, Any]) -> Content:
    """What `module` describes, with the arguments that concern it, which are taken out.

    Args:
        module: See above.
        kwargs: `split`, `data` and whatever else its `problems` takes; and of every environment
            `filter`, `without`, `holdout`, `rewards`, `unjudged`, `prompt`.

    Raises:
        UsageError: An argument does not fit.
        DataError: The data cannot be read.
    """
    source = importlib.import_module(module)
    if not takes(source, "data"):
        _check_no_data(source, kwargs.pop("data", None))
    holdout = kwargs.pop("holdout", None)
    split = split_of(source, kwargs.pop("split", None), holdout)
    keep = None
    if holdout is not None:
        keep = held_out(holdout, split == HELD_OUT)
        split = split_of(source, None) if split == HELD_OUT else split
    own = set(inspect.signature(source.problems).parameters) & set(kwargs)
    told = {name: kwargs.pop(name) for name in own}
    problems = source.problems(**told, **_given(split))
    problems = select(problems, kwargs.pop("filter", None), kwargs.pop("without", ()), keep)
    rewards = _rewards(source, problems, kwargs.pop("rewards", None), kwargs.pop("unjudged", 0.0))
    return Content(problems, rewards, _prompt(source, problems, kwargs.pop("prompt", None)))


def all_problems(id: str, split: str | None = None, data: str | None = None) -> Sequence[Problem]:
    """The problems of an environment as they are, whether or not each can be read.

    Raises:
        UsageError: There is no such split, or the environment takes no data.
        DataError: The data cannot be read.
    """
    source = importlib.import_module(find(id).module)
    given = _given(split_of(source, split))
    if takes(source, "data"):
        return source.problems(data=data, **given)
    _check_no_data(source, data)
    return source.problems(**given)


def _given(split: str | None) -> dict[str, str]:
    """The split as an argument; none leaves it to the module."""
    return {} if split is None else {"split": split}


def _check_no_data(source: ModuleType, data: object) -> None:
    if data is not None:
        raise UsageError(f"{source.__name__} makes its own problems and takes no data")


def takes(source: ModuleType, name: str) -> bool:
    """Whether the problems of a module take an argument."""
    return name in inspect.signature(source.problems).parameters


def split_of(source: ModuleType, split: str | None, holdout: object = None) -> str | None:
    """The split itself; without one "train" where it is, else the first of `SPLITS`, if any.

    Raises:
        UsageError: When there is no such split.
    """
    splits: Sequence[str] = getattr(source, "SPLITS", ())
    if split is None:
        return "train" if "train" in splits else next(iter(splits), None)
    if splits and split not in splits and (holdout is None or split != HELD_OUT):
        name = source.__name__
        if split == HELD_OUT:
            raise UsageError(f"{name} holds nothing out unless holdout says how much, say 0.05")
        raise UsageError(f"{name} has no split {split!r}: there are {', '.join(splits)}")
    return split


def evaluation_split(id: str) -> str:
    """The split of an environment that scores are reported on: the first but "train"."""
    splits = getattr(importlib.import_module(find(id).module), "SPLITS", ("test",))
    return next((split for split in splits if split != "train"), splits[0])


def _rewards(source: ModuleType, problems: Any, choice: Any, weight: Any) -> Rewards:
    """The module's own rewards or those that were chosen, and what no verdict is paid."""
    own = source.rewards(problems) if hasattr(source, "rewards") else source.REWARDS
    chosen = own if choice is None else by_name(choice, own)
    return chosen if weight == 0 else {**chosen, **by_name({"unjudged": weight})}


def _prompt(source: ModuleType, problems: Any, choice: Any) -> str | Asking:
    """The module's own prompt, or the one that was chosen; "official" is what it calls so."""
    if choice is None:
        made = source.prompt(problems) if hasattr(source, "prompt") else None
        return made or getattr(source, "PROMPT", "plain")
    if choice != "official":
        return choice
    if not hasattr(source, "OFFICIAL"):
        raise UsageError(f"{source.__name__} has no official prompt: take cpgd, plain, ...")
    return source.OFFICIAL


def _check_names(source: ModuleType, kwargs: dict[str, Any], theirs: set[str]) -> None:
    own = set(inspect.signature(source.problems).parameters)
    known = own | theirs | {"split", "data", "filter", "without", "holdout", "unjudged"}
    for name in kwargs:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.65)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(sorted(known))}"
            # Not a TypeError, to which Gymnasium adds its own words.
            raise UsageError(f"{source.__name__} takes no argument {name!r}: {hint}")
