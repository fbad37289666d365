"""Gymnasium's entry points: from a registered environment and arguments to the environment."""

import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from reasonenv.datasets.schema import InvalidRow
from reasonenv.datasets.selection import INVALID, check_rows, held_out, invalid_rows_of, select
from reasonenv.env import ReasonEnv
from reasonenv.environment import HELD_OUT, Environment
from reasonenv.errors import MissingDataError, UsageError
from reasonenv.problem import Problems
from reasonenv.prompts import PromptTemplate
from reasonenv.registration import find
from reasonenv.rewards import Rewards, accuracy, by_name, calls
from reasonenv.vector import ReasonVectorEnv

_OPTIONS = frozenset({"split", "data", "filter", "without", "holdout", "unjudged"})


def make_env(environment: str, **kwargs: Any) -> ReasonEnv:
    """The environment of an id for one problem at a time."""
    return _make(ReasonEnv, find(environment), kwargs)


def make_vector_env(environment: str, **kwargs: Any) -> ReasonVectorEnv:
    """The vectorised environment of an id."""
    return _make(ReasonVectorEnv, find(environment), kwargs)


make_env.metadata = ReasonEnv.metadata  # pyright: ignore[reportFunctionMemberAccess] - Gymnasium's


def _make(kind: Any, environment: Environment, kwargs: dict[str, Any]) -> Any:
    """Divides the arguments between the problems and the class."""
    names = _option_names(environment, kind)
    for name in kwargs.keys() - names:
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.65)
        hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(sorted(names))}"
        # No TypeError, to which Gymnasium adds text of its own.
        raise UsageError(f"{environment.id} takes no argument {name!r}: {hint}")
    leaves_out, tools = kwargs.get("without") == INVALID, environment.toolbox(kwargs)
    kwargs.pop("max_calls", None)
    problems, rewards, prompt = define(environment, kwargs)
    check_rows(problems)
    env = kind(problems, rewards, prompt=prompt, tools=tools, **kwargs)
    if leaves_out:  # images are read when their problem is posed
        env.left_out = {}
    return env


def define(
    environment: Environment, kwargs: dict[str, Any]
) -> tuple[Problems, Rewards, str | PromptTemplate]:
    """Problems, rewards and prompt by some arguments, which are removed from `kwargs`.

    Some of the problems may be rows that make none; see `selection.check_rows`.

    Args:
        environment: A registered one.
        kwargs: Arguments of its problems, such as `split` and `data`; and of every environment
            `filter`, `without`, `holdout`, `rewards`, `unjudged`, `prompt`.

    Raises:
        UsageError: An argument does not fit.
        DataError: The data cannot be read.
    """
    siblings = partial(_every_split, environment, {**kwargs, "holdout": None})
    problems, keep = _problems(environment, kwargs)
    filter, without = kwargs.pop("filter", None), kwargs.pop("without", environment.without)
    problems = select(problems, environment.filter)
    chosen = select(problems, filter, without, keep, siblings, environment.cluster)
    rewards = environment.rewards or {"accuracy": (1.0, accuracy)}
    rewards = rewards(problems) if callable(rewards) else rewards
    rewards = {"calls": (0.0, calls), **rewards} if environment.tools else rewards
    if (choice := kwargs.pop("rewards", None)) is not None:
        rewards = by_name(choice, rewards)
    if unjudged := kwargs.pop("unjudged", 0):
        rewards = {**rewards, **by_name({"unjudged": unjudged})}
    return chosen, rewards, _prompt(environment, problems, kwargs.pop("prompt", None))


def _problems(
    environment: Environment, kwargs: dict[str, Any]
) -> tuple[Problems, Callable[[str], bool] | None]:
    """The problems of a split, and a predicate of ids or clusters to keep if some are held out.

    Removes the arguments of the problems, `split` and `holdout` from `kwargs`.
    """
    if "data" not in environment.parameters and kwargs.pop("data", None) is not None:
        raise UsageError(
            f"{environment.id} makes its own problems and takes no data: your own questions are "
            "--env file --data FILE, in Python make('file', data=...)"
        )
    split, keep = kwargs.pop("split", None), None
    if not callable(environment.splits):  # else `problems` itself looks for the split
        split = environment.resolve_split(split, kwargs)
    arguments = {name: kwargs.pop(name) for name in environment.parameters & set(kwargs)}
    holdout = kwargs.pop("holdout", None)
    if holdout is not None:
        training, is_inside = environment.resolve_split(None, arguments), split == HELD_OUT
        keep = held_out(holdout, is_inside)
        split = training if is_inside else split
        # Splits beside "train" are whole; those of a benchmark overlap, so each lacks these ids.
        keep = keep if training != "train" or split in (None, "train") else None
    if split is not None:
        arguments["split"] = split
    return environment.load(**arguments), keep


def _every_split(environment: Environment, options: dict[str, Any]) -> Iterator[Problems]:
    for split in environment.split_names(options):
        with suppress(MissingDataError):
            yield _problems(environment, {**options, "split": split})[0]


def all_problems(
    id: str,
    split: str | None = None,
    data: Any = None,
    options: Mapping[str, Any] | None = None,
) -> Problems:
    """All problems of an environment, unreadable ones included.

    Args:
        id: Of the environment.
        split: None for the default one.
        data: As in `reasonenv.make`.
        options: Further arguments of its problems, among others, which are ignored.

    Raises:
        UsageError: There is no such split, or the environment takes no data.
        DataError: The data cannot be read.
    """
    return _problems(find(id), {**(options or {}), "split": split, "data": data})[0]


def invalid_rows(id: str, options: Mapping[str, Any]) -> list[InvalidRow]:
    """The rows of a split of data that make no problem and that no argument leaves out.

    Raises:
        UsageError: An argument does not fit.
        DataError: The data cannot be read.
    """
    return list(invalid_rows_of(define(find(id), dict(options))[0]).values())


def takes_option(id: str, name: str) -> bool:
    """True if an environment has an argument of this name."""
    if name == "data":  # which others refuse
        return name in find(id).parameters
    return name in _option_names(find(id), ReasonVectorEnv)


def _prompt(environment: Environment, problems: Any, choice: Any) -> str | PromptTemplate:
    """The prompt of a choice, else the environment's own; "official" is its `official`."""
    if choice is None:
        own = environment.prompt
        return own(problems) if callable(own) else own
    if choice not in ("official", "official:user"):
        return choice
    if not environment.official:
        raise UsageError(f"{environment.id} has no official prompt: take cpgd, plain, ...")
    return choice.replace("official", environment.official)


def _option_names(environment: Environment, kind: Any) -> frozenset[str]:
    own = set(inspect.signature(kind).parameters) - {"problems", "tools"}
    calls = {"max_calls"} if environment.tools else set()
    return environment.parameters | own | calls | _OPTIONS
