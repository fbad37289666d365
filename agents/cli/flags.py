"""Command lines from dataclasses: fields become flags, and their docstrings the help."""

import argparse
import ast
import inspect
import json
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, make_dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypeVar, get_origin, get_type_hints

import tyro

import agents
from agents import (
    advantages,
    corrections,
    distillation,
    divergences,
    losses,
    reductions,
    references,
    views,
)
from agents.cli import config_file, foreign_flags
from agents.cli.defaults import defaults
from agents.cli.exit import errors_in_one_line
from agents.cli.model_choice import checkpoint_of
from agents.cli.settings import COMMON, Run, environment_options
from agents.cli.types import json_fields
from agents.errors import UsageError
from agents.learner import Learner
from agents.storage.provenance import recorded_settings

Functions = Mapping[str, Callable[..., Any]]
SIZES = ("num_prompts", "group_size", "max_response_length")
"""Settings from which the defaults of others follow."""
C = TypeVar("C")
L = TypeVar("L", bound=Learner)


def _public(module: ModuleType) -> Functions:
    """The functions of a module and its classes with such names, which make functions."""
    return {
        name: value
        for name, value in vars(module).items()
        if name.islower() and name[0] != "_" and getattr(value, "__module__", "") == module.__name__
    }


def _named(*functions: Callable[..., Any]) -> Functions:
    return {function.__name__: function for function in functions}


FUNCTIONS: dict[Any, Functions] = {
    advantages.Advantage: _named(
        *(advantages.raw, advantages.centered, advantages.batch_centered),
        *(advantages.standardized, advantages.leave_one_out, advantages.clip_filter),
        *(advantages.over_mean, advantages.pass_at_k),
    ),
    reductions.Reduction: _public(reductions),
    references.Refresh: _public(references),
    divergences.Divergence: _public(divergences),
    losses.Level: _named(
        *(losses.per_token, losses.per_turn, losses.per_response),
        *(losses.geometric, losses.geometric_token),
    ),
    losses.Estimator: _named(losses.differentiable, losses.reinforce),
    losses.Clip: _named(losses.masked, losses.truncated),
    distillation.VocabularyDivergence: _named(
        *(distillation.kl_to_teacher, distillation.kl_from_teacher),
        *(distillation.jensen_shannon, distillation.top_k),
    ),
    views.View: _public(views),
    corrections.Correction: _named(
        *(corrections.truncated_weight, corrections.masked_weight, corrections.ratio_mask),
        *(corrections.k3_mask, corrections.off_policy_mask, corrections.uncorrected),
    ),
}
"""Type of a field that is a function, and its values by name."""
ALL = {**_public(advantages), **_public(reductions), **_public(divergences)}


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

    A field that is a dataclass adds its own fields. The program ends after `--help` and
    `--version`, with status 2 on a flag that does not exist or takes another type, in a line with
    ours on those of `foreign_flags`, and with 1 on a value out of range.

    Args:
        command: The dataclass.
        module: Module that `python -m` runs.
        arguments: Arguments of the command line; None for those of this process.
        default: Instance with the defaults; None for those of the fields.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--version" in words:
        print(f"reasonenv {agents.__version__}")
        sys.exit(0)
    settings = _defaults(command)
    lines = (foreign_flags.correction(*pair, settings) for pair in pairwise(["", *words]))
    if line := next(filter(None, lines), ""):
        print(f"error: {line}", file=sys.stderr)
        sys.exit(2)
    words = ["--help" if word == "--help-all" else word for word in words]
    registry = tyro.constructors.ConstructorRegistry()
    registry.primitive_rule(_named_function)
    extra: dict[str, Any] = {} if default is None else {"default": default}
    extra["config"] = (tyro.conf.OmitArgPrefixes,)
    with registry:
        return tyro.cli(command, prog=f"python -m {module}", args=words, **extra)


def _defaults(command: Any) -> dict[str, Any]:
    """Defaults of the settings of a dataclass and of those in its fields, by name."""
    nested = [field.type for field in fields(command) if is_dataclass(field.type)]
    own = {field.name: field.default for field in fields(command)}
    return {name: value for kind in nested for name, value in _defaults(kind).items()} | own


def parse_run(
    learner: type[L], arguments: Sequence[str] | None = None, *others: type
) -> tuple[Run, L, *tuple[Any, ...]]:
    """A run and a learner from the command line of the learner's module, and other dataclasses.

    The defaults, also those in the help, follow from `--env` and `--model`. Arguments take
    precedence over the settings of a `--config` file, and these over those of a run that
    `--resume` continues. `--help` shows the flags that most runs need, `--help-all` every one.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    # DeepSpeed's launcher adds the local rank, which the environment holds too.
    words = [word for word in words if not word.startswith("--local_rank=")]
    with errors_in_one_line():
        first = _leading_flags(words)
        settings = config_file.read_config(first.pop("config")) if "config" in first else {}
        settings = _resumed_settings(learner, settings | first) | settings
        given = settings | first
        if isinstance(given.get("model"), str):
            given["model"] = checkpoint_of(given["model"])
        values = {"run": default_run(learner, given), "learner": learner(), "file": ConfigFile()}
        values |= {kind.__name__.lower(): kind() for kind in others}
        known = vars(values["run"]) | vars(values["learner"])
        words = config_file.as_arguments(settings, known, json_fields(Run)) + words
    kinds = {name: type(value) for name, value in values.items()}
    if {"-h", "--help"} & set(words):
        kinds |= {"run": _abridged(Run, COMMON), "learner": _abridged(learner, known)}
        values |= {name: kinds[name](**vars(values[name])) for name in ("run", "learner")}
    command = make_dataclass("Command", kinds.items(), frozen=True)
    about = (inspect.getdoc(learner) or "").split("\n\n")[0]
    command.__doc__ = f"{about}\n\n--help shows the flags of most runs, --help-all every flag."
    parsed: Any = parse(command, module_name(learner), words, command(**values))
    run = replace(parsed.run, model=given.get("model", parsed.run.model))
    if run.teacher is not None:
        with errors_in_one_line():
            run = replace(run, teacher=checkpoint_of(run.teacher, "--teacher"))
    return run, *(getattr(parsed, name) for name in values if name not in ("run", "file"))


def default_run(learner: type[Learner], given: Mapping[str, Any]) -> Run:
    """Default settings of a run, from the environment, model and sizes among those given."""
    options = given.get("env_options")
    options = environment_options(options if isinstance(options, dict) else {}, given.get("data"))
    run = defaults(given.get("env"), given.get("model"), options)
    run = _fitting(run, {name: given[name] for name in SIZES if name in given})
    return replace(run, **learner.run_defaults(run.max_response_length))


def _abridged(kind: type, names: Container[str]) -> type:
    """A dataclass like this one, whose help has these settings alone and not its docstring."""
    hints, rare = get_type_hints(kind), [f.name for f in fields(kind) if f.name not in names]
    hidden = [(name, Annotated[hints[name], tyro.conf.Suppress], None) for name in rare]
    return make_dataclass(kind.__name__, hidden, bases=(kind,), frozen=True, kw_only=True)


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
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, usage="--help lists flags")
    add = parser.add_argument
    add("--env")
    add("--model")
    add("--data")
    add("--env-options", "--env_options", type=_value)
    for name in SIZES:
        add(f"--{name.replace('_', '-')}", f"--{name}", type=_value)
    add("--config", type=Path)
    add("--output-dir", "--output_dir")
    add("--seed")
    add("--resume", action=argparse.BooleanOptionalAction)
    flags = vars(parser.parse_known_args(arguments)[0])
    return {name: value for name, value in flags.items() if value is not None}


def _value(text: str) -> Any:
    """The value of a number or JSON text; one that is none is refused later."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)


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


def parse_function(text: str, functions: Functions = ALL) -> Callable[..., Any]:
    """A function by its name, such as 'token_mean', or by a call, such as 'clip_filter(3.0)'.

    Functions with `*` between them make a `product` of corrections.

    Args:
        text: Name of a function, or call of a class with literals.
        functions: Those to choose from, by name.

    Raises:
        UsageError: No function has this name, or the call fails.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult):
            sides = (ast.unparse(side) for side in (tree.left, tree.right))
            return corrections.product(*(parse_function(side, functions) for side in sides))
        name, call = (tree.func, tree) if isinstance(tree, ast.Call) else (tree, None)
        if not isinstance(name, ast.Name):
            raise UsageError(f"{text!r} is not the name of a function, such as clip_filter(3.0)")
        if name.id not in functions:
            names = ", ".join(sorted(functions))
            raise UsageError(f"no function is called {name.id!r}: there are {names}")
        function = functions[name.id]
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


def _named_function(info: tyro.constructors.PrimitiveTypeInfo) -> Any:
    """Parser and formatter of a field that is a function, for tyro."""
    if get_origin(info.type) is not Callable and info.type is not Callable:
        return None
    functions = next((f for kind, f in FUNCTIONS.items() if kind == info.type), ALL)
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="FUNCTION",
        instance_from_str=lambda words: parse_function(words[0], functions),
        is_instance=callable,
        str_from_instance=lambda value: [format_function(value)],
    )


def module_name(learner: type) -> str:
    """What `python -m` runs, also where the learner is defined in `__main__`."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    name = spec.name if spec and learner.__module__ == "__main__" else learner.__module__
    return name.replace("agents.algorithms.", "agents ")
