"""Where a step's rollouts come from: sampled when they are due, or ahead, beside the updates.

Rollout s is sampled with the weights after update max(0, s - 1 - K), K the staleness. Numbers pace
it, never the clock: the rollouts, and so the run, are the same whoever waits for whom. Nothing is
discarded and nothing overtakes, so long responses are as frequent as with K = 0.
"""

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

from agents.engines import RolloutEngine, TrainEngine, all_gather_object, error_on_all_ranks
from agents.engines.pretrained import model_folder
from agents.engines.sampler_process import ProcessSampler, Weights, trained_weights
from agents.learner import Learner
from agents.monitoring.logs import RunLog
from agents.monitoring.timing import Clock
from agents.training.build import sampler_copy
from agents.training.rollouts import Rollout, sample_rollout, with_contexts
from agents.training.setup import length_penalty
from agents.training.state import RunState

History = Sequence[Mapping[str, Any]]
"""Metrics of each step so far; those of rank 0 count."""


class InTurn:
    """Rollouts that are sampled when they are due, with the weights of the last update."""

    def __init__(self, state: RunState, log: RunLog) -> None:
        """Poses the problems at the position of the run."""
        self._state, self._log = state, log
        self._observations = reset(state)

    def rollouts(self, clock: Clock, history: History) -> Iterator[Rollout]:
        """Up to `max_generations` rollouts of the next step.

        Args:
            clock: Measures sampling and grading.
            history: For a learner with a curriculum.
        """
        state, log, engines = self._state, self._log, self._state.engines
        self._observations = pose(state, self._observations, history)
        show = partial(log.activity, "sampling", total=state.envs.num_envs)
        for number in range(state.run.max_generations):
            parts = engines.sampler, self._observations, (state.step + 1, number), clock
            rollout = sample(state, *parts, engine=engines.train, on_response=show)
            self._observations = rollout.next_observations
            yield rollout

    def update_weights(self) -> None:
        """Gives the sampler the weights of the last update; every rank calls it."""
        engines = self._state.engines
        engines.sampler.load_weights(engines.train.checkpoint_weights())

    def wait(self) -> None:
        """No-op: nothing is sampled between two steps."""

    def drop(self) -> None:
        """No-op."""

    def restart(self) -> None:
        """No-op: problems go on after those that were posed."""

    def close(self) -> None:
        """No-op."""


class Ahead:
    """Rollouts that a sampler with weights of its own makes ahead of the updates.

    It is a process beside the trainer's, or a vLLM server that the ranks share.
    """

    def __init__(self, state: RunState, log: RunLog) -> None:
        """Starts the sampler; it samples from the first call of `rollouts` on."""
        self._state, self._log = state, log
        self._producer = ThreadPoolExecutor(1, "sampling")
        self._pending: deque[Future[tuple[Rollout, dict[str, float]]]] = deque()
        self._waits: list[tuple[float, float, float]] = []
        self.restart()
        self._sampler: Any = state.engines.sampler
        if state.run.vllm_server is not None:
            self._sampler.use_own_group()
        else:  # last, since it must be closed
            make = partial(sampler_copy, state.run, model_folder(state.run.model))
            encode, weights = self._sampler.encode, trained_weights(state.engines.policy)
            self._sampler = ProcessSampler(encode, weights, make, log.say)

    def rollouts(self, clock: Clock, history: History) -> Iterator[Rollout]:
        """The rollout of the next step; those up to K later ones are sampled on meanwhile.

        Args:
            clock: Measures the wait for it, its sampling and grading, and how long the sampler had
                waited before.
            history: Not used; there is no curriculum.
        """
        state = self._state
        last = min(state.step + 1 + state.run.staleness, state.run.num_steps)
        for step in range(state.step + 1 + len(self._pending), last + 1):
            weights = state.versions.get(state.version(step), {})  # rank 0 has them
            self._pending.append(self._producer.submit(self._sample, step, weights))
        self._log.activity("waiting for the sampler")
        with clock("wait"), error_on_all_ranks(state.engines.train, "sampling"):
            rollout, seconds = self._pending.popleft().result()
        clock.seconds |= seconds
        now = time.perf_counter()
        self._waits.append((now, clock.seconds["wait"], seconds["sampler_wait"]))
        yield rollout

    def update_weights(self) -> None:
        """Keeps the weights of the last update for rollouts to come; every rank calls it."""
        self._state.keep_version()

    def wait(self) -> None:
        """Waits for the rollouts under way; the run's own sampler has the last weights then."""
        wait(self._pending)
        engines = self._state.engines
        engines.sampler.load_weights(engines.train.checkpoint_weights())

    def drop(self) -> None:
        """Drops the rollouts under way, so that the sampler idles."""
        for future in self._pending:
            future.cancel()
        wait(self._pending)
        self._pending.clear()

    def restart(self) -> None:
        """Begins anew where the state of the run is."""
        self._observations, self._idle_since = reset(self._state), time.perf_counter()

    def close(self) -> None:
        """Ends the sampler; rollouts under way are lost, and a resumed run samples them anew."""
        self._producer.shutdown(wait=False, cancel_futures=True)
        self._sampler.close()
        self._producer.shutdown()
        if len(self._waits) > 1:  # of which the first step is left out
            ends, *waits = zip(*self._waits, strict=True)
            trainer, sampler = (sum(part[1:]) / (ends[-1] - ends[0]) for part in waits)
            self._log.say(f"waits: trainer {trainer:.0%}, sampler {sampler:.0%} of the time")

    def _sample(self, step: int, weights: Weights) -> tuple[Rollout, dict[str, float]]:
        """Samples and grades the rollout of a step, in the producer's thread, on one rank."""
        clock = Clock()
        waited = clock.start - self._idle_since
        with clock("transfer"):
            self._sampler.load_weights(weights.items())
        rollout = sample(self._state, self._sampler, self._observations, (step, 0), clock)
        self._observations, self._idle_since = rollout.next_observations, time.perf_counter()
        return rollout, clock.seconds | {"sampler_wait": waited}


def sample(
    state: RunState,
    sampler: RolloutEngine,
    observations: Any,
    number: tuple[int, int],
    clock: Clock,
    *,
    engine: TrainEngine | None = None,
    **options: Any,
) -> Rollout:
    """A rollout of this rank, a function of weights, the run's seed and its number.

    Args:
        state: State of the run; its environment goes on to the next problems.
        sampler: Samples the responses.
        observations: Last ones of the environment.
        number: Step, from 1, and how many rollouts of the step came before.
        clock: Measures sampling and grading.
        engine: Of this rank; None to sample without the other ranks.
        options: Of `sample_rollout`.
    """
    run, context = state.run, state.learner.second_context
    seed = run.seed, number[0], state.engines.train.rank, number[1]
    options |= {"length_penalty": length_penalty(run), "max_prompt_length": run.max_prompt_length}
    parts = state.envs, sampler, observations, seed, clock
    rollout = sample_rollout(*parts, engine=engine, **options)
    if context is None or context.view is None:
        return rollout
    return with_contexts(rollout, context.view, run.group_size, sampler, seed, engine)


def reset(state: RunState, options: Mapping[str, Any] | None = None) -> Any:
    """Observations of the problems at the position of the run."""
    with error_on_all_ranks(state.engines.train, "the environment"):
        start = {"start": state.position} | dict(options or {})
        return state.envs.reset(seed=state.run.seed, options=start)[0]


def pose(state: RunState, observations: Any, history: History) -> Any:
    """Observations of the next step, of the problems that the learner's curriculum draws from.

    Args:
        state: State of the run.
        observations: Last ones of the environment, for a learner without a curriculum.
        history: For the curriculum.
    """
    learner, engine = state.learner, state.engines.train
    if type(learner).curriculum is Learner.curriculum:
        return observations
    with error_on_all_ranks(engine, "the curriculum"):
        own = learner.curriculum(history, state.envs.problems) if engine.rank == 0 else None
    numbers = all_gather_object([own], engine)[0]
    return reset(state, None if numbers is None else {"subset": numbers})
