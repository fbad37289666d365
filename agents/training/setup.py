"""A run made ready, from what a user asks for: problems, engines, and how far it is."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import torch

import reasonenv
from agents.cli.settings import Run, check_run, environment_options
from agents.engines.build import build, describe_engines, ranks
from agents.errors import UsageError
from agents.learner import Learner
from agents.plan import brief
from agents.planning.shapes import UnplannableError
from agents.sft import cached_tiny_model, recipe
from agents.storage import checkpoints
from agents.storage.json_files import json_value
from agents.training import parity
from agents.training.state import Job
from reasonenv.entry_points import HELD_OUT, split_of
from reasonenv.errors import ReasonEnvError
from reasonenv.registration import find

PADDED = (
    "this model's responses are padded, not packed: a layer of it does more than look back at "
    "tokens, so short responses beside long ones cost as much as these"
)


def prepare(run: Run, learner: Learner) -> Job:
    """The job that the settings ask for, begun or restored.

    Raises:
        AgentsError: In one line, when something does not fit; nothing has been written then.
        ReasonEnvError: The same of the environment and its data.
    """
    check_run(run)
    folder = run.folder(type(learner).__name__)
    found = checkpoints.start(folder, json_value(settings(run, learner)), run.resume)
    say(outline(run, learner, found))
    with ExitStack() as held:  # closed where something does not fit
        envs, splits = make_envs(run)
        held.enter_context(closing(envs))
        if run.model != "tiny":
            say(planned(run, learner))
        engines = build(run, model_folder(run), learner.reference_schedule)
        held.enter_context(closing(engines.sampler))
        if not engines.policy.packs:
            say(PADDED)
        job = Job(run, learner, folder, envs, engines, splits)
        if found:
            job.restore(found)
        else:
            engines.sampler.load_weights(engines.train.weights())
        say(agree(job))
        held.pop_all()
    return job


def planned(run: Run, learner: Learner) -> str:
    """What the run needs in memory, where that can be told.

    Raises:
        ModelError: In one line, when there is less, or no such model.
    """
    try:
        return brief(run, learner, ranks()[1])
    except UnplannableError as error:
        return f"no plan: {error}"


def outline(run: Run, learner: Learner, found: Path | None) -> str:
    """What is about to be done, in two lines.

    Args:
        run: Resolved settings.
        learner: The algorithm.
        found: Checkpoint to go on from.
    """
    name = type(learner).__name__
    step = f"{run.num_prompts} prompts x {run.group_size} responses"
    begun = f", on from {found.name}" if found else ""
    if run.resume and not found:
        begun = ", which holds no checkpoint to resume: from the beginning"
    return (
        f"{name} on {run.env}, model {run.model}: {run.num_steps} steps of {step}, "
        f"into {run.folder(name)}{begun}\n{describe_engines(run)}"
    )


def model_folder(run: Run) -> str:
    """Folder or hub name of the base model; the tiny one is made where it is missing."""
    if run.model != "tiny":
        return run.model
    return str(cached_tiny_model(recipe(run.env, run.env_options, run.seed)))


def agree(job: Job) -> str:
    """Compares sampler and trainer on a few problems; what was found, in one line.

    Raises:
        ParityError: In one line, when they are too far apart, or cannot read these problems.
    """
    engines, run = job.engines, job.run
    count = min(parity.NUM_PROBLEMS, len(job.envs.problems))
    posed, _ = job.envs.reset(options={"indices": list(range(count))})
    found = parity.measure(engines.train, engines.sampler, engines.chat, posed)
    dtypes = engines.policy.model.dtype, getattr(engines.sampler, "dtype", torch.float32)
    found.check(parity.bound(*dtypes) if run.parity_tolerance is None else run.parity_tolerance)
    return str(found)


def say(line: str) -> None:
    """Shows a line on standard error, once for all ranks."""
    if ranks()[0] == 0:
        sys.stderr.write(f"{line}\n")  # at once: Ctrl-C may come in between


def settings(run: Run, learner: Learner) -> dict[str, Any]:
    """Everything that decides a run's numbers, by name."""
    return {"run": run, "algorithm": type(learner).__name__, "learner": learner}


def make_envs(run: Run) -> tuple[Any, tuple[str, ...]]:
    """The training environment of this rank, and the names of the splits to evaluate on."""
    rank, num_ranks = ranks()
    if run.num_prompts % num_ranks:
        raise UsageError(f"--num-prompts {run.num_prompts} does not divide among {num_ranks} ranks")
    if run.minibatch_size % (num_ranks * run.group_size):
        raise UsageError(
            f"--minibatch-size {run.minibatch_size} must hold whole groups of {run.group_size} on "
            f"each of {num_ranks} ranks"
        )
    options = environment_options(run.env_options, run.data)
    envs = reasonenv.make(
        run.env,
        num_envs=run.num_prompts // num_ranks * run.group_size,
        group_size=run.group_size,
        rank=rank,
        num_ranks=num_ranks,
        **options,
    )
    return envs, tuple(_evaluation_splits(run, options)) if run.num_test_problems else ()


def _evaluation_splits(run: Run, options: dict[str, Any]) -> Iterator[str]:
    """Splits that are not trained on; one that local data lack is named and left out."""
    module = importlib.import_module(find(run.env).module)
    holdout = options.get("holdout")
    trained = split_of(module, options.get("split"), holdout)
    splits = getattr(module, "SPLITS", ())
    # A benchmark without a training split has others that are parts of what is trained on.
    others = splits if "train" in splits else ()
    own = (HELD_OUT,) if holdout is not None else ()
    if splits and not others and not own:
        say(
            f"no evaluation: {run.env} has no training split; a part is held out by --env-options "
            "'{\"holdout\": 0.1}'"
        )
    for split in dict.fromkeys((*others, *own)):
        if split == trained:
            continue
        try:
            reasonenv.make(run.env, num_envs=1, **{**options, "split": split}).close()
            yield split
        except ReasonEnvError as error:
            say(f"no evaluation on {split}: {error}")
