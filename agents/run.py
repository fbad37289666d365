"""Training loop of every learner, and its command line."""

import contextlib
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TypeVar

from agents import report
from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import module_name, parse_run
from agents.cli.interrupt import Interrupt
from agents.cli.lasting_output import lasting_output
from agents.dry_run import DryRun, dry_run
from agents.engines import ON_ALL_RANKS, error_on_all_ranks, ranks
from agents.errors import SaveError, typed_errors
from agents.learner import Learner
from agents.monitoring.collapse import CollapseMonitor, CollapseWarning, checkpoint_before
from agents.monitoring.logs import RunLog
from agents.monitoring.timing import Clock, Interval
from agents.monitoring.traces import Trace, logged_groups
from agents.rollout import Group, Responses
from agents.storage import checkpoints, hub
from agents.storage.json_files import read_steps
from agents.storage.lock import locked
from agents.storage.provenance import write_run
from agents.training.dynamic_sampling import balance_tokens, select_groups
from agents.training.pipeline import Ahead, History, InTurn
from agents.training.rollouts import Rollout, count, reward_metrics
from agents.training.setup import prepare, run_settings
from agents.training.state import RunState
from agents.training.update import update
from reasonenv.grading import VERSION

L = TypeVar("L", bound=Learner)
ROLLOUT_LOG_INTERVAL = 10
"""Steps between logged rollouts."""
REPORT_SECONDS = 300
"""Time between two reports while the run goes on."""
ACTIONS = ("continue", "stop", "rollback")
MAX_ROLLBACKS = 3
MAX_SKIPPED = 10
"""Consecutive optimizer steps without a finite gradient after which a run saves and stops."""
EXIT_COLLAPSED = 3
"""Exit status of a run that its collapse monitor stopped."""


def train(state: RunState, log: RunLog, interrupt: Interrupt) -> str:
    """Trains to the last step, or to the end of the step in which an interrupt or collapse comes.

    Returns:
        Reason of a stop by the collapse monitor; "" otherwise.
    """
    rows = read_steps(state.folder / "metrics.jsonl")
    if len(rows) != state.step:
        log.say(
            f"warning: metrics.jsonl has {len(rows)} of {state.step} steps: the report lacks others"
        )
    monitor = CollapseMonitor(state.run.on_collapse, MAX_SKIPPED, rows)
    kind = Ahead if state.run.staleness else InTurn
    with contextlib.closing(kind(state, log)) as source:
        return train_on(source, state, log, interrupt, monitor)


def train_on(
    source: InTurn | Ahead,
    state: RunState,
    log: RunLog,
    interrupt: Interrupt,
    monitor: CollapseMonitor,
) -> str:
    """`train` on the rollouts of a source."""
    run, reports = state.run, Interval(REPORT_SECONDS)
    while state.step < run.num_steps and not state.any(bool(interrupt)):
        metrics = train_step(state, source, log, monitor.rows)
        log.write(state.step, metrics)
        decision = monitor.update(state.step, metrics)
        for warning in map(str, decision.warnings):
            if decision.action != "stop" or warning != decision.reason:
                log.say(f"warning: {warning}")
        action = ACTIONS[state.broadcast(ACTIONS.index(decision.action))]
        if action == "continue":
            evaluate_and_save(state, log, source)
            if log.writes and reports.is_due():
                with reports.action():
                    report.report_at_end(state.folder)
            continue
        source.drop()
        if action == "stop" or not roll_back(state, log, monitor, decision.warnings):
            return decision.reason or "see rank 0"
        source.restart()
    return ""


def train_step(
    state: RunState, source: InTurn | Ahead, log: RunLog, history: History
) -> dict[str, float]:
    """One training step: rollouts, an update, and a transfer of the weights to the sampler.

    Args:
        state: State of the run; advances its `step` and its `position`.
        source: Of the rollouts; it gets the new weights.
        log: Logs the first rollout of every `ROLLOUT_LOG_INTERVAL`th step.
        history: Metrics of each step so far.

    Returns:
        The metrics of the step.
    """
    run, engine, sampler = state.run, state.engines.train, state.engines.sampler
    clock, step = Clock(), state.step + 1
    rollouts: list[Rollout] = []
    groups = take_up(state, source.rollouts(clock, history), rollouts, log)
    patches = state.engines.chat.patches
    responses, reward, metrics = select_groups(
        groups, run.num_prompts, engine, patches, release=sampler.release
    )
    responses, reward = balance_tokens(responses, reward, run.minibatch_size, engine, patches)
    if run.truncated == "mask":
        responses = responses.with_loss(responses.finished)
    logged = step == 1 or step % ROLLOUT_LOG_INTERVAL == 0
    trace = Trace(responses) if logged and log.writes else None
    log.activity("training")
    with clock("train"):
        passes, reference = state.passes(), state.engines.reference
        learner = state.learner.at_step(step, run.num_steps)
        parts = learner, engine, responses, reward, passes, reference
        begin = partial(setattr, state, "is_updating", True)
        metrics |= update(*parts, teacher=state.engines.teacher, trace=trace, before_step=begin)
    state.step, state.position, state.is_updating = step, rollouts[-1].position, False
    with error_on_all_ranks(engine, "the transfer of weights"), clock("sync"):
        source.update_weights()
    num_responses = len(rollouts) * run.num_prompts * run.group_size
    num_tokens, metrics["rollout/left_out"] = count(rollouts, engine)
    metrics |= clock.metrics(num_responses, num_tokens)
    metrics |= reward_metrics(rollouts, state.reward_names, engine)
    if run.staleness:
        metrics["staleness/age"] = step - 1 - state.version(step)
    if trace is not None:
        log_rollout(state, log, rollouts[0], trace)
    return metrics


def take_up(
    state: RunState, source: Iterator[Rollout], rollouts: list[Rollout], log: RunLog
) -> Iterator[tuple[Responses, Group, Group]]:
    """Rollouts of a step as groups for dynamic sampling, appended to `rollouts`.

    Prints the reward of the first rollout of this process before the update, which takes longer.
    """
    size, step = state.run.group_size, state.step + 1
    parts = state.reward_names if "reward_parts" in state.learner.reads else ()
    for number, rollout in enumerate(source):
        rollouts.append(rollout)
        if step == log.start + 1 and number == 0:
            log.say(f"step {step}: first rollout: {rollout.summary()}")
        if number == 0:
            log.show_responses(step, rollout, size)
        yield rollout.groups(size, parts)


def log_rollout(state: RunState, log: RunLog, rollout: Rollout, trace: Trace) -> None:
    """Logs two groups of a rollout, with advantage, log-ratio and clip of each token."""
    accuracies, size = rollout.infos["accuracy"].tolist(), state.run.group_size
    chat = state.engines.chat
    log.write_rollout(
        state.step,
        rollout.observations,
        rollout.responses.texts,
        rollout.rewards,
        rollout.infos,
        group_size=size,
        groups=logged_groups(accuracies, trace.advantages(rollout.responses), size),
        details=trace.details(rollout.responses, chat.tokenizer, chat.image_token),
    )


@contextlib.contextmanager
def saved_on_error(state: RunState, log: RunLog) -> Iterator[None]:
    """Context of a run in which an error first saves the last complete step.

    Not within an update, whose weights are of no step; and on several ranks, which save together,
    only after an error that all of them have.
    """
    try:
        yield
    except Exception as error:
        alone = state.engines.train.num_ranks == 1 and not isinstance(error, SaveError)
        together = alone or ON_ALL_RANKS in getattr(error, "__notes__", ())
        if state.step and together and not state.is_updating:
            try:
                state.save()
                log.say(f"saved step {state.step} after an error")
            except Exception as second:  # the first one is raised
                log.say(f"warning: {second}")
        raise


def evaluate_and_save(state: RunState, log: RunLog, source: InTurn | Ahead) -> None:
    """Evaluates and saves at the intervals of the settings, and at the last step."""
    run, last, is_best = state.run, state.step == state.run.num_steps, False
    if state.is_evaluation_due():
        source.wait()
        state.evaluate(log)
        is_best = state.best_step() == state.step
    # The files and the clock of rank 0 decide.
    is_due = state.broadcast(is_best or state.save_interval.is_due())
    if last or state.step % run.save_every == 0 or is_due:
        state.save()
    if is_best:
        log.say(f"step {state.step}: the best {run.keep_best} so far: its checkpoint is kept")


def roll_back(
    state: RunState, log: RunLog, monitor: CollapseMonitor, warnings: Sequence[CollapseWarning]
) -> bool:
    """Restores the last checkpoint before a collapse, and continues with new problems.

    A kill at any moment leaves a run that resumes either before the rollback or after it. Every
    rank calls it; the warnings of rank 0 decide.

    Returns:
        False if there is no such checkpoint, or after `MAX_ROLLBACKS`.
    """
    if state.num_rollbacks == MAX_ROLLBACKS:
        log.say(f"no rollback: the run has rolled back {MAX_ROLLBACKS} times already")
        return False
    rank = state.engines.train.rank
    before = checkpoint_before(warnings, checkpoints.steps(state.folder))
    checkpoint = checkpoints.recover(state.folder, before) if rank == 0 and before else None
    step = state.broadcast(checkpoints.step_of(checkpoint) if checkpoint else 0)
    if not step:
        log.say("no rollback: no checkpoint from before the collapse; lower --save-every")
        return False
    if rank == 0:
        checkpoints.Rollback(step, state.position, state.num_rollbacks + 1).write(state.folder)
    checkpoints.remove_after(state.folder, step, rank=rank, barrier=state.barrier)
    state.restore(checkpoints.path_of(state.folder, step))
    log.remove_after(step)
    monitor.rewind(step)
    log.say(f"rolled back to step {step}, rollback {state.num_rollbacks} of {MAX_ROLLBACKS}")
    return True


@standard_streams()
def main(learner: type[L], arguments: Sequence[str] | None = None) -> None:
    """Command line of a learner: trains and writes a run directory.

    Exits with 128 plus the signal's number after SIGINT, SIGTERM or SIGHUP, and with 3 after a
    collapse. Without a reader of its output it goes on to its end.

    Args:
        learner: The algorithm.
        arguments: Command-line arguments; None for those of this process.
    """
    run, algorithm, look = parse_run(learner, arguments, DryRun)
    if look.dry_run or look.dry_run_response is not None:
        with errors_in_one_line():
            return dry_run(run, algorithm, look.dry_run_response)
    folder = run.folder(type(algorithm).__name__)
    with contextlib.ExitStack() as stack:
        stack.enter_context(lasting_output())
        stack.enter_context(errors_in_one_line(lambda: checkpoints.resume_hint(folder)))
        stack.enter_context(typed_errors("training"))
        with errors_in_one_line():
            if run.push_to_hub:
                hub.check_upload(run.push_to_hub)
            if ranks()[0] == 0:
                stack.enter_context(locked(folder))
            state = prepare(run, algorithm)
            stack.enter_context(contextlib.closing(state.envs))
            stack.enter_context(contextlib.closing(state.engines.sampler))
            log = stack.enter_context(open_log(state))
            if log.writes:
                settings = run_settings(state.run, state.learner)
                write_run(state.folder, settings, state.step, VERSION)
        interrupt = stack.enter_context(Interrupt(state.engines.train.rank))
        if state.is_evaluation_due():  # an error may have ended the run before it
            state.evaluate(log)
        with saved_on_error(state, log):
            reason = train(state, log, interrupt)
        status = finish(state, log, interrupt, reason)
    if status:
        sys.exit(status)


def _resumption(state: RunState) -> str:
    """The command that goes on with the run, as far as it does not depend on a launcher."""
    module = module_name(type(state.learner))
    if state.engines.train.num_ranks > 1 or module == "__main__":
        return "--resume"
    return f"python -m {module} --output-dir {shlex.quote(str(state.folder))} --resume"


def open_log(state: RunState) -> RunLog:
    """Log of the run, from its current step on."""
    run = state.run
    return RunLog(
        state.folder,
        run.num_steps,
        start=state.step,
        rank=state.engines.train.rank,
        trackers=tuple(dict.fromkeys(run.track)),
        settings=run_settings(run, state.learner),
        num_shown=run.show_responses,
    )


def finish(state: RunState, log: RunLog, interrupt: Interrupt, reason: str) -> int:
    """Writes the report and, for a stopped run, a checkpoint; returns the exit status."""
    complete = state.step >= state.run.num_steps and not reason
    if not complete:
        state.save()
    if log.writes:
        log.say(report.report_at_end(state.folder))
    if complete:
        if state.run.push_to_hub and log.writes:
            checkpoint = checkpoints.path_of(state.folder, state.step)
            log.say(f"uploaded: {hub.upload(checkpoint, state.run.push_to_hub)}")
        log.say(f"done: {state.folder}")
        return 0
    name = "collapse" if reason else interrupt.name or "SIGTERM"
    log.say(f"{name}: saved step {state.step}; {reason or f'continue with {_resumption(state)}'}")
    return EXIT_COLLAPSED if reason else 128 + signal.Signals[name]
