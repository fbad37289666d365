"""The environments by name: how they are registered, looked up and made."""

import difflib
import os
from dataclasses import dataclass
from typing import Any

import gymnasium

NAMESPACE = "reasonenv"


@dataclass(frozen=True)
class Registration:
    """An environment by name.

    Args:
        id: Such as "Figures-v0"; Gymnasium knows it as "reasonenv/Figures-v0".
        module: The module that gives `problems(split, ...)`, `REWARDS`, `PROMPT` and `SPLITS`,
            imported only when the environment is made.
        model: The base model that a run takes unless told otherwise.
    """

    id: str
    module: str
    model: str = "tiny"


registry: dict[str, Registration] = {}


def register(id: str, module: str, model: str = "tiny") -> None:
    """Registers the environment that `module` describes, with Gymnasium too.

    Args:
        id: A name with its version, such as "Mine-v0".
        module: Importable name of a module with `problems` and `REWARDS`; see `reasonenv.entry`.
        model: The base model that a run takes unless told otherwise.
    """
    registry[id] = Registration(id, module, model)
    gymnasium.register(
        id=f"{NAMESPACE}/{id}",
        entry_point="reasonenv.entry:make_env",
        vector_entry_point="reasonenv.entry:make_vector_env",
        kwargs={"module": module},
    )


def make(
    id: str,
    num_envs: int | None = None,
    group_size: int = 1,
    split: str = "train",
    data: str | os.PathLike[str] | None = None,
    num_workers: int | None = None,
    **kwargs: Any,
) -> Any:
    """An environment by name: one problem at a time, or vectorised when `num_envs` is given.

    The same object as `gymnasium.make` and `gymnasium.make_vec` give for "reasonenv/<id>".

    Args:
        id: A registered name such as "Figures-v0", with or without "reasonenv/".
        num_envs: Responses of one step; None for a `gymnasium.Env` that takes a single one.
        group_size: Consecutive sub-environments that share a problem; divides `num_envs`.
        split: Part of the data set.
        data: Folder with local files of the data set; None for `REASONENV_DATA`, then the hub.
        num_workers: Processes that grade; None for as many as there are CPU cores, at most 8.
        **kwargs: Further arguments of the environment: `rewards`, names and weights instead of
            its own (see `reasonenv.rewards`); `unjudged`, paid for an answer that could not be
            judged (0.0); `prompt`, `rank`, `render_mode`, `level` ...

    Raises:
        gymnasium.error.NameNotFound: When no environment has this name.
        ValueError: When an argument does not fit; the line says which.
    """
    name = f"{NAMESPACE}/{find(id).id}"
    # The spec of an environment is written as JSON, which knows no paths.
    data = None if data is None else os.fspath(data)
    options = {"split": split, "data": data, "num_workers": num_workers, **kwargs}
    if num_envs is not None:
        return gymnasium.make_vec(name, num_envs=num_envs, group_size=group_size, **options)
    if group_size != 1:
        raise ValueError(f"group_size={group_size} needs num_envs, a multiple of it")
    return gymnasium.make(name, **options)


def find(id: str) -> Registration:
    """The registration called `id`, or an error that names the nearest ones."""
    name = id.removeprefix(f"{NAMESPACE}/")
    if name in registry:
        return registry[name]
    known = {id.lower(): id for id in registry}
    near = [known[match] for match in difflib.get_close_matches(name.lower(), known, cutoff=0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(registry)}"
    raise gymnasium.error.NameNotFound(f"no environment is called {id!r}: {hint}")


register("Figures-v0", "reasonenv.envs.figures", model="tiny")
register("MMK12-v0", "reasonenv.envs.mmk12", model="Qwen/Qwen2.5-VL-7B-Instruct")
