"""One problem at a time: a Gymnasium environment whose episode is one response."""

from collections.abc import Mapping, Sequence
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
from reasonenv.rewards import by_name, total
from reasonenv.spaces import ImagesSpace, TextSpace
from reasonenv.tools import Toolbox
from reasonenv.workers import Grader

STATUSES = ("ok", "no_answer", "unparseable", "timeout", "memory", "error")
"""Statuses of a grade; see `reasonenv.grading.Grade`."""


class ReasonEnv(gymnasium.Env[dict[str, Any], str]):
    """Poses a problem, takes one response, and ends the episode with its reward.

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
    """

    metadata = {"render_modes": [*render.MODES], "render_fps": 1}  # noqa: RUF012 - Gymnasium's
    tools: Toolbox | None = None
    """Tools and ceilings of episodes of several turns; None where an episode is one response."""

    def __init__(
        self,
        problems: Sequence[Problem],
        rewards: Mapping[str, Any],
        *,
        prompt: str | PromptTemplate = "plain",
        num_workers: int | None = None,
        timeout: float = 1.0,
        render_mode: str | None = None,
    ) -> None:
        check_arguments(problems, render_mode)
        self.problems, self.rewards = problems, by_name(rewards) if rewards else {}
        self.instruction, self.render_mode = find_prompt(prompt), render_mode
        self.observation_space = observation_space()
        self.action_space = TextSpace()
        self.left_out: dict[int, str] | None = None
        self._grader = Grader(1 if num_workers is None else num_workers, timeout)
        self._order: ProblemOrder | None = None
        self._position = 0
        self._problem: Problem | None = None
        self._result: tuple[str, Grade] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Poses the next problem of the order, or the first of a new order when a seed is given."""
        super().reset(seed=seed)
        self._order, start = next_order(self, self._order, seed, options)
        self._position = self._position if start is None else start
        _, self._problem = self._order.pose(self.problems, self._position, self.left_out)
        self._position += 1
        self._result = None
        return self._observation(), ShortDict(problem_id=self._problem.id)

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Grades a response. The observation is that of the problem just answered."""
        if self._problem is None or self._result is not None:
            raise gymnasium.error.ResetNeeded("call reset before step: an episode is one step")
        response = check_text(action)
        problem = self._problem
        (grade,) = self._grader.grade(
            [response], [problem.answer], [problem.options], [problem.kind]
        )
        self._result = response, grade
        reward, components = total(self.rewards, response, problem, grade)
        infos = ShortDict({**components, **grade_info(problem, grade)})
        return self._observation(), reward, True, False, infos

    def render(self) -> Any:
        """A frame of the problem, and of response and verdict once it is answered."""
        if self._problem is None:
            raise gymnasium.error.ResetNeeded("call reset before render")
        if self.render_mode is None:
            return warn_without_mode()
        return render.MODES[self.render_mode](self._problem, *self._result or (None, None))

    def _repr_png_(self) -> bytes | None:
        """A frame of the problem in a notebook; None before `reset`."""
        if self._problem is None:
            return None
        return png(Image.fromarray(render.rgb_array(self._problem, *self._result or (None, None))))

    def close(self) -> None:
        """Ends the grading processes."""
        self._grader.close()

    def _observation(self) -> Observation:
        """A copy, so that changes to its images do not reach the problem."""
        assert self._problem is not None
        observation = make_observation(self._problem, self.instruction)
        images = tuple(image.copy() for image in observation["images"])
        return Observation({**observation, "images": images})


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
