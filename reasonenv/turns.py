"""Episodes of several turns with tools: one at a time, and many at once.

A response whose last line is a call, `calc(12 + 30)`, gets a reply, the observation of what is
new: `system` is "", `question` the words, `images` the pictures. A response without a call is the
answer, which is graded and ends the episode; a call when none is left is graded as an answer that
is none, and the episode is truncated. Rewards are 0 until then; among their components is `calls`,
of weight 0 unless it is given another.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import gymnasium
import numpy as np

from reasonenv.batch_rewards import Answered
from reasonenv.env import ReasonEnv, check_text, make_observation
from reasonenv.grading import Grade
from reasonenv.ordering import ProblemOrder
from reasonenv.problem import Problem, Problems
from reasonenv.render import Observation, ShortDict
from reasonenv.rewards import Rewards, by_name, totals
from reasonenv.tools import Reply, Toolbox, Turn, WithTools
from reasonenv.vector import Observations, ReasonVectorEnv, objects, verdict_infos


def calls(response: str, problem: Problem, grade: Grade) -> float:
    """Number of calls in an episode, bad ones counted; a negative weight makes it their price."""
    return float(cast("int", problem.metadata.get("calls", 0)))


_UNPOSED = -1
"""Number of calls of an episode whose problem is to be posed yet."""
calls.bounds = (0.0, math.inf)  # pyright: ignore[reportFunctionMemberAccess]


class ToolEnv(ReasonEnv):
    """Poses a problem, replies to calls of tools, and ends the episode with the answer's reward.

    `infos` of a step hold `turn`, the number of the response from 0 on; `tool`, the name of the
    tool that it called, or ""; `tool_status`, "ok", "bad_call", "failed" or ""; and at the end of
    the episode what those of a `ReasonEnv` hold.

    Args:
        problems: The problems to pose.
        rewards: Names and weights, or functions; see `reasonenv.rewards`.
        tools: The tools and ceilings.
        **kwargs: As those of `ReasonEnv`.
    """

    def __init__(self, problems: Problems, rewards: Any, *, tools: Toolbox, **kwargs: Any) -> None:
        super().__init__(problems, with_calls(rewards), **kwargs)
        self.tools = self._toolbox = tools
        self.instruction = WithTools(self.instruction, tools)
        self._replies: list[Reply] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Poses the next problem of the order, or the first of a new order when a seed is given."""
        self._replies = []
        return super().reset(seed=seed, options=options)

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Replies to a call, or grades an answer, with the last observation once more."""
        if self._problem is None or self._result is not None:
            raise gymnasium.error.ResetNeeded("call reset before step: the episode is over")
        num_calls, response = len(self._replies), check_text(action)
        turn = self._toolbox.turn(self._problem, response, num_calls)
        infos = {"turn": num_calls, "tool": turn.tool, "tool_status": turn.status}
        if turn.reply is not None:
            self._replies.append(turn.reply)
            return self._observation(), 0.0, False, False, ShortDict(infos)
        self._problem = _with_count(self._problem, num_calls)
        observation, reward, _, _, verdict = super().step(turn.graded(response))
        is_answer = not turn.tool
        return observation, reward, is_answer, not is_answer, ShortDict(infos | verdict)

    def _observation(self) -> Observation:
        return observation_of(self._replies[-1]) if self._replies else super()._observation()


class ToolVectorEnv(ReasonVectorEnv):
    """Poses problems as `ReasonVectorEnv` does, in episodes of several turns.

    An action None leaves its sub-environment as it is: the observation stays, the reward is 0. The
    k-th episode of sub-environment i poses the problem at the position start + k * stride + rank +
    num_ranks * (i // group_size) of the order, whatever the others do, where stride is the number
    of problems of all ranks. So the k-th episodes of a group share a problem, and a learner that
    gives None for sub-environments whose episode is over has rewards of [p g]:

        while is_open.any():
            responses = ...  # None where not is_open
            observations, rewards, terminations, truncations, infos = envs.step(responses)
            total += rewards
            is_open &= ~(terminations | truncations)

    `infos` of a step hold, for each sub-environment, `turn`, the number of the response from 0 on,
    -1 without one; `tool`, the name of the tool that it called, or ""; `tool_status`, "ok",
    "bad_call", "failed" or ""; and `next_problem_id`. Where an episode ended they hold what those
    of a `ReasonVectorEnv` do, with Gymnasium's masks, `_status` of `status`; elsewhere numbers are
    NaN, objects None, bools False. The keys are missing in a step in which none ended.

    Args:
        problems: The problems to pose.
        rewards: Names and weights, or functions; see `reasonenv.rewards`.
        tools: The tools and ceilings.
        **kwargs: As those of `ReasonVectorEnv`.
    """

    def __init__(self, problems: Problems, rewards: Any, *, tools: Toolbox, **kwargs: Any) -> None:
        super().__init__(problems, with_calls(rewards), **kwargs)
        self.tools = self._toolbox = tools
        self.instruction = WithTools(self.instruction, tools)
        self._forget()

    @property
    def position(self) -> int:
        """Position of the first problem of the earliest batch that is posed, over all ranks.

        `reset(seed=..., options={"start": position})` poses the same problems again where all
        sub-environments are in their episode of the same number.
        """
        return min(self._starts)

    def submit(self, index: int, response: str) -> None:
        """Starts grading a response before `step`, unless it is a call."""
        if self._toolbox.call(check_text(response, index)) is None:
            super().submit(index, response)

    def step(
        self, actions: Sequence[str | None]
    ) -> tuple[Observations, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Replies to calls, grades answers, and poses the next problems where an episode ended.

        Args:
            actions: One response for each sub-environment, or None to leave it as it is.

        Returns:
            The new observations; rewards [num_envs] float64; terminations where an answer was
            given; truncations where a call was made when none was left; and infos, see above.

        Raises:
            RewardError: A reward is no finite number; no episode has changed.
            DataError: One of the next problems cannot be read.
        """
        order = self._check_reset("step")
        responses: list[Any] = self._check_actions(actions)
        turns = {
            index: self._toolbox.turn(self._current[index], response, self._num_calls[index])
            for index, response in enumerate(responses)
            if response is not None
        }
        texts = {i: t.graded(responses[i]) for i, t in turns.items() if t.reply is None}
        ended, answered = [*texts], self._answers(texts)
        sums = totals(self.rewards, answered) if answered else []
        rewards, (is_over, is_call) = np.zeros(self.num_envs), np.zeros((2, self.num_envs), bool)
        rewards[ended], is_over[ended] = [reward for reward, _ in sums], True
        is_call[ended] = [turns[index].tool != "" for index in ended]
        infos = self._turn_infos(turns)
        if answered:
            verdicts = verdict_infos(answered, [parts for _, parts in sums])
            infos |= self._final_infos(is_over, verdicts)
        self._move_on(turns, dict(zip(ended, answered, strict=True)))
        self._pose(order)
        infos["next_problem_id"] = self._ids()
        return self._observations(), rewards, is_over & ~is_call, is_call, infos

    def _draw_ahead(self) -> None:
        """No-op: episodes end at different times."""

    @property
    def _indices(self) -> range:
        return range(self.num_envs)

    def _forget(self) -> None:
        super()._forget()
        self._starts = [self._position] * self.num_envs
        """Position in the order of the first problem of the batch of each episode."""
        self._posed: dict[int, tuple[int, Problem, Observation]] = {}
        """Number, problem and first observation at each position that is posed."""
        self._num_calls = [_UNPOSED] * self.num_envs
        self._latest: list[Observation] = [Observation()] * self.num_envs
        self._submitted = {}
        self._last: dict[int, Answered] = {}
        """Episodes that ended in the last step."""

    def _answers(self, texts: Mapping[int, str]) -> list[Answered]:
        """Problems with their number of calls, final responses and grades."""
        problems = (_with_count(self._current[i], self._num_calls[i]) for i in texts)
        return list(zip(problems, texts.values(), self._grade(texts), strict=True))

    def _move_on(self, turns: Mapping[int, Turn], ended: Mapping[int, Any]) -> None:
        """Adds replies to their episodes, and ends others."""
        self._last = dict(ended)
        for index, turn in turns.items():
            if turn.reply is not None:
                self._num_calls[index] += 1
                self._latest[index] = observation_of(turn.reply)
            else:
                self._num_calls[index] = _UNPOSED
                self._starts[index] += self._stride
        self._position = max(self._starts)

    def _place(self, index: int) -> int:
        """Position in the order of the problem of a sub-environment."""
        return self._starts[index] + self.rank + self.num_ranks * (index // self.group_size)

    def _number(self, index: int) -> int:
        return self._posed[self._place(index)][0]

    def _pose(self, order: ProblemOrder) -> None:
        """Poses what is not posed yet; other episodes go on."""
        places = [self._place(index) for index in self._indices]
        left_out = () if order.is_explicit else self.left_out or ()
        kept = {at: pair for at, pair in self._posed.items() if pair[0] not in left_out}
        self._posed = {
            at: kept.get(at) or self._opening(*order.pose(self.problems, at, self.left_out))
            for at in dict.fromkeys(places)
        }
        self.num_left_out = sum(number != order[at] for at, (number, *_) in self._posed.items())
        before, self._current = self._current, [self._posed[at][1] for at in places]
        begun = [
            index
            for index, problem in enumerate(self._current)
            if self._num_calls[index] == _UNPOSED or problem is not before[index]
        ]
        for index in begun:
            self._num_calls[index] = 0
            self._latest[index] = Observation(self._posed[places[index]][2])
            self._submitted.pop(index, None)

    def _opening(self, number: int, problem: Problem) -> tuple[int, Problem, Observation]:
        """Number, problem and first observation, whose images all of a group share."""
        return number, problem, make_observation(problem, self.instruction)

    def _single_observations(self) -> list[Observation]:
        return self._latest

    def _turn_infos(self, turns: Mapping[int, Turn]) -> dict[str, Any]:
        each = [turns.get(index, Turn()) for index in self._indices]
        count = [self._num_calls[i] if i in turns else -1 for i in self._indices]
        return ShortDict(
            turn=np.array(count),
            tool=objects([turn.tool for turn in each]),
            tool_status=objects([turn.status for turn in each]),
        )

    def _final_infos(self, is_over: np.ndarray, verdicts: dict[str, Any]) -> dict[str, Any]:
        """Verdicts and last observations where an episode ended, with masks."""
        grade = verdicts.pop("grade")
        infos: dict[str, Any] = {name: _spread(each, is_over) for name, each in verdicts.items()}
        infos["grade"] = {name: _spread(each, is_over) for name, each in grade.items()}
        infos |= {f"_{name}": is_over.copy() for name in infos}
        last = _spread(objects(self._latest)[is_over], is_over)
        final = {"final_info": dict(infos), "final_obs": last}
        return infos | final | {f"_{name}": is_over.copy() for name in final}

    def _entries(self) -> Sequence[tuple[Problem, str | None, Grade | None]]:
        return [self._last.get(i, (self._current[i], None, None)) for i in self._indices]

    def _check_action(self, action: object, index: int) -> Any:
        return None if action is None else super()._check_action(action, index)


def with_calls(rewards: Mapping[str, Any]) -> Rewards:
    """The rewards with the component `calls`, of weight 0 unless they have it."""
    return by_name({"calls": 0.0, **rewards}, {"calls": (0.0, calls)})


def _with_count(problem: Problem, num_calls: int) -> Problem:
    return replace(problem, metadata={**problem.metadata, "calls": num_calls})


def observation_of(reply: Reply) -> Observation:
    """The observation of a reply."""
    return Observation(system="", question=reply.words, images=tuple(reply.images))


def _spread(values: np.ndarray, is_over: np.ndarray) -> np.ndarray:
    """Values of the episodes that ended as an array of all, with NaN, None or False elsewhere."""
    empty = {"f": np.nan, "b": False}.get(values.dtype.kind)
    array = np.full(len(is_over), empty, dtype=values.dtype)
    array[is_over] = values
    return array
