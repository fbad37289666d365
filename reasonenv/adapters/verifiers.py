"""Prompts and scores of an environment for verifiers, the environments of prime-rl.

The taskset itself is in `reasonenv.adapters.taskset`, which needs verifiers. A task of it travels
between processes as the arguments of an environment and an index, so that any can score it.
"""

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import reasonenv
from reasonenv.adapters import shared_grader
from reasonenv.datasets.selection import without_images
from reasonenv.env import make_observation
from reasonenv.messages import messages
from reasonenv.problem import Problem
from reasonenv.prompts import PromptTemplate
from reasonenv.rewards import Rewards, total


@dataclass(frozen=True)
class Tasks:
    """The tasks of an environment.

    Args:
        problems: Of a split.
        prompt: Around each question.
        rewards: The environment's, or those of its argument `rewards`.
    """

    problems: Sequence[Problem]
    prompt: PromptTemplate
    rewards: Rewards

    def messages(self, index: int) -> list[dict[str, Any]]:
        """The messages that pose a problem, in the form of OpenAI's chat API."""
        return messages(make_observation(self.problems[index], self.prompt))

    def score(self, index: int, response: str) -> tuple[float, dict[str, float]]:
        """The reward of a response to a problem, and every component unweighted.

        The rewards see the problem without images that would have to be decoded.
        """
        problem = without_images(self.problems, index)
        (grade,) = shared_grader().grade(
            [response], [problem.answer], [problem.options], [problem.kind]
        )
        return total(self.rewards, response, problem, grade)


@functools.lru_cache(maxsize=8)
def find_tasks(arguments: str) -> Tasks:
    """The tasks of an environment, which stays open for the next call.

    Args:
        arguments: Keywords of `reasonenv.make` as JSON, such as '{"id": "GSM8K-v0"}'.

    Raises:
        UsageError: When an argument does not fit; the line says which.
    """
    env = reasonenv.make(**json.loads(arguments))
    env.close()
    return Tasks(*(env.get_wrapper_attr(name) for name in ("problems", "instruction", "rewards")))
