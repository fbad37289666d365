"""An environment of which some problems cannot be read, or are too long, for the tests of runs."""

from collections.abc import Sequence
from dataclasses import replace

from helpers import letters, vowels
from reasonenv import Environment, register
from reasonenv.errors import DataError
from reasonenv.problem import LazyProblems, Problem
from reasonenv.rewards import accuracy

REWARDS = {"accuracy": (0.5, accuracy), "letters": (1.0, letters.letters)}


class Faulty(LazyProblems):
    def __init__(self, problems: Sequence[Problem], unreadable: Sequence[int], long: Sequence[int]):
        self.problems, self.unreadable, self.long = problems, unreadable, long

    def __len__(self) -> int:
        return len(self.problems)

    def make(self, index: int, with_images: bool) -> Problem:
        problem = self.problems[index]
        if index in self.unreadable:
            raise DataError(f"faulty, row {index} (id {problem.id!r}): the image cannot be read")
        return replace(problem, question="? " * 20_000) if index in self.long else problem


def problems(
    split: str = "train",
    size: int = 12,
    unreadable: Sequence[int] = (),
    long: Sequence[int] = (),
    faulty_split: str = "train",
) -> Faulty:
    faults = (unreadable, long) if split == faulty_split else ((), ())
    return Faulty(vowels.problems(split, size), *faults)


FAULTY = register(
    Environment(id="Faulty-v0", problems=problems, splits=letters.SPLITS, rewards=REWARDS)
)
