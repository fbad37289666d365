"""The command line of a learner: its fields and those of a run, with their docstrings as help."""

import argparse
import ast
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, get_origin

import tyro

from agents import advantages, divergences, losses, reductions, references
from agents.cli import config_file
from agents.cli.exit import errors_in_one_line
from agents.cli.settings import Run, defaults
from agents.errors import UsageError
from agents.learner import Learner

Place = ModuleType | tuple[Callable[..., Any], ...]
MODULES = (advantages, reductions, divergences)
KINDS = (
    (
        advantages.Advantage,
        (
            *(advantages.raw, advantages.centered, advantages.batch_centered),
            *(advantages.standardized, advantages.leave_one_out, advantages.clip_filter),
        ),
    ),
    (reductions.Reduction, reductions),
    (references.Refresh, references),
    (divergences.Divergence, divergences),
    (losses.Level, (losses.per_token, losses.per_response)),
    (losses.Estimator, (losses.differentiable, losses.reinforce)),
    (losses.Clip, (losses.masked, losses.truncated)),
)
"""Where the functions of a field's type stand, or which they are."""
C = TypeVar("C")
L = TypeVar("L", bound=Learner)


@dataclass(frozen=True, kw_only=True)
class File:
    """Settings that stand in a file."""

    config: Path | None = None
    """Settings in YAML or JSON by the names of these flags; what is typed beside them wins."""


def parse(
    command: type[C],
    module: str,
    arguments: Sequence[str] | None = None,
    default: C | None = None,
) -> C:
    """An instance of a dataclass from the command line.

    Fields become flags, their docstrings the help; a field that is a dataclass adds its fields. The
    program ends with the help, or with what is wrong.

    Args:
        command: Class of what is wanted.
        module: What `python -m` runs.
        arguments: Words after the program's name; None for this process's own.
        default: Values of the flags that are not given; None for those of the fields.
    """
    registry = tyro.constructors.ConstructorRegistry()
    registry.primitive_rule(_named_function)
    marks = (tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff)
    with registry:
        extra: dict[str, Any] = {} if default is None else {"default": default}
        return tyro.cli(command, prog=f"python -m {module}", args=arguments, config=marks, **extra)


def parse_run(learner: type[L], arguments: Sequence[str] | None = None) -> tuple[Run, L]:
    """A run and a learner from the command line of the learner's module.

    The defaults, in the help too, are those of the environment and the model that are given. What
    a file says that `--config` names counts as typed before everything else.
    """
    typed = list(sys.argv[1:] if arguments is None else arguments)
    # DeepSpeed's launcher tells each rank where it is, as the environment does too.
    typed = [word for word in typed if not word.startswith("--local_rank=")]
    fields = [("run", Run), ("learner", learner), ("file", File)]
    command = make_dataclass("Command", fields, frozen=True)
    command.__doc__ = (inspect.getdoc(learner) or "").split("\n\n")[0]
    with errors_in_one_line():
        first = _first_words(typed)
        told = config_file.read(first.config) if first.config else {}
        run = defaults(first.env or told.get("env"), first.model or told.get("model"))
        length = first.max_response_length or told.get("max_response_length")
        run = replace(run, max_response_length=int(length)) if length else run
        run = replace(run, **learner.run_defaults(run.max_response_length))
        default = command(run, learner(), File())
        typed = config_file.words(told, vars(default.run) | vars(default.learner)) + typed
    parsed: Any = parse(command, _module(learner), typed, default)
    return parsed.run, parsed.learner


def _first_words(arguments: Sequence[str]) -> argparse.Namespace:
    """The flags that the defaults of others follow from, where they are given."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--env")
    first.add_argument("--model")
    first.add_argument("--max-response-length", "--max_response_length", type=int)
    first.add_argument("--config", type=Path)
    return first.parse_known_args(arguments)[0]


def function(text: str, places: Sequence[Place] = MODULES) -> Callable[..., Any]:
    """A function by name, such as 'token_mean', or made from numbers, such as 'clip_filter(3.0)'.

    Args:
        text: Name, with arguments where the function is made from them.
        places: Where it may stand.

    Raises:
        UsageError: No function has this name, or it cannot be made from these arguments.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        name, call = (tree.func, tree) if isinstance(tree, ast.Call) else (tree, None)
        if not isinstance(name, ast.Name):
            raise UsageError(f"{text!r} is no name of a function, such as clip_filter(3.0)")
        found = _find(name.id, places)
        if inspect.isfunction(found) and call is None:
            return found
        values = [ast.literal_eval(value) for value in (call.args if call else ())]
        words = [(str(word.arg), word.value) for word in (call.keywords if call else ())]
        return found(*values, **{name: ast.literal_eval(value) for name, value in words})
    except (SyntaxError, TypeError) as error:
        raise UsageError(f"{text!r} does not make a function: {error}") from error


def spelled(value: Any) -> str:
    """A function as the command line spells it; the inverse of `function`."""
    return value.__name__ if inspect.isfunction(value) else repr(value)


def _find(name: str, places: Sequence[Place]) -> Callable[..., Any]:
    known = {n: f for place in places for n, f in _public(place).items()}
    if name not in known:
        raise UsageError(f"no function is called {name!r}: there are {', '.join(sorted(known))}")
    return known[name]


def _public(place: Place) -> dict[str, Callable[..., Any]]:
    if isinstance(place, tuple):
        return {value.__name__: value for value in place}
    return {
        name: value
        for name, value in vars(place).items()
        if name.islower()
        and not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == place.__name__
    }


def _named_function(info: tyro.constructors.PrimitiveTypeInfo) -> Any:
    """How tyro reads and writes a field that is a function."""
    if get_origin(info.type) is not Callable and info.type is not Callable:
        return None
    places = [place for kind, place in KINDS if kind == info.type] or MODULES
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="FUNCTION",
        instance_from_str=lambda words: function(words[0], places),
        is_instance=callable,
        str_from_instance=lambda value: [spelled(value)],
    )


def _module(learner: type) -> str:
    """The name that `python -m` ran, also where the class is that of the main program."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec.name if spec and learner.__module__ == "__main__" else learner.__module__
