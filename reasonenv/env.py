"""One problem at a time: a Gymnasium environment whose episode is one response, or several turns.

With tools, a response whose last line is a call, `calc(12 + 30)`, gets a reply, the observation of
what is new: `system` is "", `question` the words, `images` the pictures. A response without a call
is the answer, which is graded and ends the episode; a call when none is left is graded as an answer
that is none, and the episode is truncated. Rewards are 0 until then; among their components is
`calls`, of weight 0 unless it is given another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict
from PIL import Image

from reasonenv import render
from reasonenv.datasets.images import png
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.ordering import ProblemOrder, parse_options
from reasonenv.problem import Problem
from reasonenv.prompts import PromptTemplate, find_prompt
from reasonenv.render import Observation, ShortDict
from reasonenv.rewards import Rewards, by_name, calls, total
from reasonenv.spaces import ImagesSpace, TextSpace
from reasonenv.tools import Toolbox, Turn, WithTools
from reasonenv.workers import Grader

STATUSES = ("ok", "no_answer", "unparseable", "timeout", "memory", "error")
"""Statuses of a grade; see `reasonenv.grading.Grade`."""


@dataclass
class Episode:
    """A problem as it is posed, its turns so far, and the verdict that ends it."""

    problem: Problem
    opening: Observation
    """The first observation."""
    turns: list[tuple[str, Observation]] = field(default_factory=list)
    """Responses that call a tool, with the replies."""
    result: tuple[str, Grade] | None = None
    """Last response, and its grade."""

    @property
    def observation(self) -> Observation:
        """The latest one."""
        return self.turns[-1][1] if self.turns else self.opening

    @property
    def problem_with_calls(self) -> Problem:
        """The problem with its number of calls, where there are any."""
        metadata = {**self.problem.metadata, "calls": len(self.turns)}
        return replace(self.problem, metadata=metadata)

    def turn(self, tools: Toolbox | None, response: str) -> Turn:
        """What is made of a response; an answer without tools."""
        return tools.turn(self.problem, response, len(self.turns)) if tools else Turn()

    def frame(self, mode: str) -> Any:
        """What there is of it so far, in a mode of `render`."""
        return render.MODES[mode](self.problem, *self.result or (None, None), self.turns)


class ReasonEnv(gymnasium.Env[dict[str, Any], str]):
    """Poses a problem, takes one response, and ends the episode with its reward.

    With tools it replies to calls before that, and `infos` of a step hold `turn`, the number of the
    response from 0 on; `tool`, the name of the tool that it called, or ""; and `tool_status`, "ok",
    "bad_call", "failed" or "".

    `reset(seed)` starts a shuffled order of the problems; `reset()` poses the next one.
    The options of `reset` are `indices`, to pose exactly these problems in this order; `subset`,
    to shuffle these in place of all; and `start`, the position in the order to begin at.

    `left_out` has the reasons, by number, of problems that could not be read, in place of which the
    next of the order was posed. It is None, and they are an error, unless `without` is "invalid" or
    the caller makes it a dict; one of `indices` always is.

    Args:
        problems: The problems to pose.
        rewards: Names and weights, or functions; see `reasonenv.rewards`.
        prompt: The instruction around a question, or its name; see `reasonenv.prompts`.
        num_workers: Number of grading processes.
        timeout: CPU seconds for one answer.
        render_mode: "rgb_array", "ansi" or None.
        tools: Tools and ceilings of episodes of several turns; None for those of one response.
    """

    metadata = {"render_modes": [*render.MODES], "render_fps": 1}  # noqa: RUF012 - Gymnasium's

    def __init__(  # noqa: PLR0913 - keywords of a user
        self,
        problems: Sequence[Problem],
        rewards: Mapping[str, Any],
        *,
        prompt: str | PromptTemplate = "plain",
        num_workers: int | None = None,
        timeout: float = 1.0,
        render_mode: str | None = None,
        tools: Toolbox | None = None,
    ) -> None:
        check_arguments(problems, render_mode)
        self.problems, self.tools, self.render_mode = problems, tools, render_mode
        self.rewards, self.instruction = with_tools(rewards, prompt, tools)
        self.observation_space = observation_space()
        self.action_space = TextSpace()
        self.left_out: dict[int, str] | None = None
        self._grader = Grader(1 if num_workers is None else num_workers, timeout)
        self._order: ProblemOrder | None = None
        self._position = 0
        self._episode: Episode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Poses the next problem of the order, or the first of a new order when a seed is given."""
        super().reset(seed=seed)
        self._order, start = next_order(self, self._order, seed, options)
        self._position = self._position if start is None else start
        _, problem = self._order.pose(self.problems, self._position, self.left_out)
        self._position += 1
        self._episode = Episode(problem, make_observation(problem, self.instruction))
        return self._observation(self._episode), ShortDict(problem_id=problem.id)

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Grades a response, or replies to its call; at the end the observation is the last one."""
        episode = self._episode
        if episode is None or episode.result is not None:
            raise gymnasium.error.ResetNeeded("call reset before step: the episode is over")
        response, problem, infos = check_text(action), episode.problem, ShortDict()
        turn = episode.turn(self.tools, response)
        if self.tools is not None:
            infos.update(turn=len(episode.turns), tool=turn.tool, tool_status=turn.status)
            if turn.reply is not None:
                episode.turns.append((response, turn.reply.observation))
                return self._observation(episode), 0.0, False, False, infos
            problem = episode.problem_with_calls
        graded = turn.graded(response)
        (grade,) = self._grader.grade([graded], [problem.answer], [problem.options], [problem.kind])
        episode.result = response, grade
        reward, components = total(self.rewards, graded, problem, grade)
        infos.update({**components, **grade_info(problem, grade)})
        return self._observation(episode), reward, not turn.tool, bool(turn.tool), infos

    def render(self) -> Any:
        """A frame of the problem and the turns so far; of the verdict once it is answered."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset before render")
        return self._episode.frame(self.render_mode) if self.render_mode else warn_without_mode()

    def _repr_png_(self) -> bytes | None:
        """A frame of the problem in a notebook; None before `reset`."""
        return png(Image.fromarray(self._episode.frame("rgb_array"))) if self._episode else None

    def close(self) -> None:
        """Ends the grading processes."""
        self._grader.close()

    def _observation(self, episode: Episode) -> Observation:
        """A copy, so that changes to its images do not reach the problem."""
        images = tuple(image.copy() for image in episode.observation["images"])
        return Observation({**episode.observation, "images": images})


def with_tools(
    rewards: Mapping[str, Any], prompt: str | PromptTemplate, tools: Toolbox | None
) -> tuple[Rewards, PromptTemplate]:
    """Rewards and prompt of an environment; with tools, the count of calls and how to call."""
    prompt = find_prompt(prompt)
    if tools is None:
        return by_name(rewards) if rewards else {}, prompt
    return by_name({"calls": 0.0, **rewards}, {"calls": (0.0, calls)}), WithTools(prompt, tools)


def observation_space() -> Dict:
    """The space of system text, user text and images."""
    return Dict({"system": TextSpace(), "question": TextSpace(), "images": ImagesSpace()})


def next_order(
    env: Any, order: ProblemOrder | None, seed: int | None, options: dict[str, Any] | None
) -> tuple[ProblemOrder, int | None]:
    """The order of a reset, and the position in it at which to begin; None to go on."""
    problems, start = parse_options(options)
    if order is not None and seed is None and not problems:
        return order, start
    seed = env.np_random_seed
    if seed is None or seed < 0:  # of a generator that was set without one
        seed = int(env.np_random.integers(2**63))
    return ProblemOrder(len(env.problems), seed, **problems), start or 0


def make_observation(problem: Problem, prompt: PromptTemplate) -> Observation:
    """The observation of a problem, which holds neither its answer nor its solution.

    Its images are read-only views of the problem's.
    """
    system, question = prompt.ask(problem)
    images = tuple(image.view() for image in problem.images)
    for image in images:
        image.flags.writeable = False
    return Observation(system=system, question=question, images=images)


def grade_info(problem: Problem, grade: Grade) -> dict[str, Any]:
    """The infos of an answered problem."""
    return {
        "answer": grade.answer,
        "reference": problem.answer,
        "solution": problem.solution,
        "status": grade.status,
        "problem_id": problem.id,
        "metadata": dict(problem.metadata),
    }


def warn_without_mode() -> None:
    """Warns, as Gymnasium's environments do, that there is nothing to render."""
    gymnasium.logger.warn(
        "render was called without specifying any render mode: give render_mode='rgb_array' or "
        "'ansi' when the environment is made"
    )


def check_text(action: object, index: int | None = None) -> str:
    """The action itself if it is a text.

    Raises:
        TypeError: In one line, for any other action.
    """
    if isinstance(action, str | np.str_):
        return str(action)
    place = "" if index is None else f" at index {index}"
    kind = f"{type(action).__name__}{place}"
    raise TypeError(f"an action is a text (str), not {kind}: {action!r:.60}")


def check_arguments(problems: Sequence[Problem], render_mode: str | None) -> None:
    """Raises UsageError when there are no problems, or no such render mode."""
    if len(problems) == 0:
        raise UsageError("there are no problems: an environment needs at least one")
    if render_mode not in (None, *render.MODES):
        raise UsageError(f"unknown render_mode={render_mode!r}: take 'rgb_array', 'ansi' or None")
