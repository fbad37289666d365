"""An environment that an untrained model answers now right, now wrong, for the tests of runs."""

from helpers import letters
from reasonenv import Environment, register
from reasonenv.grading import Grade
from reasonenv.problem import Problem


def many(response: str, problem: Problem, grade: Grade) -> float:
    """1 when the response has enough vowels, else 0; what is enough depends on the problem."""
    vowels = sum(character in "aeiou" for character in response.lower())
    return float(vowels >= problem.metadata["enough"])


REWARDS = {"accuracy": (1.0, many), "letters": (0.25, letters.letters)}


def problems(split: str = "train", size: int = 24) -> list[Problem]:
    return [
        Problem(
            id=f"{split}/{k}",
            question=f"How many vowels, {k}?",
            answer="C",
            options=("six", "seven"),
            metadata={"enough": 1 + k % 4},
        )
        for k in range(size)
    ]


register(Environment(id="Vowels-v0", problems=problems, splits=("train",), rewards=REWARDS))
