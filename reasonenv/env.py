"""One problem at a time: a Gymnasium environment whose episode is one response."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict

from reasonenv import render
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.ordering import Walk, parse_options
from reasonenv.problem import Problem
from reasonenv.prompts import Asking, instruction
from reasonenv.rewards import Rewards, total
from reasonenv.spaces import ImagesSpace, TextSpace
from reasonenv.workers import Grader

Observation = dict[str, Any]

STATUSES = ("ok", "no_answer", "unparseable", "timeout", "memory", "error")
"""What becomes of grading a response; see `reasonenv.grading.Grade`."""


class ReasonEnv(gymnasium.Env[Observation, str]):
    """Poses a problem, takes one response, and ends the episode with its reward.

    `reset(seed)` begins a walk through the problems, shuffled; `reset()` goes on to the next one.
    The options of `reset` are `indices`, to pose exactly these problems in this order, and
    `start`, the position of the walk to begin at.

    Args:
        problems: What is posed.
        rewards: Name -> (weight, function); see `reasonenv.rewards`.
        prompt: The instruction around a question, or its name; see `reasonenv.prompts`.
        num_workers: Processes that grade.
        timeout: CPU seconds for one answer.
        render_mode: "rgb_array", "ansi" or None.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 1}  # noqa: RUF012 - Gymnasium's

    def __init__(
        self,
        problems: Sequence[Problem],
        rewards: Rewards,
        *,
        prompt: str | Asking = "plain",
        num_workers: int | None = None,
        timeout: float = 1.0,
        render_mode: str | None = None,
    ) -> None:
        check_problems(problems)
        self.problems = problems
        self.rewards = rewards
        self.instruction = instruction(prompt)
        self.render_mode = check_render_mode(render_mode)
        self.observation_space = observation_space()
        self.action_space = TextSpace()
        self._grader = Grader(1 if num_workers is None else num_workers, timeout)
        self._walk: Walk | None = None
        self._position = 0
        self._problem: Problem | None = None
        self._result: tuple[str, Grade] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Poses the next problem of the walk, or the first of a new one when a seed is given."""
        super().reset(seed=seed)
        indices, start = parse_options(options)
        if self._walk is None or seed is not None or indices is not None:
            walk_seed = self.np_random_seed if seed is None else seed
            self._walk, self._position = Walk(len(self.problems), walk_seed or 0, indices), 0
        if start is not None:
            self._position = start
        self._problem = self.problems[self._walk[self._position]]
        self._position += 1
        self._result = None
        return self._observation(), {"problem_id": self._problem.id}

    def step(self, action: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Grades a response. The observation is that of the problem just answered."""
        if self._problem is None or self._result is not None:
            raise gymnasium.error.ResetNeeded("call reset before step: every problem is asked once")
        response = check_text(action)
        problem = self._problem
        (grade,) = self._grader.grade([response], [problem.answer], [problem.options])
        self._result = response, grade
        reward, components = total(self.rewards, response, problem, grade)
        return self._observation(), reward, True, False, {**components, **explain(problem, grade)}

    def render(self) -> Any:
        """The problem, and once it is answered the response and the verdict."""
        if self._problem is None:
            raise gymnasium.error.ResetNeeded("call reset before render")
        response, grade = self._result or (None, None)
        return draw(self.render_mode, self._problem, response, grade)

    def close(self) -> None:
        """Ends the processes that grade."""
        self._grader.close()

    def _observation(self) -> Observation:
        """A copy, so that whoever draws on an image spoils no problem."""
        assert self._problem is not None
        observation = observe(self._problem, self.instruction)
        return {**observation, "images": tuple(image.copy() for image in observation["images"])}


def observation_space() -> Dict:
    """System text, the user's words, and the figures."""
    return Dict({"system": TextSpace(), "question": TextSpace(), "images": ImagesSpace()})


def observe(problem: Problem, prompt: Asking) -> Observation:
    """What a model may see of a problem; never its answer or its solution."""
    system, question = prompt.ask(problem)
    return {"system": system, "question": question, "images": problem.images}


def explain(problem: Problem, grade: Grade) -> dict[str, Any]:
    """What is told about a problem once it is answered."""
    return {
        "answer": grade.answer,
        "reference": problem.answer,
        "status": grade.status,
        "problem_id": problem.id,
        "metadata": dict(problem.metadata),
    }


def outcomes(statuses: np.ndarray) -> dict[str, np.ndarray]:
    """For each status, a bool for each response: `.sum()` counts them, `.mean()` is their part."""
    return {status: np.asarray(statuses == status) for status in STATUSES}


def draw(mode: str | None, problem: Problem, response: str | None, grade: Grade | None) -> Any:
    """A frame of render mode `mode`; None without one."""
    modes = {"rgb_array": render.rgb_array, "ansi": render.ansi}
    return None if mode is None else modes[mode](problem, response, grade)


def check_text(action: object, index: int | None = None) -> str:
    """The action itself when it is a text; else an error of one line."""
    if isinstance(action, str | np.str_):
        return str(action)
    place = "" if index is None else f" at index {index}"
    shown = repr(action)
    shown = shown if len(shown) <= 60 else shown[:60] + "..."
    raise TypeError(f"an action is a text (str), not {type(action).__name__}{place}: {shown}")


def check_problems(problems: Sequence[Problem]) -> None:
    """An error of one line when there is nothing to pose."""
    if len(problems) == 0:
        raise UsageError("there are no problems: an environment needs at least one")


def check_render_mode(mode: str | None) -> str | None:
    """The render mode itself, or an error that names them all."""
    if mode is not None and mode not in ReasonEnv.metadata["render_modes"]:
        raise UsageError(f"unknown render_mode={mode!r}: take 'rgb_array', 'ansi' or None")
    return mode
