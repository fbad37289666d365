"""Command lines from dataclasses: fields become flags, and their docstrings the help."""

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, make_dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, get_origin

import tyro

from agents import advantages, divergences, losses, reductions, references
from agents.cli import config_file
from agents.cli.defaults import defaults
from agents.cli.exit import errors_in_one_line
from agents.cli.settings import Run
from agents.errors import UsageError
from agents.learner import Learner
from agents.storage.resumed_settings import recorded_settings

Namespace = ModuleType | tuple[Callable[..., Any], ...]
MODULES = (advantages, reductions, divergences)
FUNCTION_TYPES = (
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
"""Type of a field that is a function, and the namespace of its values."""
SIZES = ("num_prompts", "group_size", "max_response_length")
"""Settings from which the defaults of others follow."""
C = TypeVar("C")
L = TypeVar("L", bound=Learner)


@dataclass(frozen=True, kw_only=True)
class ConfigFile:
    """Settings from a file."""

    config: Path | None = None
    """YAML or JSON file with settings by the names of these flags, which take precedence."""


def parse(
    command: type[C],
    module: str,
    arguments: Sequence[str] | None = None,
    default: C | None = None,
) -> C:
    """An instance of a dataclass from the command line.

    A field that is a dataclass adds its own fields. The program ends after `--help`, and with
    status 2 on an invalid argument.

    Args:
        command: The dataclass.
        module: Module that `python -m` runs.
        arguments: Arguments of the command line; None for those of this process.
        default: Instance with the defaults; None for those of the fields.
    """
    with errors_in_one_line():
        _check_digits(sys.argv[1:] if arguments is None else arguments)
    registry = tyro.constructors.ConstructorRegistry()
    registry.primitive_rule(_named_function)
    extra: dict[str, Any] = {} if default is None else {"default": default}
    extra["config"] = (tyro.conf.OmitArgPrefixes,)
    with registry:
        return tyro.cli(command, prog=f"python -m {module}", args=arguments, **extra)


def _check_digits(words: Sequence[str]) -> None:
    """Raises UsageError for a number in the digits of another script, which Python would read."""
    for word in words:
        if re.fullmatch(r"(--[\w-]+=)?[-+.\d]*\d[.\de+-]*", word) and not word.isascii():
            raise UsageError(f"{word!r} has digits that are not ASCII: write 0 to 9")


def parse_run(learner: type[L], arguments: Sequence[str] | None = None) -> tuple[Run, L]:
    """A run and a learner from the command line of the learner's module.

    The defaults, also those in the help, follow from `--env` and `--model`. Arguments take
    precedence over the settings of a `--config` file, and these over those of a run that
    `--resume` continues.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    # DeepSpeed's launcher adds the local rank, which the environment holds too.
    words = [word for word in words if not word.startswith("--local_rank=")]
    parts = [("run", Run), ("learner", learner), ("file", ConfigFile)]
    command = make_dataclass("Command", parts, frozen=True)
    command.__doc__ = (inspect.getdoc(learner) or "").split("\n\n")[0]
    with errors_in_one_line():
        first = _leading_flags(words)
        settings = config_file.read_config(first.pop("config")) if "config" in first else {}
        settings = _resumed_settings(learner, settings | first) | settings
        given = settings | first
        run = defaults(given.get("env"), given.get("model"))
        run = _fitting(run, {name: given[name] for name in SIZES if name in given})
        run = replace(run, **learner.run_defaults(run.max_response_length))
        default = command(run, learner(), ConfigFile())
        known = vars(default.run) | vars(default.learner)
        words = config_file.as_arguments(settings, known) + words
    parsed: Any = parse(command, _module(learner), words, default)
    return parsed.run, parsed.learner


def _fitting(run: Run, sizes: Mapping[str, Any]) -> Run:
    """Defaults that fit sizes that are given; those that are no integers are refused later.

    A buffer is at most half of a response, and a rollout that minibatches do not divide, or that
    would divide a group, is one.
    """
    run = replace(run, **{name: size for name, size in sizes.items() if type(size) is int})
    responses = max(run.num_prompts * run.group_size, 1)
    fits = responses % run.minibatch_size == 0 and run.minibatch_size % max(run.group_size, 1) == 0
    return replace(
        run,
        overlong_buffer=min(run.overlong_buffer, max(run.max_response_length // 2, 0)),
        minibatch_size=run.minibatch_size if fits else responses,
    )


def _leading_flags(arguments: Sequence[str]) -> dict[str, Any]:
    """The flags from which defaults of other flags follow, without those that are absent."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add = parser.add_argument
    add("--env")
    add("--model")
    for name in SIZES:
        add(f"--{name.replace('_', '-')}", f"--{name}", type=_size)
    add("--config", type=Path)
    add("--output-dir", "--output_dir")
    add("--seed")
    add("--resume", action=argparse.BooleanOptionalAction)
    flags = vars(parser.parse_known_args(arguments)[0])
    return {name: value for name, value in flags.items() if value is not None}


def _size(text: str) -> int | str:
    """An integer, or a text that is none as it is."""
    return int(text) if text.isdecimal() and len(text) < 10 else text


def _resumed_settings(learner: type[Learner], given: Mapping[str, Any]) -> dict[str, Any]:
    """The recorded settings of the run to continue; none for a new run or other algorithm's.

    Raises:
        RecordError: The record of the run is damaged.
    """
    if given.get("resume") is not True:
        return {}
    run = defaults(given.get("env"), given.get("model"))
    places: Any = {name: str(given[name]) for name in ("seed", "output_dir") if name in given}
    folder = replace(run, **places).folder(learner.__name__)
    if not (folder / "run.json").is_file():
        return {}
    settings = recorded_settings(folder)
    if settings["algorithm"] != learner.__name__:
        return {}
    names = {field.name for field in (*fields(Run), *fields(learner))}
    return {name: value for name, value in settings.items() if name in names}


def parse_function(text: str, namespaces: Sequence[Namespace] = MODULES) -> Callable[..., Any]:
    """A function by its name, such as 'token_mean', or by a call, such as 'clip_filter(3.0)'.

    Args:
        text: Name of a function, or call of a class with literals.
        namespaces: Modules and functions to choose from.

    Raises:
        UsageError: No function has this name, or the call fails.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        name, call = (tree.func, tree) if isinstance(tree, ast.Call) else (tree, None)
        if not isinstance(name, ast.Name):
            raise UsageError(f"{text!r} is not the name of a function, such as clip_filter(3.0)")
        function = _lookup(name.id, namespaces)
        if inspect.isfunction(function) and call is None:
            return function
        values = [ast.literal_eval(value) for value in (call.args if call else ())]
        keywords = [(str(word.arg), word.value) for word in (call.keywords if call else ())]
        return function(*values, **{name: ast.literal_eval(value) for name, value in keywords})
    except (SyntaxError, TypeError) as error:
        raise UsageError(f"{text!r} is not a valid function: {error}") from error


def format_function(value: Any) -> str:
    """A function as text of the command line; the inverse of `parse_function`."""
    return value.__name__ if inspect.isfunction(value) else repr(value)


def _lookup(name: str, namespaces: Sequence[Namespace]) -> Callable[..., Any]:
    functions = {n: f for namespace in namespaces for n, f in _public(namespace).items()}
    if name not in functions:
        names = ", ".join(sorted(functions))
        raise UsageError(f"no function is called {name!r}: there are {names}")
    return functions[name]


def _public(namespace: Namespace) -> dict[str, Callable[..., Any]]:
    if isinstance(namespace, tuple):
        return {value.__name__: value for value in namespace}
    return {
        name: value
        for name, value in vars(namespace).items()
        if name.islower()
        and not name.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == namespace.__name__
    }


def _named_function(info: tyro.constructors.PrimitiveTypeInfo) -> Any:
    """Parser and formatter of a field that is a function, for tyro."""
    if get_origin(info.type) is not Callable and info.type is not Callable:
        return None
    namespaces = [namespace for kind, namespace in FUNCTION_TYPES if kind == info.type] or MODULES
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="FUNCTION",
        instance_from_str=lambda words: parse_function(words[0], namespaces),
        is_instance=callable,
        str_from_instance=lambda value: [format_function(value)],
    )


def _module(learner: type) -> str:
    """The module that `python -m` runs, also where the learner is defined in `__main__`."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec.name if spec and learner.__module__ == "__main__" else learner.__module__
