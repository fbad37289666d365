"""The loop: problems, responses, rewards, an update, and again; and a learner's command line."""

import contextlib
import importlib
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

import reasonenv
from agents import checkpoints
from agents.clock import Clock
from agents.collect import pick
from agents.command_line import errors_in_one_line, parse_run
from agents.engines.build import Engines, build, ranks
from agents.evaluation.exam import Exam, evaluate
from agents.generations import Generation, generate, num_tokens, reward_metrics
from agents.interrupt import Interrupt
from agents.learner import Learner, Passes
from agents.logs import RunLog, plain
from agents.provenance import write_run
from agents.references import fixed
from agents.rollout import Group, Responses
from agents.settings import Run, check, environment_options
from agents.sft import recipe, tiny_model
from reasonenv.registration import find

L = TypeVar("L", bound=Learner)
ROLLOUTS_EVERY = 10
"""Steps between the samples of rollouts that are kept."""


@dataclass
class Job:
    """A run made ready: the environment, the engines, and how far it is."""

    run: Run
    learner: Learner
    folder: Path
    envs: Any
    engines: Engines
    splits: tuple[str, ...]
    """Those to evaluate on."""
    step: int = 0
    """Steps that are done."""
    position: int = 0
    """In the walk through the problems, of the first one of the next step, over all ranks."""


def train(job: Job, log: RunLog, interrupt: Interrupt) -> None:
    """Trains to the last step, or to the end of the step in which the run is interrupted."""
    run, engine, sampler = job.run, job.engines.train, job.engines.sampler
    passes = Passes(
        minibatch_size=run.minibatch_size,
        microbatch_size=run.microbatch_size,
        epochs=run.epochs,
    )
    posed, _ = job.envs.reset(seed=run.seed, options={"start": job.position})
    while job.step < run.num_steps and not _any(interrupt, job):
        job.step += 1
        clock = Clock()
        made: list[Generation] = []
        tried = rollouts(job, posed, clock, made)
        responses, reward, metrics = pick(tried, run.num_prompts, engine)
        posed = made[-1].upcoming
        with clock("train"):
            metrics |= job.learner.update(engine, responses, reward, passes, job.engines.reference)
        with clock("sync"):
            sampler.load_weights(engine.weights())
        count = len(made) * run.num_prompts * run.group_size
        metrics |= clock.metrics(count, num_tokens(made, engine))
        metrics |= reward_metrics(made, ("accuracy", "format", *job.envs.rewards), engine)
        job.position = job.envs.position
        log.write(job.step, metrics)
        if job.step == 1 or job.step % ROLLOUTS_EVERY == 0:
            first = made[0]
            texts = first.responses.texts
            log.write_rollout(job.step, first.posed, texts, first.rewards, first.infos)
        keep(job, log)


def rollouts(
    job: Job, posed: Any, clock: Clock, made: list[Generation]
) -> Iterator[tuple[Responses, Group, Group]]:
    """Rollouts for `pick`, as many as a training step may have, also appended to `made`."""
    run = job.run
    for number in range(run.max_generations):
        generation = generate(
            job.envs,
            job.engines.sampler,
            made[-1].upcoming if made else posed,
            (run.seed, job.step, job.engines.train.rank, number),
            clock,
            (run.max_response_length, run.overlong_buffer),
        )
        made.append(generation)
        yield generation.groups(run.group_size)


def keep(job: Job, log: RunLog) -> None:
    """Evaluates and saves where this step asks for it."""
    run, last = job.run, job.step == job.run.num_steps
    if last or (run.evaluate_every and job.step % run.evaluate_every == 0):
        evaluate_splits(job, log)
    if last or job.step % run.save_every == 0:
        save(job)


def save(job: Job) -> None:
    """Writes the checkpoint of this step; every rank calls it."""
    engine, reference = job.engines.train, job.engines.reference

    def write(folder: Path) -> None:
        engine.save(folder)
        if reference and engine.rank == 0:
            reference.save(folder)

    checkpoints.save(
        job.folder,
        job.step,
        write,
        identity(job) | {"position": job.position},
        keep=job.run.keep_checkpoints,
        rank=engine.rank,
        barrier=lambda: _barrier(job),
    )


def identity(job: Job) -> dict[str, Any]:
    """What a checkpoint and a run must share to fit."""
    return {
        "learner": type(job.learner).__name__,
        "model": checkpoints.fingerprint(job.engines.policy.model.state_dict().items()),
        "num_ranks": job.engines.train.num_ranks,
    }


def evaluate_splits(job: Job, log: RunLog) -> None:
    """Accuracy on each evaluation split, by rank 0 while the others wait."""
    for split in job.splits:
        if job.engines.train.rank == 0:
            result = evaluate(job.engines.sampler, exam(job.run, split))
            log.write_evaluation(job.step, result.summary())
            log.say(f"step {job.step}: {result}")
        _barrier(job)


def exam(run: Run, split: str) -> Exam:
    """How a run looks at a split: with the responses that it would train on."""
    return Exam(
        env=run.env,
        split=split,
        env_options=run.env_options,
        data=run.data,
        num_problems=run.num_test_problems,
        seed=run.seed,
    )


def make_envs(run: Run) -> tuple[Any, tuple[str, ...]]:
    """The training environment of this rank, and the names of the splits to evaluate on."""
    rank, num_ranks = ranks()
    if run.num_prompts % num_ranks:
        raise ValueError(f"--num-prompts {run.num_prompts} does not divide among {num_ranks} ranks")
    if run.minibatch_size % (num_ranks * run.group_size):
        raise ValueError(
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
    """Splits other than the training one; one that local data lack is named and left out."""
    module = importlib.import_module(find(run.env).module)
    for split in getattr(module, "SPLITS", ()):
        if split == options.get("split", "train"):
            continue
        try:
            reasonenv.make(run.env, num_envs=1, **{**options, "split": split}).close()
            yield split
        except (ValueError, OSError) as error:
            if ranks()[0] == 0:
                print(f"no evaluation on {split}: {error}", file=sys.stderr)


def prepare(run: Run, learner: Learner) -> Job:
    """The job that the settings ask for, begun or restored.

    Raises:
        ValueError: In one line, when something does not fit; nothing has been written then.
    """
    check(run)
    folder = run.folder(type(learner).__name__)
    found = checkpoints.start(folder, plain(settings(run, learner)), run.resume)
    envs, splits = make_envs(run)
    warm = recipe(run.env, run.env_options, run.seed)
    refresh = getattr(learner, "reference", fixed) if learner.uses_reference else None
    engines = build(run, tiny_model(warm) if run.model == "tiny" else run.model, refresh)
    # A model that cannot read these problems is found out here, not in the first step.
    posed, _ = envs.reset(options={"indices": [0]})
    engines.sampler.encode({name: rows[:1] for name, rows in posed.items()})
    job = Job(run, learner, folder, envs, engines, splits)
    if found:
        state = checkpoints.read_state(found, identity(job))
        # Without dynamic sampling, and so in the checkpoints of 0.1.0, a step is a stride.
        job.step = state["step"]
        job.position = state.get("position", job.step * run.num_prompts)
        engines.train.load(found)
        if engines.reference:
            engines.reference.load(found)
        engines.sampler.load_weights(engines.train.weights())
    return job


def settings(run: Run, learner: Learner) -> dict[str, Any]:
    """Everything that decides a run's numbers, by name."""
    return {"run": run, "algorithm": type(learner).__name__, "learner": learner}


def main(learner: type[L], arguments: Sequence[str] | None = None) -> None:
    """The command line of a learner: trains, and leaves a run directory behind.

    A run that SIGINT or SIGTERM ends before its last step exits with 128 plus the signal's number.

    Args:
        learner: The algorithm.
        arguments: Words after the program's name; None for this process's own.
    """
    run, value = parse_run(learner, arguments)
    with errors_in_one_line():
        job = prepare(run, value)
        if job.engines.train.rank == 0:
            write_run(job.folder, settings(job.run, job.learner), job.step)
    rank, last = job.engines.train.rank, job.run.num_steps
    options = {"start": job.step, "rank": rank, "tensorboard": job.run.tensorboard}
    with (
        contextlib.closing(job.envs),
        Interrupt(rank) as interrupt,
        RunLog(job.folder, last, **options) as log,
    ):
        if job.step == 0:
            evaluate_splits(job, log)
        train(job, log, interrupt)
        if job.step >= last:
            log.say(f"done: {job.folder}")
            return
        save(job)
        name = interrupt.name or "SIGTERM"
        log.say(f"{name}: saved step {job.step}; go on with --resume")
        sys.exit(128 + signal.Signals[name])


def _any(interrupt: Interrupt, job: Job) -> bool:
    """Whether any rank was told to stop."""
    return bool(job.engines.train.gather(torch.tensor([bool(interrupt)])).any())


def _barrier(job: Job) -> None:
    """Returns when every rank is here."""
    job.engines.train.gather(torch.zeros(1))
