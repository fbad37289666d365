"""The registry of environments: registration, lookup and construction."""

import difflib
import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium

from reasonenv.errors import UsageError

NAMESPACE = "reasonenv"
LIBRARIES = {"reasoning_gym": "reasonenv.adapters.reasoning_gym"}
"""Libraries with tasks "library/task": name -> module with `register_task(task)`."""
RETIRED = {"Figures-v0": "Figures-v2", "Figures-v1": "Figures-v2"}
"""Environments that release 0.3.0 was the last to have -> the one in their place."""


@dataclass(frozen=True)
class Registration:
    """An environment's entry in the registry.

    Args:
        id: Such as "Figures-v2", or "reasoning_gym/chain_sum" with a namespace.
        module: The module with `problems(split, ...)`, `REWARDS`, `PROMPT` and `SPLITS`, imported
            when the environment is made.
        model: Default base model of a run.
    """

    id: str
    module: str
    model: str = "tiny"

    @property
    def gymnasium_id(self) -> str:
        """The id that Gymnasium knows, such as "reasonenv/Figures-v2"."""
        return self.id if "/" in self.id else f"{NAMESPACE}/{self.id}"


class UnknownEnvironmentError(UsageError, gymnasium.error.NameNotFound):
    """Raised when no environment has the requested name."""


registry: dict[str, Registration] = {}


def register(id: str, module: str, model: str = "tiny") -> None:
    """Registers the environment of a module, with Gymnasium too.

    Args:
        id: A name with its version, such as "Mine-v0".
        module: Importable name of a module with `problems` and `REWARDS`; see `entry_points`.
        model: Default base model of a run.
    """
    registration = registry[id] = Registration(id, module, model)
    gymnasium.register(
        id=registration.gymnasium_id,
        entry_point="reasonenv.entry_points:make_env",
        vector_entry_point="reasonenv.entry_points:make_vector_env",
        kwargs={"module": module},
    )


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
            of it as the split "heldout"; `rank`, `render_mode`, `level` ...

    Raises:
        gymnasium.error.NameNotFound: When no environment has this name.
        UsageError: When an argument does not fit; the line says which.
    """
    if not isinstance(id, str):
        id, kwargs = "Mixture-v0", {**kwargs, "envs": list(id)}
    name = find(id).gymnasium_id
    # The spec of an environment is written as JSON, which knows no paths.
    data = os.fspath(data) if isinstance(data, os.PathLike) else data
    options = {"split": split, "data": data, "num_workers": num_workers, **kwargs}
    if num_envs is not None:
        return gymnasium.make_vec(name, num_envs=num_envs, group_size=group_size, **options)
    if group_size != 1:
        raise UsageError(f"group_size={group_size} needs num_envs, a multiple of it")
    return gymnasium.make(name, **options)


def find(id: str) -> Registration:
    """The registration of an id.

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
    if name in registry:
        return registry[name]
    if name in RETIRED:
        raise UnknownEnvironmentError(
            f"{name} has become {RETIRED[name]}: take that, or release 0.3.0 of reasonenv, which "
            f"reproduces records made with {name}"
        )
    ids = {id.lower(): id for id in registry}
    # The nearest id if it is very near, else all ids somewhat near.
    matches = difflib.get_close_matches(name.lower(), ids, n=1, cutoff=0.75)
    matches = matches or difflib.get_close_matches(name.lower(), ids, cutoff=0.5)
    near = [ids[match] for match in matches]
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(registry)}"
    raise UnknownEnvironmentError(f"no environment is called {id!r}: {hint}")


def _import(module: str, id: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise UnknownEnvironmentError(
            f"no module is called {module!r}, which was to register {id!r}: "
            "run in its folder, or add the folder to PYTHONPATH"
        ) from None


_VISION, _TEXT = "Qwen/Qwen2.5-VL-7B-Instruct", "Qwen/Qwen3-4B"
_SMALL_TEXT = "HuggingFaceTB/SmolLM2-135M-Instruct"

register("Figures-v2", "reasonenv.envs.figures", model="tiny")
register("MMK12-v0", "reasonenv.envs.mmk12", _VISION)
register("MathVista-v0", "reasonenv.envs.mathvista", _VISION)
register("MathVerse-v0", "reasonenv.envs.mathverse", _VISION)
register("MathVision-v0", "reasonenv.envs.mathvision", _VISION)
register("OlympiadBench-v0", "reasonenv.envs.olympiadbench", _VISION)
register("WeMath-v0", "reasonenv.envs.wemath", _VISION)
register("AIME24-v0", "reasonenv.envs.aime24", _TEXT)
register("AIME25-v0", "reasonenv.envs.aime25", _TEXT)
register("AMC23-v0", "reasonenv.envs.amc23", _TEXT)
register("MATH500-v0", "reasonenv.envs.math500", _TEXT)
register("GSM8K-v0", "reasonenv.envs.gsm8k", _TEXT)
register("DAPOMath17k-v0", "reasonenv.envs.dapo_math", _TEXT)
register("MinervaMath-v0", "reasonenv.envs.minerva_math", _TEXT)
register("WordProblems-v0", "reasonenv.envs.word_problems", _SMALL_TEXT)
register("Mixture-v0", "reasonenv.envs.mixture")
register("file", "reasonenv.envs.file", _SMALL_TEXT)
