"""An environment whose reward any model earns some of, for the tests of whole runs."""

import numpy as np

from reasonenv import Environment, register
from reasonenv.grading import Grade
from reasonenv.problem import Problem
from reasonenv.rewards import accuracy

SPLITS = ("train", "test")


def letters(response: str, problem: Problem, grade: Grade) -> float:
    """Part of the response that is letters."""
    return sum(character.isalpha() for character in response) / max(1, len(response))


REWARDS = {"accuracy": (0.5, accuracy), "letters": (1.0, letters)}


def problems(split: str = "train", size: int = 10) -> list[Problem]:
    rng = np.random.default_rng(SPLITS.index(split))
    images = rng.integers(0, 256, (size, 28, 56, 3), dtype=np.uint8)
    return [
        Problem(
            id=f"{split}/{k}",
            question=f"How many letters, {k}?",
            # A letter without an option needs no grading process, whose start takes seconds.
            answer="C",
            options=("six", "seven"),
            images=(image,),
        )
        for k, image in enumerate(images)
    ]


LETTERS = register(Environment(id="Letters-v0", problems=problems, splits=SPLITS, rewards=REWARDS))
