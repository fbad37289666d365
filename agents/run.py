"""The loop: problems, responses, rewards, an update, and again; and a learner's command line."""

import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from agents import report
from agents.cli.exit import errors_in_one_line
from agents.cli.flags import parse_run
from agents.errors import typed_errors
from agents.learner import Learner
from agents.monitoring.collapse import CollapseMonitor, CollapseWarning, checkpoint_before
from agents.monitoring.logs import RunLog
from agents.monitoring.timing import Clock
from agents.monitoring.traces import Trace
from agents.rollout import Group, Responses
from agents.storage import checkpoints
from agents.storage.json_files import read_json_lines
from agents.storage.provenance import write_run
from agents.training.dynamic_sampling import evened, pick
from agents.training.interrupt import Interrupt
from agents.training.rollouts import Generation, generate, num_tokens, reward_metrics
from agents.training.setup import prepare, settings
from agents.training.state import Job
from agents.training.update import update

L = TypeVar("L", bound=Learner)
ROLLOUTS_EVERY = 10
"""Steps between the samples of rollouts that are kept."""
ACTIONS = ("continue", "stop", "rollback")
ROLLBACKS = 3
"""How often a run goes back before it gives up."""
COLLAPSED = 3
"""Status of a run that stopped because of what its metrics showed."""


def train(job: Job, log: RunLog, interrupt: Interrupt) -> str:
    """Trains to the last step, or to the end of the step in which the run is told to stop.

    Returns:
        Why the run stopped of itself before its last step; "" if it did not.
    """
    run = job.run
    rows = read_json_lines(job.folder / "metrics.jsonl")
    monitor = CollapseMonitor(run.on_collapse, run.max_skipped, rows)
    posed, _ = job.envs.reset(seed=run.seed, options={"start": job.position})
    while job.step < run.num_steps and not job.any(bool(interrupt)):
        job.step += 1
        posed, metrics = advance(job, posed, log)
        log.write(job.step, metrics)
        decision = monitor.update(job.step, metrics)
        for warning in map(str, decision.warnings):
            if decision.action != "stop" or warning != decision.reason:
                log.say(f"warning: {warning}")
        act = ACTIONS[job.first(ACTIONS.index(decision.action))]
        if act == "continue":
            keep(job, log)
        elif act == "stop" or not go_back(job, log, monitor, decision.warnings):
            return decision.reason or "see rank 0"
    return ""


def advance(job: Job, posed: Any, log: RunLog) -> tuple[Any, dict[str, float]]:
    """One step: rollouts, an update, and the weights to the sampler.

    Args:
        job: Whose `position` is moved on.
        posed: What the environment observed last.
        log: Keeps some of the rollouts.

    Returns:
        What is posed next, and the metrics.
    """
    run, engine, sampler = job.run, job.engines.train, job.engines.sampler
    clock = Clock()
    made: list[Generation] = []
    responses, reward, metrics = pick(rollouts(job, posed, clock, made), run.num_prompts, engine)
    responses, reward = evened(responses, reward, run.minibatch_size, engine)
    shown = job.step == 1 or job.step % ROLLOUTS_EVERY == 0
    trace = Trace(responses) if shown and log.writes else None
    sampler.release()
    with clock("train"):
        passes, reference = job.passes(), job.engines.reference
        metrics |= update(job.learner, engine, responses, reward, passes, reference, trace=trace)
    with clock("sync"):
        sampler.load_weights(engine.weights())
    count = len(made) * run.num_prompts * run.group_size
    metrics |= clock.metrics(count, num_tokens(made, engine))
    metrics |= reward_metrics(made, ("accuracy", "format", *job.envs.rewards), engine)
    job.position = job.envs.position
    if trace is not None:
        show(job, log, made[0], trace)
    return made[-1].upcoming, metrics


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


def show(job: Job, log: RunLog, made: Generation, trace: Trace) -> None:
    """Keeps some groups of a rollout, with what the update did to each token."""
    log.write_rollout(
        job.step,
        made.posed,
        made.responses.texts,
        made.rewards,
        made.infos,
        group_size=job.run.group_size,
        count=2 * job.run.group_size,
        details=trace.details(made.responses, job.engines.chat.tokenizer),
    )


def keep(job: Job, log: RunLog) -> None:
    """Evaluates and saves where this step asks for it."""
    run, last = job.run, job.step == job.run.num_steps
    if last or (run.evaluate_every and job.step % run.evaluate_every == 0):
        job.evaluate(log)
    if last or job.step % run.save_every == 0:
        job.save()


def go_back(
    job: Job, log: RunLog, monitor: CollapseMonitor, warnings: Sequence[CollapseWarning]
) -> bool:
    """Goes on from the last checkpoint before a collapse, with problems that have not been posed.

    Every rank calls it, with the warnings of rank 0 on that rank.

    Returns:
        Whether there is such a checkpoint, and the run has not gone back too often.
    """
    if job.num_rollbacks == ROLLBACKS:
        log.say(f"gone back {ROLLBACKS} times already, and not once more")
        return False
    before = job.first(checkpoint_before(warnings, checkpoints.steps(job.folder)) or 0)
    if not before:
        log.say("there is no checkpoint from before it to go back to: lower --save-every")
        return False
    position, num_rollbacks = job.position, job.num_rollbacks + 1
    checkpoints.forget_after(job.folder, before, rank=job.engines.train.rank, barrier=job.barrier)
    job.restore(job.folder / "checkpoints" / f"step-{before}")
    job.position, job.num_rollbacks = position, num_rollbacks
    log.forget_after(before)
    monitor.rewind(before)
    log.say(f"gone back to step {before}, {num_rollbacks} of {ROLLBACKS} times")
    return True


def main(learner: type[L], arguments: Sequence[str] | None = None) -> None:
    """The command line of a learner: trains, and leaves a run directory behind.

    A run that SIGINT or SIGTERM ends before its last step exits with 128 plus the signal's number,
    one that its own metrics stop with 3.

    Args:
        learner: The algorithm.
        arguments: Words after the program's name; None for this process's own.
    """
    run, value = parse_run(learner, arguments)
    folder = run.folder(type(value).__name__)
    with contextlib.ExitStack() as held:
        held.enter_context(errors_in_one_line(lambda: checkpoints.way_on(folder)))
        held.enter_context(typed_errors("training"))
        with errors_in_one_line():
            job = prepare(run, value)
            held.enter_context(contextlib.closing(job.envs))
            held.enter_context(contextlib.closing(job.engines.sampler))
            log = held.enter_context(open_log(job))
            if log.writes:
                write_run(job.folder, settings(job.run, job.learner), job.step)
        interrupt = held.enter_context(Interrupt(job.engines.train.rank))
        if job.step == 0:
            job.evaluate(log)
        status = end(job, log, interrupt, train(job, log, interrupt))
    if status:
        sys.exit(status)


def open_log(job: Job) -> RunLog:
    """The records of the run, from the step on that is done."""
    rank, last = job.engines.train.rank, job.run.num_steps
    return RunLog(job.folder, last, start=job.step, rank=rank, tensorboard=job.run.tensorboard)


def end(job: Job, log: RunLog, interrupt: Interrupt, reason: str) -> int:
    """Saves what a run that was stopped has done, and writes its report; gives the exit status."""
    done = job.step >= job.run.num_steps and not reason
    if not done:
        job.save()
    if log.writes:
        log.say(report.after(job.folder))
    if done:
        log.say(f"done: {job.folder}")
        return 0
    name = "collapse" if reason else interrupt.name or "SIGTERM"
    log.say(f"{name}: saved step {job.step}; {reason or 'go on with --resume'}")
    return COLLAPSED if reason else 128 + signal.Signals[name]
