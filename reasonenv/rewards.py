"""Rewards: pure functions of a response, its problem and its grade, and their weighted sum."""

import re
from collections.abc import Callable, Mapping

from reasonenv.grading import Grade
from reasonenv.problem import Problem

Reward = Callable[[str, Problem, Grade], float]
Rewards = Mapping[str, tuple[float, Reward]]

_TAGS = ("<think>", "</think>", "<answer>", "</answer>")
_BLOCKS = re.compile(r"<think>(.*)</think>\s*<answer>(.*)</answer>", re.DOTALL)


def accuracy(response: str, problem: Problem, grade: Grade) -> float:
    """1 when the final answer is right, else 0."""
    return float(grade.correct)


def think_answer_format(response: str, problem: Problem, grade: Grade) -> float:
    """1 when the response is one think block and then one answer block, else 0.

    Each of the four tags occurs exactly once, only white space stands between the blocks, and
    neither block is empty. What comes before the first tag or after the last is free.

    The format reward of the code released with CPGD, unweighted.
    """
    if any(response.count(tag) != 1 for tag in _TAGS):
        return 0.0
    blocks = _BLOCKS.search(response)
    return float(blocks is not None and all(block.strip() for block in blocks.groups()))


# Reported for every environment, whether or not they are part of its reward.
REPORTED: Mapping[str, Reward] = {"accuracy": accuracy, "format": think_answer_format}


def total(
    rewards: Rewards, response: str, problem: Problem, grade: Grade
) -> tuple[float, dict[str, float]]:
    """The weighted sum of `rewards`, and every component unweighted.

    Accuracy and format are among the components even where they carry no weight.
    """
    functions = {**REPORTED, **{name: reward for name, (_, reward) in rewards.items()}}
    parts = {name: float(reward(response, problem, grade)) for name, reward in functions.items()}
    return sum(weight * parts[name] for name, (weight, _) in rewards.items()), parts


def maximum(rewards: Rewards) -> float:
    """The highest total when every component lies in [0, 1]."""
    return sum(max(weight, 0.0) for weight, _ in rewards.values())
