"""From a module that describes an environment to the environment: Gymnasium's entry points.

Such a module has

    problems(split="train", ...) -> Sequence[Problem]; takes `data` if it reads files
    REWARDS: name -> (weight, function)
    PROMPT: name of the instruction, "plain" without one
    SPLITS: names of its splits
"""

import difflib
import importlib
import inspect
from types import ModuleType
from typing import Any

from reasonenv.env import ReasonEnv
from reasonenv.rewards import Rewards, by_name
from reasonenv.vector import ReasonVectorEnv


def make_env(module: str, **kwargs: Any) -> ReasonEnv:
    """The environment of `module` for one problem at a time."""
    return _make(ReasonEnv, module, kwargs)


def make_vector_env(module: str, **kwargs: Any) -> ReasonVectorEnv:
    """The vectorised environment of `module`."""
    return _make(ReasonVectorEnv, module, kwargs)


make_env.metadata = ReasonEnv.metadata  # pyright: ignore[reportFunctionMemberAccess] - Gymnasium's


def _make(kind: Any, module: str, kwargs: dict[str, Any]) -> Any:
    """Shares out the arguments between the module's `problems` and the class."""
    source = importlib.import_module(module)
    split = kwargs.setdefault("split", "train")
    splits = getattr(source, "SPLITS", (split,))
    if split not in splits:
        raise ValueError(f"{module} has no split {split!r}: there are {', '.join(splits)}")
    own = set(inspect.signature(source.problems).parameters)
    if "data" not in own and kwargs.pop("data", None) is not None:
        raise ValueError(f"{module} makes its own problems and takes no data")
    theirs = set(inspect.signature(kind).parameters) - {"problems"} | {"unjudged"}
    _check_names(source, kwargs, own | theirs)
    rewards = _rewards(source, kwargs.pop("rewards", None), kwargs.pop("unjudged", 0.0))
    problems = source.problems(**{name: kwargs.pop(name) for name in own & set(kwargs)})
    kwargs.pop("split", None)
    return kind(problems, rewards, **{"prompt": _prompt(source), **kwargs})


def _rewards(source: ModuleType, choice: Any, weight: Any) -> Rewards:
    """The module's own rewards or those that were chosen, and what no verdict is paid."""
    chosen = source.REWARDS if choice is None else by_name(choice, source.REWARDS)
    return chosen if weight == 0 else {**chosen, **by_name({"unjudged": weight})}


def _prompt(source: ModuleType) -> str:
    return getattr(source, "PROMPT", "plain")


def _check_names(source: ModuleType, kwargs: dict[str, Any], known: set[str]) -> None:
    for name in kwargs:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(sorted(known))}"
            # Not a TypeError, to which Gymnasium adds its own words.
            raise ValueError(f"{source.__name__} takes no argument {name!r}: {hint}")
