"""Many problems at once: a Gymnasium vector environment that poses groups and grades batches."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from reasonenv.env import (
    ReasonEnv,
    check_problems,
    check_render_mode,
    check_text,
    draw,
    explain,
    observation_space,
    observe,
    outcomes,
)
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.ordering import Walk, parse_options
from reasonenv.problem import Problem
from reasonenv.prompts import Asking, instruction
from reasonenv.rewards import Rewards, total
from reasonenv.spaces import TextSpace
from reasonenv.workers import Grader

Observations = dict[str, tuple[Any, ...]]


class ReasonVectorEnv(VectorEnv[Observations, Sequence[str], np.ndarray]):
    """Poses num_envs / group_size problems, takes num_envs responses, and poses the next.

    Sub-environments i * group_size ... (i + 1) * group_size - 1 share one problem, so a step's
    rewards reshape to [p g]. An episode is one response; `step` returns the observations of the
    next problems (SAME_STEP), and the verdicts on those just answered in `infos`.

    `reset(seed)` begins a walk through the problems, each pass shuffled anew; `reset()` goes on
    where the walk is. The options of `reset` are `indices`, to pose exactly these problems in
    this order, again from the first after the last, and `start`, the position to begin at.

    Args:
        problems: What is posed.
        rewards: Name -> (weight, function); see `reasonenv.rewards`.
        num_envs: Responses of one step.
        group_size: Responses to each problem; divides `num_envs`.
        prompt: The instruction around a question, or its name; see `reasonenv.prompts`.
        num_workers: Processes that grade; None for as many as there are CPU cores, up to 8.
        timeout: CPU seconds for one answer.
        rank: Of the processes of one job that share a walk, which one this is.
        num_ranks: How many there are. Together they pose what a single one with all their
            sub-environments would pose; this one takes every num_ranks-th problem, from its rank.
        render_mode: "rgb_array", "ansi" or None.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it on the instance
        "render_modes": ReasonEnv.metadata["render_modes"],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(  # noqa: PLR0913 - keywords, one for each choice of a user
        self,
        problems: Sequence[Problem],
        rewards: Rewards,
        *,
        num_envs: int = 1,
        group_size: int = 1,
        prompt: str | Asking = "plain",
        num_workers: int | None = None,
        timeout: float = 1.0,
        rank: int = 0,
        num_ranks: int = 1,
        render_mode: str | None = None,
    ) -> None:
        check_problems(problems)
        _check_numbers(num_envs, group_size, rank, num_ranks)
        self.problems, self.rewards = problems, rewards
        self.num_envs, self.group_size = num_envs, group_size
        self.rank, self.num_ranks = rank, num_ranks
        self.instruction = instruction(prompt)
        self.render_mode = check_render_mode(render_mode)
        self.single_observation_space = observation_space()
        self.single_action_space = TextSpace()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._grader = Grader(num_workers, timeout)
        self._walk: Walk | None = None
        self._position = 0
        self._posed: list[Problem] = []
        self._answered: list[tuple[Problem, str, Grade]] = []
        self._submitted: dict[int, tuple[str, Future[Grade]]] = {}

    @property
    def position(self) -> int:
        """Position in the walk of the first problem that is posed, over all ranks.

        `reset(seed=..., options={"start": position})` poses the same problems again.
        """
        return self._position

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Poses the first problems of a walk."""
        if isinstance(seed, list):
            raise ValueError("the sub-environments share one walk: give one seed, not a list")
        super().reset(seed=seed)
        indices, start = parse_options(options)
        if self._walk is None or seed is not None or indices is not None:
            walk_seed = self.np_random_seed if seed is None else seed
            self._walk, self._position = Walk(len(self.problems), walk_seed or 0, indices), 0
        elif start is None:
            self._position += self._stride
        self._position = self._position if start is None else start
        self._answered = []
        self._pose(self._walk)
        return self._observations(), {"problem_id": _objects([p.id for p in self._posed])}

    def submit(self, index: int, response: str) -> None:
        """Starts grading a response before all are there; `step` then finds its grade ready.

        Args:
            index: Sub-environment that the response answers.
            response: The same text that `step` will be given; another one is graded afresh.
        """
        self._check_posed("submit")
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
            for each: every component of the reward, `answer`, `reference`, `status`,
            `problem_id`, `metadata`, and `grade`, a dict of status -> bools, so that
            `infos["grade"]["timeout"].sum()` counts the responses that timed out.
        """
        walk = self._check_posed("step")
        responses = self._check_actions(actions)
        grades = self._grade(responses)
        self._answered = list(zip(self._posed, responses, grades, strict=True))
        totals = [total(self.rewards, text, problem, g) for problem, text, g in self._answered]
        infos = self._infos([parts for _, parts in totals])
        self._position += self._stride
        self._pose(walk)
        rewards = np.array([reward for reward, _ in totals], dtype=np.float64)
        done = np.ones(self.num_envs, dtype=bool)
        return self._observations(), rewards, done, ~done, infos

    def render(self) -> tuple[Any, ...] | None:
        """A frame of each sub-environment: the problems just answered, or those just posed."""
        self._check_posed("render")
        if self.render_mode is None:
            return None
        shown = self._answered or [(problem, None, None) for problem in self._posed]
        return tuple(draw(self.render_mode, *entry) for entry in shown)

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the processes that grade."""
        self._grader.close()

    @property
    def _stride(self) -> int:
        """Problems of one step, over all ranks."""
        return self.num_ranks * (self.num_envs // self.group_size)

    def _pose(self, walk: Walk) -> None:
        batch = range(self._position, self._position + self._stride)
        problems = [self.problems[walk[i]] for i in batch[self.rank :: self.num_ranks]]
        self._posed = [problem for problem in problems for _ in range(self.group_size)]
        self._submitted = {}

    def _observations(self) -> Observations:
        singles = [observe(problem, self.instruction) for problem in self._posed]
        return {key: tuple(single[key] for single in singles) for key in singles[0]}

    def _start_grading(self, index: int, response: str) -> Future[Grade]:
        problem = self._posed[index]
        return self._grader.submit(response, problem.answer, problem.options)

    def _grade(self, responses: list[str]) -> list[Grade]:
        futures: list[Future[Grade]] = []
        for index, response in enumerate(responses):
            submitted, future = self._submitted.get(index, (None, None))
            if future is None or submitted != response:
                future = self._start_grading(index, response)
            futures.append(future)
        return [future.result() for future in futures]

    def _infos(self, components: list[dict[str, float]]) -> dict[str, Any]:
        """Verdicts on the problems just answered, and what Gymnasium's wrappers look for."""
        told = [explain(problem, grade) for problem, _, grade in self._answered]
        infos: dict[str, Any] = {
            name: np.array([parts[name] for parts in components]) for name in components[0]
        }
        infos |= {name: _objects([one[name] for one in told]) for name in told[0]}
        infos["grade"] = outcomes(infos["status"])
        everyone = np.ones(self.num_envs, dtype=bool)
        final_obs = _objects([observe(problem, self.instruction) for problem in self._posed])
        return {
            **infos,
            "final_info": dict(infos),
            "_final_info": everyone,
            "final_obs": final_obs,
            "_final_obs": everyone.copy(),
        }

    def _check_posed(self, caller: str) -> Walk:
        if self._walk is None:
            raise ResetNeeded(f"call reset before {caller}")
        return self._walk

    def _check_actions(self, actions: Sequence[str]) -> list[str]:
        if isinstance(actions, str) or not isinstance(actions, Sequence | np.ndarray):
            raise TypeError(f"actions are a list of texts, not {type(actions).__name__}")
        if len(actions) != self.num_envs:
            raise ValueError(f"{len(actions)} actions for num_envs={self.num_envs} problems")
        return [check_text(action, index) for index, action in enumerate(actions)]


def _check_numbers(num_envs: int, group_size: int, rank: int, num_ranks: int) -> None:
    if num_envs < 1:
        raise UsageError(f"num_envs={num_envs}: at least 1 is needed")
    if group_size < 1 or num_envs % group_size:
        raise UsageError(f"group_size={group_size} does not divide num_envs={num_envs}")
    if not 0 <= rank < num_ranks:
        raise UsageError(f"rank={rank} is not in [0, num_ranks={num_ranks})")


def _objects(values: Sequence[object]) -> np.ndarray:
    """A 1-D array of objects, whatever they are: numpy would unpack sequences and mappings."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
