"""The registry of environments: registration, lookup and construction."""

import difflib
import importlib
import json
import os
import re
from collections.abc import Sequence
from typing import Any

import gymnasium

from reasonenv.environment import Environment
from reasonenv.errors import UsageError

NAMESPACE = "reasonenv"
LIBRARIES = {"reasoning_gym": "reasonenv.adapters.reasoning_gym"}
"""Libraries with tasks "library/task": name -> module with `register_task(task)`."""
RETIRED = {"Figures-v0": "Figures-v2", "Figures-v1": "Figures-v2"}
"""Environments that release 0.3.0 was the last to have -> the one in their place."""


class UnknownEnvironmentError(UsageError, gymnasium.error.NameNotFound):
    """Raised when no environment has the requested name."""


registry: dict[str, Environment | str] = {}
"""Environments by id; of one that is not imported yet its module."""


def register(environment: Environment) -> Environment:
    """Registers an environment, with Gymnasium too; returns it."""
    _register(environment.id, environment)
    return environment


def _register(id: str, entry: Environment | str) -> None:
    registry[id] = entry
    gymnasium.register(
        id=_gymnasium_id(id),
        entry_point="reasonenv.entry_points:make_env",
        vector_entry_point="reasonenv.entry_points:make_vector_env",
        kwargs={"environment": id},
    )


def _gymnasium_id(id: str) -> str:
    return id if "/" in id else f"{NAMESPACE}/{id}"


def make(
    id: str | Sequence[str],
    num_envs: int | None = None,
    group_size: int = 1,
    split: str | None = None,
    data: Any = None,
    num_workers: int | None = None,
    **kwargs: Any,
) -> Any:
    """An environment by name: one problem at a time, or vectorised when `num_envs` is given.

    The same object as `gymnasium.make` and `gymnasium.make_vec` give for "reasonenv/<id>".

    Args:
        id: A registered name such as "Figures-v2", with or without "reasonenv/", or
            "module:Mine-v0", whose module is imported first, or a task of another library,
            "reasoning_gym/chain_sum": see `reasonenv.adapters.reasoning_gym`. Several are mixed,
            each as often as `weights` says: see `reasonenv.envs.mixture`.
        num_envs: Responses of one step; None for a `gymnasium.Env` with a single one.
        group_size: Consecutive sub-environments that share a problem; divides `num_envs`.
        split: Split of the data set; None for "train", or the main one of a benchmark.
        data: Folder with local files of the data set; None for `REASONENV_DATA`, then the hub. Of
            "file", your questions: a path, a list of dicts, a `datasets.Dataset`, a data frame.
        num_workers: Number of grading processes; None for the number of CPU cores, at most 8.
        **kwargs: Further arguments of the environment: `rewards`, names and weights instead of
            its own (see `reasonenv.rewards`); `unjudged`, the reward of an answer without a
            verdict (0.0); `prompt`, such as "official" (see `reasonenv.prompts`); `filter`, such
            as {"subject": ["algebra"], "level": [1, 2]} of the problems' metadata; `without`, ids
            to exclude, or "invalid"; `holdout`, a fraction of the training split that is taken out
            of it as the split "heldout"; `rank`, `render_mode`, `level` ...;
            `max_calls` of an environment with tools, 0 for none

    Raises:
        gymnasium.error.NameNotFound: When no environment has this name.
        UsageError: When an argument does not fit; the line says which.
    """
    if not isinstance(id, str):
        id, kwargs = "Mixture-v0", {**kwargs, "envs": list(id)}
    name = _gymnasium_id(find(id).id)
    # The spec of an environment is written as JSON, which knows no paths.
    data = os.fspath(data) if isinstance(data, os.PathLike) else data
    options = {"split": split, "data": data, "num_workers": num_workers, **kwargs}
    if num_envs is not None:
        return gymnasium.make_vec(name, num_envs=num_envs, group_size=group_size, **options)
    if group_size != 1:
        raise UsageError(f"group_size={group_size} needs num_envs, a multiple of it")
    return gymnasium.make(name, **options)


def find(id: str) -> Environment:
    """The environment of an id.

    As in Gymnasium, the module of "module:Mine-v0" is imported first, which registers it.

    Raises:
        UnknownEnvironmentError: No environment has this name, or its module is not found; one
            line with the nearest names or the successor, and a `gymnasium.error.NameNotFound` too.
    """
    module, _, name = id.rpartition(":")
    if module:
        _import(module, id)
    name = name.removeprefix(f"{NAMESPACE}/")
    library, _, task = name.partition("/")
    if library in LIBRARIES and name not in registry:
        importlib.import_module(LIBRARIES[library]).register_task(task)
    if isinstance(entry := registry.get(name), str):
        values = vars(importlib.import_module(entry)).values()
        registry.update({each.id: each for each in values if isinstance(each, Environment)})
        entry = registry[name]
    if isinstance(entry, Environment):
        return entry
    if name in RETIRED:
        raise UnknownEnvironmentError(
            f"{name} has become {RETIRED[name]}: take that, or release 0.3.0 of reasonenv, which "
            f"reproduces records made with {name}"
        )
    if os.path.exists(id):
        raise UnknownEnvironmentError(
            f"no environment is called {id!r}: your own questions are --env file --data {id}, in "
            f"Python make('file', data={id!r})"
        )
    ids = {_without_version(id): id for id in registry}
    near = difflib.get_close_matches(_without_version(name), ids, n=1, cutoff=0.7)
    if "," in name:
        parts = json.dumps(name.split(","))
        raise UnknownEnvironmentError(
            f"no environment is called {id!r}: several are mixed by --env Mixture-v0 --env-options "
            f"'{{\"envs\": {parts}}}', in Python make({parts})"
        )
    own = f"one that your module registers is module:{name}; there are {', '.join(registry)}"
    hint = f"did you mean {ids[near[0]]}?" if near else own
    raise UnknownEnvironmentError(f"no environment is called {id!r}: {hint}")


def _without_version(id: str) -> str:
    return re.sub(r"-v\d+$", "", id.lower())


def environments() -> list[Environment]:
    """All registered environments; those of other libraries once they were used."""
    return [find(id) for id in registry]


def _import(module: str, id: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        hint = "run in its folder, or add the folder to PYTHONPATH"
        if module.endswith(".py"):
            hint = f"write {id.replace('.py:', ':')}"
        raise UnknownEnvironmentError(
            f"no module is called {module!r}, which was to register {id!r}: {hint}"
        ) from None


_MODULES: dict[str, tuple[str, ...]] = {
    "figures": ("Figures-v2",),
    "diagrams": ("Diagrams-v0",),
    "paper_benchmarks": ("MMK12-v0", "MathVista-v0", "MathVerse-v0", "MathVision-v0", "WeMath-v0"),
    "olympiadbench": ("OlympiadBench-v0",),
    "text_benchmarks": (
        *("AIME24-v0", "AIME25-v0", "AIME26-v0", "HMMTFeb25-v0", "HMMTNov25-v0", "HMMTFeb26-v0"),
        *("BeyondAIME-v0", "PolyMath-v0", "AMC23-v0", "MATH500-v0", "GSM8K-v0"),
        *("DAPOMath17k-v0", "MinervaMath-v0"),
    ),
    "image_benchmarks": (
        *("MMMUPro-v0", "LogicVista-v0", "DynaMath-v0", "Geometry3K-v0", "ViRL39K-v0"),
        *("CharXivNumeric-v0", "EMMA-v0", "VisuLogic-v0"),
    ),
    "word_problems": ("WordProblems-v0",),
    "sums": ("Sum-v0",),
    "zoom": ("Zoom-v0",),
    "measure": ("Measure-v0",),
    "mixture": ("Mixture-v0",),
    "file": ("file",),
}
BUILT_IN = {id: module for module, ids in _MODULES.items() for id in ids}
"""Environments of this package: the module under `reasonenv.envs`."""
for _id, _module in BUILT_IN.items():
    _register(_id, f"reasonenv.envs.{_module}")
