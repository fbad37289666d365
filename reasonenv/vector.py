"""Many problems at once: a Gymnasium vector environment that poses groups and grades batches."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from reasonenv.batch_rewards import Answered
from reasonenv.env import (
    STATUSES,
    ReasonEnv,
    check_arguments,
    check_text,
    grade_info,
    make_observation,
    next_order,
    observation_space,
    warn_without_mode,
)
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.ordering import ProblemOrder, leave_out
from reasonenv.problem import Problem
from reasonenv.prompts import PromptTemplate, find_prompt
from reasonenv.render import MODES, Observation, ShortDict, frames_html, rgb_array
from reasonenv.rewards import by_name, totals
from reasonenv.spaces import TextSpace
from reasonenv.tools import Toolbox
from reasonenv.workers import Grader

Observations = Observation
"""`system` and `question`, tuples of texts, and `images`, a tuple of tuples of read-only arrays."""


class ReasonVectorEnv(VectorEnv[Observations, Sequence[str], np.ndarray]):
    """Poses num_envs / group_size problems, takes num_envs responses, and poses the next.

    Sub-environments i * group_size ... (i + 1) * group_size - 1 share one problem, so a step's
    rewards reshape to [p g]. An episode is one response; `step` returns the observations of the
    next problems (SAME_STEP), and the verdicts on those just answered in `infos`.

    `reset(seed)` starts an order of the problems, each pass shuffled anew; `reset()` continues
    it. The options of `reset` are `indices`, to pose exactly these problems in this order, again
    from the first after the last; `subset`, to shuffle these in place of all, such as those of a
    curriculum; and `start`, the position in the order to begin at. Each subset has an order of its
    own: one that differs from the last may pose again what that has posed.

    `left_out` is as in `ReasonEnv`; `num_left_out` counts problems of the current batch in place of
    which others are posed.

    Args:
        problems: The problems to pose.
        rewards: Names and weights, or functions; see `reasonenv.rewards`.
        num_envs: Responses of one step.
        group_size: Responses to each problem; divides `num_envs`.
        prompt: The instruction around a question, or its name; see `reasonenv.prompts`.
        num_workers: Number of grading processes; None for the number of CPU cores, up to 8.
        timeout: CPU seconds for one answer.
        rank: Rank of this process among those of a job that share an order.
        num_ranks: Number of ranks. Together they pose the batch that a single environment with
            all their sub-environments poses; each takes every num_ranks-th problem, from its rank.
        render_mode: "rgb_array", "ansi" or None.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it on the instance
        "render_modes": ReasonEnv.metadata["render_modes"],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }
    tools: Toolbox | None = None
    """Tools and ceilings of episodes of several turns; None where an episode is one response."""

    def __init__(  # noqa: PLR0913 - keywords of a user
        self,
        problems: Sequence[Problem],
        rewards: Mapping[str, Any],
        *,
        num_envs: int = 1,
        group_size: int = 1,
        prompt: str | PromptTemplate = "plain",
        num_workers: int | None = None,
        timeout: float = 1.0,
        rank: int = 0,
        num_ranks: int = 1,
        render_mode: str | None = None,
    ) -> None:
        check_arguments(problems, render_mode)
        _check_numbers(num_envs, group_size, rank, num_ranks)
        self.problems, self.rewards = problems, by_name(rewards) if rewards else {}
        self.num_envs, self.group_size = num_envs, group_size
        self.rank, self.num_ranks = rank, num_ranks
        self.instruction = find_prompt(prompt)
        self.render_mode = render_mode
        self.single_observation_space = observation_space()
        self.single_action_space = TextSpace()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.left_out: dict[int, str] | None = None
        self._grader = Grader(num_workers, timeout)
        self._order: ProblemOrder | None = None
        self._position = 0
        self._numbers: list[int] = []
        self.num_left_out = 0
        self._current: list[Problem] = []
        self._answered: list[Answered] = []
        self._submitted: dict[int, tuple[str, Future[Grade]]] = {}

    @property
    def position(self) -> int:
        """Position in the order of the first problem of the current batch, over all ranks.

        `reset(seed=..., options={"start": position})` poses the same problems again.
        """
        return self._position

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Poses the next batch of the order, or the first of a new one when a seed is given."""
        if isinstance(seed, list):
            raise ValueError("sub-environments share one problem order: give one seed, not a list")
        super().reset(seed=seed)
        self._order, start = next_order(self, self._order, seed, options)
        self._position = self._position + self._stride if start is None else start
        self._forget()
        self._pose(self._order)
        return self._observations(), ShortDict(problem_id=self._ids())

    def leave_out(self, reasons: Mapping[int, str]) -> Observations:
        """The current batch with others in place of some problems, which are not posed again.

        Args:
            reasons: By sub-environment, such as that a problem is too long for a model.

        Raises:
            UsageError: Problems are errors here, see `left_out`.
        """
        order = self._check_reset("leave_out")
        for index, reason in reasons.items():
            number, problem = self._number(index), self._current[index]
            if self.left_out is None or order.is_explicit:
                raise UsageError(f"problem {problem.id!r}: {reason}")
            if number not in self.left_out:
                leave_out(self.left_out, number, f"problem {problem.id!r}: {reason}")
        self._pose(order)
        return self._observations()

    def submit(self, index: int, response: str) -> None:
        """Starts grading a response before `step`, which then collects its grade.

        Args:
            index: Sub-environment that the response answers.
            response: The text that `step` will get; a different text is graded afresh.
        """
        self._check_reset("submit")
        if not 0 <= index < self.num_envs:
            raise ValueError(f"index {index} is not in [0, {self.num_envs})")
        self._submitted[index] = response, self._start_grading(index, check_text(response, index))

    def step(
        self, actions: Sequence[str]
    ) -> tuple[Observations, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Grades the responses and poses the next problems.

        Args:
            actions: One response for each sub-environment, in order.

        Returns:
            The next observations; rewards [num_envs] float64; terminations, all True;
            truncations, all False; and infos about the problems just answered, with an array
            for each: every component of the reward, NaN where it does not apply, `answer`,
            `reference`, `solution`, `status`, `problem_id`, `metadata`, and `grade`, a dict of
            status -> bools: `infos["grade"]["timeout"].sum()` counts the responses that timed out.
            The same stands in `final_info`; `next_problem_id` has the problems posed now.

        Raises:
            RewardError: A reward is no finite number; the same problems are posed still.
            DataError: One of the next problems cannot be read.
        """
        order = self._check_reset("step")
        responses = self._check_actions(actions)
        grades = self._grade(dict(enumerate(responses)))
        self._answered = list(zip(self._current, responses, grades, strict=True))
        sums = totals(self.rewards, self._answered)
        infos = self._infos([parts for _, parts in sums])
        self._position += self._stride
        self._pose(order)
        infos["next_problem_id"] = self._ids()
        rewards = np.array([reward for reward, _ in sums], dtype=np.float64)
        terminations = np.ones(self.num_envs, dtype=bool)
        return self._observations(), rewards, terminations, ~terminations, infos

    def render(self) -> tuple[Any, ...] | None:
        """A frame of each sub-environment: the problem just answered, or the one just posed."""
        self._check_reset("render")
        if self.render_mode is None:
            return warn_without_mode()
        return tuple(MODES[self.render_mode](*entry) for entry in self._entries())

    def _repr_html_(self) -> str | None:
        """Frames of the first problems in a notebook; None before `reset`."""
        if self._order is None:
            return None
        entries = self._entries()[:: self.group_size][:3]
        return frames_html(rgb_array(*entry) for entry in entries)

    def _entries(self) -> Sequence[tuple[Problem, str | None, Grade | None]]:
        return self._answered or [(problem, None, None) for problem in self._current]

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the grading processes."""
        self._grader.close()

    def _forget(self) -> None:
        """Forgets the last episodes."""
        self._answered = []

    def _number(self, index: int) -> int:
        """Number in the split of the problem of a sub-environment."""
        return self._numbers[index // self.group_size]

    @property
    def _stride(self) -> int:
        """Problems of one step, over all ranks."""
        return self.num_ranks * (self.num_envs // self.group_size)

    def _pose(self, order: ProblemOrder) -> None:
        batch = range(self._position, self._position + self._stride)[self.rank :: self.num_ranks]
        posed = [order.pose(self.problems, place, self.left_out) for place in batch]
        self._numbers = [number for number, _ in posed]
        self.num_left_out = sum(n != order[i] for n, i in zip(self._numbers, batch, strict=True))
        self._current = [problem for _, problem in posed for _ in range(self.group_size)]
        self._submitted = {}

    def _observations(self) -> Observations:
        singles = self._single_observations()
        return Observation({key: tuple(single[key] for single in singles) for key in singles[0]})

    def _single_observations(self) -> list[Observation]:
        problems = self._current[:: self.group_size]
        singles = [make_observation(problem, self.instruction) for problem in problems]
        return [Observation(single) for single in singles for _ in range(self.group_size)]

    def _ids(self) -> np.ndarray:
        return objects([problem.id for problem in self._current])

    def _start_grading(self, index: int, response: str) -> Future[Grade]:
        problem = self._current[index]
        return self._grader.submit(response, problem.answer, problem.options, problem.kind)

    def _grade(self, responses: Mapping[int, str]) -> list[Grade]:
        """Grades of responses by sub-environment."""
        for index, response in responses.items():
            if self._submitted.get(index, (None,))[0] != response:
                self._submitted[index] = response, self._start_grading(index, response)
        return [self._submitted[index][1].result() for index in responses]

    def _infos(self, components: list[dict[str, float]]) -> dict[str, Any]:
        """Verdicts on the problems just answered, and the final entries of Gymnasium's wrappers."""
        infos = verdict_infos(self._answered, components)
        all_envs = np.ones(self.num_envs, dtype=bool)
        return ShortDict(
            **infos,
            final_info=dict(infos),
            _final_info=all_envs,
            final_obs=objects(self._single_observations()),
            _final_obs=all_envs.copy(),
        )

    def _check_reset(self, caller: str) -> ProblemOrder:
        if self._order is None:
            raise ResetNeeded(f"call reset before {caller}")
        return self._order

    def _check_actions(self, actions: Sequence[str | None]) -> list[str]:
        if isinstance(actions, str) or not isinstance(actions, Sequence | np.ndarray):
            raise TypeError(f"actions are a list of texts, not {type(actions).__name__}")
        if len(actions) != self.num_envs:
            raise ValueError(f"{len(actions)} actions for num_envs={self.num_envs} problems")
        return [self._check_action(action, index) for index, action in enumerate(actions)]

    def _check_action(self, action: object, index: int) -> str:
        return check_text(action, index)


def _check_numbers(num_envs: int, group_size: int, rank: int, num_ranks: int) -> None:
    if num_envs < 1:
        raise UsageError(f"num_envs={num_envs}: at least 1 is needed")
    if group_size < 1 or num_envs % group_size:
        raise UsageError(f"group_size={group_size} does not divide num_envs={num_envs}")
    if not 0 <= rank < num_ranks:
        raise UsageError(f"rank={rank} is not in [0, num_ranks={num_ranks})")


def verdict_infos(
    answered: Sequence[Answered], components: Sequence[dict[str, float]]
) -> dict[str, Any]:
    """Infos of episodes that ended, with an array for each; at least one ended."""
    verdicts = [grade_info(problem, grade) for problem, _, grade in answered]
    infos: dict[str, Any] = {
        name: np.array([parts[name] for parts in components]) for name in components[0]
    }
    infos |= {name: objects([verdict[name] for verdict in verdicts]) for name in verdicts[0]}
    infos["grade"] = {name: np.asarray(infos["status"] == name) for name in STATUSES}
    return infos


def objects(values: Sequence[object]) -> np.ndarray:
    """A 1-D array of objects, where numpy would unpack sequences and mappings."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
