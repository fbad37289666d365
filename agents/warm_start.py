"""Warm start of the generated models: python -m agents.warm_start --help.

A generated model reads and writes nothing until it has seen worked solutions. Its warm start has
two stages of supervised fine-tuning: correct solutions until every family of figures is read, then
a few steps on solutions with slips, so that reinforcement learning has something to unlearn. The
one of the tiny model is part of this package, as `TINY`; all others are trained when they are
needed, once for each recipe and seed, and cached.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import torch
from filelock import FileLock, Timeout

from agents import sft, tiny_model
from agents.cli.defaults import defaults
from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.cli.types import EnvOptions
from agents.engines.load import load_model, save_model
from agents.engines.memory import keep_freed_memory
from agents.engines.threads import set_threads
from agents.errors import UsageError, typed_errors
from agents.sft import FineTuning
from agents.storage.atomic_files import write_atomically
from agents.storage.cache import cache_folder
from agents.storage.digests import damage, write_digests
from agents.storage.lock import LOCK, locked
from reasonenv.console import print_line

TINY = Path(__file__).parent / "tiny"
"""Folder of the tiny model after its warm start on Figures-v2, level 2, in float16."""
TINY_LEVELS = (None, 1, 2)
"""Levels of Figures-v2 that it reads; None for the default."""
Options = Mapping[str, Any]
NONE: Options = MappingProxyType({})
SLIP = 0.7
"""Probability that a solution of the second stage has a slip."""
_FOREIGN = ("trust_remote_code", "chat_template", "stop")
"""Settings for a model of the user's, which a generated one has no use for."""


def recipe(
    env: str = FineTuning.env, env_options: Options = NONE, seed: int = 0, model: str = "tiny"
) -> tuple[FineTuning, ...]:
    """Stages of a warm start for a run: on the run's variant of Figures, else the default.

    Args:
        env: Environment of the run.
        env_options: Arguments of the environment, such as level.
        seed: Of the run.
        model: "tiny" or "small".
    """
    options = env_options if env == FineTuning.env else {}
    variant = {name: options[name] for name in ("level", "families", "scale") if name in options}
    clean = FineTuning(model=model, seed=seed, env_options=variant)
    if model == "small":
        clean = replace(clean, batch_size=256, num_steps=3000, learning_rate=5e-4)
    slips = {**variant, "slip": SLIP, "problem_seed": 1}
    return clean, replace(
        clean, env_options=slips, num_steps=300, learning_rate=3e-4, balance=False
    )


def folder(
    env: str, env_options: Options, seed: int, *, model: str = "tiny", is_fresh: bool = False
) -> Path:
    """Folder of a generated model after its warm start, which is trained if need be.

    Args:
        env: Environment of the run.
        env_options: Arguments of the environment.
        seed: Of the run; not used by the warm start that is part of this package.
        model: "tiny" or "small".
        is_fresh: Train a warm start of this seed even if the package has one that fits.
    """
    if model == "tiny" and not is_fresh and _has_tiny(env, env_options):
        return TINY
    return cached(recipe(env, env_options, seed, model))


def _has_tiny(env: str, options: Options) -> bool:
    """True if the tiny model of this package fits the environment."""
    if env != FineTuning.env:
        return True
    return options.get("level") in TINY_LEVELS and options.get("scale", 1) == 1


def cached(stages: Sequence[FineTuning]) -> Path:
    """Folder of the model after some stages of fine-tuning, each trained once and cached.

    The cache is `agents.storage.cache.cache_folder`. One of several concurrent
    processes trains the model while the others wait; a killed one leaves no partial model.
    """
    model = _cached_stage(stages[0])
    for stage in stages[1:]:
        model = _cached_stage(replace(stage, model=str(model)))
    return model


def _cached_stage(settings: FineTuning) -> Path:
    base = Path(settings.model).name
    key = {**asdict(settings), "model": base, "output_dir": "", "data": ""}
    key["env_options"] = json.dumps(settings.env_options)
    key["format"] = tiny_model.FORMAT
    for name in _FOREIGN:
        del key[name]
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:12]
    folder = cache_folder() / f"tiny-{digest}-seed{settings.seed}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _exclusive(folder.with_suffix(".lock")):
        temporary = folder.with_name(f".{folder.name}.tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        if folder.exists() and (reason := damage(folder)):
            print_line(f"{folder} is damaged ({reason}): making it anew", sys.stderr)
            folder.rename(temporary)
            shutil.rmtree(temporary)
        if not folder.exists():
            sft.fine_tune(replace(settings, output_dir=temporary)).rename(folder)
    return folder


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """File lock that prints a line if it has to wait."""
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        print("another process trains the tiny model: waiting for it", file=sys.stderr, flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """Warm start of a generated model on Figures, as that of the tiny one in this package.

    The stages are cached; the folder gets the model in float16, and its recipe.
    """

    env: str = FineTuning.env
    """Environment of the run; the model learns on its variant of Figures, else on the default."""
    env_options: EnvOptions = field(default_factory=dict)
    """Variant of Figures as JSON: '{"level": 3}', or families, or scale."""
    model: Literal["tiny", "small"] = "tiny"
    """Generated model: tiny has 0.7 million parameters, small 28 million, for a GPU."""
    seed: int = 0
    """Seed of the model's first weights and of the order of the problems."""
    output_dir: Path = Path("warm")
    """Folder for the model, in Hugging Face format."""


def recipe_rows(stages: Sequence[FineTuning]) -> list[dict[str, Any]]:
    """The settings of stages that determine their numbers."""
    unused = ("data", "output_dir", *_FOREIGN)
    rows = [{k: v for k, v in asdict(stage).items() if k not in unused} for stage in stages]
    for row in rows:
        row["env_options"] = json.dumps(row["env_options"])
    return [rows[0], *(row | {"model": "that of the stage before"} for row in rows[1:])]


def pack(stages: Sequence[FineTuning], target: Path) -> None:
    """Writes the model after some stages in float16, with its recipe and digests."""
    model, chat = load_model(str(cached(stages)), torch.device("cpu"), torch.float16)
    save_model(target, model, chat)
    content = json.dumps(recipe_rows(stages), indent=1) + "\n"
    write_atomically(target / "recipe.json", content.encode())
    write_digests(target)


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    settings = parse(WarmStart, "agents.warm_start", arguments)
    target = settings.output_dir
    keep_freed_memory()
    if message := set_threads():
        print(message, file=sys.stderr)
    with errors_in_one_line(), typed_errors("the warm start"), locked(target):
        if target.exists() and any(path.name != LOCK for path in target.iterdir()):
            raise UsageError(f"{target} is not empty: give another --output-dir")
        env = defaults(settings.env, settings.model).env
        pack(recipe(env, settings.env_options, settings.seed, settings.model), target)
        print_line(f"wrote {target}")


if __name__ == "__main__":
    main()
