"""The loop: problems, responses, rewards, an update, and again; and a learner's command line."""

import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from agents.clock import Clock
from agents.collect import pick
from agents.command_line import errors_in_one_line, parse_run
from agents.generations import Generation, generate, num_tokens, reward_metrics
from agents.interrupt import Interrupt
from agents.job import Job, prepare, settings
from agents.learner import Learner, Passes
from agents.logs import RunLog
from agents.provenance import write_run
from agents.rollout import Group, Responses

L = TypeVar("L", bound=Learner)
ROLLOUTS_EVERY = 10
"""Steps between the samples of rollouts that are kept."""


def train(job: Job, log: RunLog, interrupt: Interrupt) -> None:
    """Trains to the last step, or to the end of the step in which the run is interrupted."""
    run, engine, sampler = job.run, job.engines.train, job.engines.sampler
    passes = Passes(
        minibatch_size=run.minibatch_size,
        microbatch_size=run.microbatch_size,
        epochs=run.epochs,
    )
    posed, _ = job.envs.reset(seed=run.seed, options={"start": job.position})
    while job.step < run.num_steps and not job.any(bool(interrupt)):
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
        job.evaluate(log)
    if last or job.step % run.save_every == 0:
        job.save()


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
            job.evaluate(log)
        train(job, log, interrupt)
        if job.step >= last:
            log.say(f"done: {job.folder}")
            return
        job.save()
        name = interrupt.name or "SIGTERM"
        log.say(f"{name}: saved step {job.step}; go on with --resume")
        sys.exit(128 + signal.Signals[name])
