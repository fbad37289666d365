"""The problems of an environment with their prompts and scores, for other trainers."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from PIL import Image

import reasonenv
from reasonenv.adapters import shared_grader
from reasonenv.datasets.selection import without_images
from reasonenv.errors import UsageError
from reasonenv.messages import split_at_images
from reasonenv.problem import Problem
from reasonenv.rewards import total


@dataclass(frozen=True)
class ProblemPrompt:
    """The prompt of a problem."""

    problem: Problem
    system: str
    texts: list[str]
    """The texts before, between and after the images."""
    images: list[Image.Image]
    """In their order between the texts."""


class EnvPrompts:
    """The prompts of an environment's problems, made on access; pickled as its arguments.

    Args:
        id: A registered name.
        **options: Further arguments of `reasonenv.make`, whose errors it raises.
    """

    def __init__(self, id: str, **options: Any) -> None:
        self._arguments = {"id": id, **options}
        env = reasonenv.make(**self._arguments)
        env.close()
        if env.get_wrapper_attr("tools") is not None:
            raise UsageError(
                f"{id} has tools, and one response a problem is carried over: give "
                "max_calls=0 to pose its problems without them"
            )
        names = "problems", "instruction", "rewards"
        self.problems, self.prompt, self.rewards = map(env.get_wrapper_attr, names)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(EnvPrompts, **self._arguments), ()

    def __getitem__(self, index: int) -> ProblemPrompt:
        problem = self.problems[index]
        system, question = self.prompt.ask(problem)
        texts, order = split_at_images(question, len(problem.images))
        images = [Image.fromarray(problem.images[number]) for number in order]
        return ProblemPrompt(problem, system, texts, images)

    def score(self, index: int, response: str) -> tuple[float, dict[str, float]]:
        """The reward of a response to a problem, and every component unweighted.

        The rewards see the problem without images that would have to be decoded.
        """
        problem = without_images(self.problems, index)
        (grade,) = shared_grader().grade(
            [response], [problem.answer], [problem.options], [problem.kind]
        )
        return total(self.rewards, response, problem, grade)
