"""Many problems at once: a Gymnasium vector environment that poses groups and grades batches."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from reasonenv.batch_rewards import Answered
from reasonenv.env import (
    STATUSES,
    Episode,
    ReasonEnv,
    check_arguments,
    check_text,
    grade_info,
    make_observation,
    next_order,
    observation_space,
    warn_without_mode,
    with_tools,
)
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.ordering import ProblemOrder, leave_out
from reasonenv.problem import Problem
from reasonenv.prompts import PromptTemplate
from reasonenv.render import Observation, ShortDict, frames_html
from reasonenv.rewards import totals
from reasonenv.spaces import TextSpace
from reasonenv.tools import Toolbox, Turn
from reasonenv.workers import Grader

Observations = Observation
"""`system` and `question`, tuples of texts, and `images`, a tuple of tuples of read-only arrays."""


class ReasonVectorEnv(VectorEnv[Observations, Sequence[str], np.ndarray]):
    """Poses num_envs / group_size problems, takes num_envs responses, and poses the next.

    Sub-environments i * group_size ... (i + 1) * group_size - 1 share one problem, so a step's
    rewards reshape to [p g]. An episode is one response; `step` returns the observations of the
    next problems (SAME_STEP), and the verdicts on those just answered in `infos`.

    With tools an episode has several turns, as those of `ReasonEnv`, and an action None leaves its
    sub-environment as it is: the observation stays, the reward is 0. The k-th episode of
    sub-environment i poses the problem at the position start + k * stride + rank + num_ranks * (i
    // group_size) of the order, whatever the others do, where stride is the number of problems of
    all ranks. So the k-th episodes of a group share a problem, and a learner that gives None for
    sub-environments whose episode is over has rewards of [p g]:

        while is_open.any():
            responses = ...  # None where not is_open
            observations, rewards, terminations, truncations, infos = envs.step(responses)
            total += rewards
            is_open &= ~(terminations | truncations)

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
        tools: Tools and ceilings of episodes of several turns; None for those of one response.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium declares it on the instance
        "render_modes": ReasonEnv.metadata["render_modes"],
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

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
        tools: Toolbox | None = None,
    ) -> None:
        check_arguments(problems, render_mode)
        _check_numbers(num_envs, group_size, rank, num_ranks)
        self.problems, self.tools, self.render_mode = problems, tools, render_mode
        self.rewards, self.instruction = with_tools(rewards, prompt, tools)
        self.num_envs, self.group_size = num_envs, group_size
        self.rank, self.num_ranks = rank, num_ranks
        self.single_observation_space = observation_space()
        self.single_action_space = TextSpace()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.left_out: dict[int, str] | None = None
        self._grader = Grader(num_workers, timeout)
        self._order: ProblemOrder | None = None
        self.num_left_out = 0
        self._starts = [0] * num_envs
        """Position in the order of the first problem of the batch of each episode."""
        self._posed: dict[int, tuple[int, Problem, Observation]] = {}
        """Number, problem and first observation at each position that is posed."""
        self._episodes: dict[int, Episode] = {}
        self._last: dict[int, Episode] = {}
        """Episodes that ended in the last step."""
        self._submitted: dict[int, tuple[str, Future[Grade]]] = {}
        self._ahead: tuple[ProblemOrder, int, Future[dict[int, tuple[int, Problem]]]] | None = None

    @property
    def position(self) -> int:
        """Position in the order of the first problem of the earliest batch that is posed.

        `reset(seed=..., options={"start": position})` poses the same problems again, on all ranks,
        where all sub-environments are in their episode of the same number, as they are without
        tools.
        """
        return min(self._starts)

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
        start = max(self._starts) + self._stride if start is None else start
        self._starts = [start] * self.num_envs
        self._posed, self._episodes, self._last, self._submitted = {}, {}, {}, {}
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
            number, problem, _ = self._posed[self._place(index)]
            if self.left_out is None or order.is_explicit:
                raise UsageError(f"problem {problem.id!r}: {reason}")
            if number not in self.left_out:
                leave_out(self.left_out, number, f"problem {problem.id!r}: {reason}")
        self._pose(order)
        return self._observations()

    def submit(self, index: int, response: str) -> None:
        """Starts grading a response that is no call before `step`, which then collects its grade.

        The problems of the next step, where they are drawn by program, are drawn meanwhile.

        Args:
            index: Sub-environment that the response answers.
            response: The text that `step` will get; a different text is graded afresh.
        """
        self._check_reset("submit")
        if not 0 <= index < self.num_envs:
            raise ValueError(f"index {index} is not in [0, {self.num_envs})")
        if self.tools is not None and self.tools.call(check_text(response, index)) is not None:
            return
        self._submitted[index] = response, self._start_grading(index, check_text(response, index))
        # With tools, episodes end at different times.
        if self.tools is self._ahead is None and getattr(self.problems, "is_drawn", False):
            self._draw_ahead()

    def step(
        self, actions: Sequence[str | None]
    ) -> tuple[Observations, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Grades the responses, or replies to calls, and poses problems where an episode ended.

        Args:
            actions: One response for each sub-environment, in order; with tools also None.

        Returns:
            The new observations; rewards [num_envs] float64; terminations, where an answer was
            given; truncations, where a call was made when none was left; and infos about the
            problems just answered, with an array for each: every component of the reward, NaN where
            it does not apply, `answer`, `reference`, `solution`, `status`, `problem_id`,
            `metadata`, and `grade`, a dict of status -> bools: `infos["grade"]["timeout"].sum()`
            counts the responses that timed out. The same stands in `final_info`; `next_problem_id`
            has the problems posed now.

            With tools, infos have besides `turn`, the number of the response from 0 on, -1 without
            one, `tool` and `tool_status`, see `ReasonEnv`; those about problems have Gymnasium's
            masks, `_status` of `status`, where an episode ended, and NaN, None or False elsewhere,
            and are missing in a step in which none ended.

        Raises:
            RewardError: A reward is no finite number; no episode has changed.
            DataError: One of the next problems cannot be read.
        """
        order, responses = self._check_reset("step"), self._check_actions(actions)
        turns = {i: self._episodes[i].turn(self.tools, text) for i, text in responses.items()}
        graded = {i: t.graded(responses[i]) for i, t in turns.items() if t.reply is None}
        answered = self._answers(graded)
        indices, sums = [*graded], totals(self.rewards, answered) if answered else []
        rewards, (is_over, is_call) = np.zeros(self.num_envs), np.zeros((2, self.num_envs), bool)
        rewards[indices], is_over[indices] = [reward for reward, _ in sums], True
        is_call[indices] = [turns[i].tool != "" for i in indices]
        infos = self._turn_infos(turns)
        if answered:
            infos.update(self._final_infos(answered, [parts for _, parts in sums], is_over))
        self._move_on(responses, turns, [grade for *_, grade in answered])
        self._pose(order)
        infos["next_problem_id"] = self._ids()
        return self._observations(), rewards, is_over & ~is_call, is_call, infos

    def render(self) -> tuple[Any, ...] | None:
        """A frame of each sub-environment: the episode that just ended, or the one under way."""
        self._check_reset("render")
        if self.render_mode is None:
            return warn_without_mode()
        return tuple(episode.frame(self.render_mode) for episode in self._shown())

    def _repr_html_(self) -> str | None:
        """Frames of the first problems in a notebook; None before `reset`."""
        if self._order is None:
            return None
        episodes = self._shown()[:: self.group_size][:3]
        return frames_html(episode.frame("rgb_array") for episode in episodes)

    def _shown(self) -> list[Episode]:
        return [self._last.get(i, episode) for i, episode in self._episodes.items()]

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the grading processes."""
        self._grader.close()

    @property
    def _stride(self) -> int:
        """Problems of one step, over all ranks."""
        return self.num_ranks * (self.num_envs // self.group_size)

    def _place(self, index: int) -> int:
        """Position in the order of the problem of a sub-environment."""
        return self._starts[index] + self.rank + self.num_ranks * (index // self.group_size)

    def _draw_ahead(self) -> None:
        """Starts drawing the problems of the next step."""
        order, start = self._check_reset("submit"), self.position + self._stride
        places = range(start, start + self._stride)[self.rank :: self.num_ranks]

        def draw() -> dict[int, tuple[int, Problem]]:
            return {at: order.pose(self.problems, at, self.left_out) for at in places}

        # A thread of its own, since one that is kept would be missing in a forked process.
        thread = ThreadPoolExecutor(1, "drawing")
        self._ahead = order, start, thread.submit(draw)
        thread.shutdown(wait=False)

    def _pose(self, order: ProblemOrder) -> None:
        """Poses what is not posed yet; other episodes go on."""
        ahead, self._ahead = self._ahead, None
        drawn = ahead[2].result() if ahead and ahead[:2] == (order, self.position) else {}
        left_out = () if order.is_explicit else self.left_out or ()
        posed = {at: each for at, each in self._posed.items() if each[0] not in left_out}
        places = [self._place(index) for index in range(self.num_envs)]
        for at in places:
            if at not in posed:
                number, problem = drawn.get(at) or order.pose(self.problems, at, self.left_out)
                posed[at] = number, problem, make_observation(problem, self.instruction)
        self._posed = {at: posed[at] for at in places}
        self.num_left_out = sum(number != order[at] for at, (number, *_) in self._posed.items())
        for index, at in enumerate(places):
            (_, problem, opening), old = self._posed[at], self._episodes.get(index)
            if old is None or old.result is not None or old.problem is not problem:
                # Members of a group share the images, one tuple.
                self._episodes[index] = Episode(problem, Observation(opening))
                self._submitted.pop(index, None)

    def _move_on(
        self, responses: Mapping[int, str], turns: Mapping[int, Turn], grades: Iterable[Grade]
    ) -> None:
        """Adds replies to their episodes, and ends others."""
        grades, self._last = iter(grades), {}
        for index, turn in turns.items():
            episode = self._episodes[index]
            if turn.reply is not None:
                episode.turns.append((responses[index], turn.reply.observation))
            else:
                episode.result = responses[index], next(grades)
                self._last[index] = episode
                self._starts[index] += self._stride

    def _observations(self) -> Observations:
        singles = [episode.observation for episode in self._episodes.values()]
        return Observation({key: tuple(single[key] for single in singles) for key in singles[0]})

    def _ids(self) -> np.ndarray:
        return objects([episode.problem.id for episode in self._episodes.values()])

    def _start_grading(self, index: int, response: str) -> Future[Grade]:
        problem = self._episodes[index].problem
        return self._grader.submit(response, problem.answer, problem.options, problem.kind)

    def _answers(self, responses: Mapping[int, str]) -> list[Answered]:
        """Problems, final responses by sub-environment, and their grades."""
        for index, response in responses.items():
            if self._submitted.get(index, (None,))[0] != response:
                self._submitted[index] = response, self._start_grading(index, response)
        episodes = [self._episodes[index] for index in responses]
        problems = (each.problem_with_calls if self.tools else each.problem for each in episodes)
        grades = (self._submitted[index][1].result() for index in responses)
        return list(zip(problems, responses.values(), grades, strict=True))

    def _turn_infos(self, turns: Mapping[int, Turn]) -> dict[str, Any]:
        if self.tools is None:
            return ShortDict()
        each = [turns.get(index, Turn()) for index in range(self.num_envs)]
        count = [len(e.turns) if i in turns else -1 for i, e in self._episodes.items()]
        return ShortDict(
            turn=np.array(count),
            tool=objects([turn.tool for turn in each]),
            tool_status=objects([turn.status for turn in each]),
        )

    def _final_infos(
        self, answered: Sequence[Answered], components: Sequence[Any], is_over: np.ndarray
    ) -> dict[str, Any]:
        """Verdicts on what was answered, and the final entries of Gymnasium's wrappers."""
        verdicts = [grade_info(problem, grade) for problem, _, grade in answered]
        infos: dict[str, Any] = {
            name: np.array([parts[name] for parts in components]) for name in components[0]
        }
        infos |= {name: objects([verdict[name] for verdict in verdicts]) for name in verdicts[0]}
        infos["grade"] = {name: np.asarray(infos["status"] == name) for name in STATUSES}
        infos = _spread(infos, is_over)
        if self.tools is not None:
            infos |= {f"_{name}": is_over.copy() for name in infos}
        last = objects([each.observation for each in self._episodes.values()])[is_over]
        final = {"final_info": dict(infos), "final_obs": _spread(last, is_over)}
        return infos | final | {f"_{name}": is_over.copy() for name in final}

    def _check_reset(self, caller: str) -> ProblemOrder:
        if self._order is None:
            raise ResetNeeded(f"call reset before {caller}")
        return self._order

    def _check_actions(self, actions: Sequence[str | None]) -> dict[int, str]:
        """Responses by sub-environment."""
        if isinstance(actions, str) or not isinstance(actions, Sequence | np.ndarray):
            raise TypeError(f"actions are a list of texts, not {type(actions).__name__}")
        if len(actions) != self.num_envs:
            raise ValueError(f"{len(actions)} actions for num_envs={self.num_envs} problems")
        given = {i: x for i, x in enumerate(actions) if x is not None or self.tools is None}
        return {i: check_text(action, i) for i, action in given.items()}


def _check_numbers(num_envs: int, group_size: int, rank: int, num_ranks: int) -> None:
    if num_envs < 1:
        raise UsageError(f"num_envs={num_envs}: at least 1 is needed")
    if group_size < 1 or num_envs % group_size:
        raise UsageError(f"group_size={group_size} does not divide num_envs={num_envs}")
    if not 0 <= rank < num_ranks:
        raise UsageError(f"rank={rank} is not in [0, num_ranks={num_ranks})")


def _spread(values: Any, is_over: np.ndarray) -> Any:
    """Values of the episodes that ended as arrays of all, with NaN, None or False elsewhere."""
    if isinstance(values, Mapping):
        return {name: _spread(each, is_over) for name, each in values.items()}
    empty = {"f": np.nan, "b": False}.get(values.dtype.kind)
    array = np.full(len(is_over), empty, dtype=values.dtype)
    array[is_over] = values
    return array


def objects(values: Sequence[object]) -> np.ndarray:
    """A 1-D array of objects, where numpy would unpack sequences and mappings."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
