"""Families of word problems, with operands, steps to the answer and phrasings; their problems."""

import operator
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partialmethod
from typing import ClassVar, NamedTuple

from reasonenv.envs.families import DrawnProblems, checksum
from reasonenv.envs.word_problems.scene import draw_scene
from reasonenv.problem import Problem

Fact = tuple[str, int, int]
"""Two addends ("+") or two factors ("*"), the smaller one first."""
Operands = tuple[int, ...]
"""Numbers that a question states, each at least 2, so that its nouns are plural."""

_OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv}


class Step(NamedTuple):
    """One operation on two whole numbers; divisions are exact."""

    left: int
    sign: str
    right: int

    @property
    def value(self) -> int:
        """The result."""
        return _OPERATIONS[self.sign](self.left, self.right)

    @property
    def fact(self) -> Fact:
        """The fact behind the step: 7 + 8, 8 + 7, 15 - 7 and 15 - 8 have the same one."""
        part = self.left if self.sign in "+*" else self.value
        kind = "+" if self.sign in "+-" else "*"
        return kind, min(part, self.right), max(part, self.right)

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right} = {self.value}"


class Number:
    """A whole number whose operations are recorded as steps, in the order in which they are done.

    Args:
        value: The number.
        steps: Of all numbers of a problem.
    """

    __slots__ = ("_steps", "value")

    def __init__(self, value: int, steps: list[Step]) -> None:
        self.value, self._steps = value, steps

    def _step(self, sign: str, other: "Number") -> "Number":
        step = Step(self.value, sign, other.value)
        self._steps.append(step)
        return Number(step.value, self._steps)

    __add__ = partialmethod(_step, "+")
    __sub__ = partialmethod(_step, "-")
    __mul__ = partialmethod(_step, "*")
    __truediv__ = partialmethod(_step, "/")


@dataclass(frozen=True, kw_only=True)
class Family:
    """One kind of word problem.

    Args:
        name: Its name.
        levels: Levels that pose it.
        sample: Draws the operands of a level.
        solve: Formula of the answer by the operands.
        reasons: A phrase for each step of the solution; empty for bare arithmetic.
        phrasings: Questions; {a}, {b}, ... stand for the operands, other fields for a
            `scene.Scene`.
        heldout_phrasings: Questions of the split "heldout_phrasings".
    """

    name: str
    levels: tuple[int, ...]
    sample: Callable[[random.Random, int], Operands]
    solve: Callable[..., Number]
    reasons: tuple[str, ...]
    phrasings: tuple[str, ...]
    heldout_phrasings: tuple[str, ...]

    def steps(self, operands: Operands) -> tuple[Step, ...]:
        """The steps to the answer, which is the value of the last one."""
        steps: list[Step] = []
        self.solve(*(Number(value, steps) for value in operands))
        return tuple(steps)

    def solution(self, steps: tuple[Step, ...]) -> str:
        """A worked solution in words."""
        lines = [f"{step}." for step in steps]
        if self.reasons:
            lines = [f"{reason}: {line}" for reason, line in zip(self.reasons, lines, strict=True)]
        return " ".join((*lines, f"The answer is {steps[-1].value}."))


def is_heldout(fact: Fact) -> bool:
    """True for a fact that is for the split "heldout" alone, as one in five is."""
    return checksum("word-problems-v0", *fact) % 5 == 0


def draw_operands(family: Family, split: str, level: int, rng: random.Random) -> Operands:
    """Operands of the split: all steps of "heldout" rest on held-out facts, no step of the others.

    Raises:
        ValueError: When the family seems to have no operands for the split.
    """
    for _ in range(100_000):
        operands = family.sample(rng, level)
        steps = family.steps(operands)
        if all(is_heldout(step.fact) == (split == "heldout") for step in steps):
            return operands
    raise ValueError(f"family {family.name!r} has too few operands for a split {split!r}")


@dataclass(frozen=True, kw_only=True)
class WordProblems(DrawnProblems):
    """Problems of one split and level; each a pure function of its id."""

    families: tuple[Family, ...]

    version: ClassVar = "word-problems-v0"

    def draw(self, id: str) -> Problem:
        """The problem of an id."""
        rng = random.Random(id)
        family = rng.choice(self.families)
        while True:
            operands = draw_operands(family, self.split, self.level, rng)
            question, phrasing = self._ask(family, operands, rng)
            # Two splits share phrasings: one question in nine is for "test".
            is_test = checksum(question) % 9 == 0
            if self.split not in ("train", "test") or is_test == (self.split == "test"):
                break
        steps = family.steps(operands)
        return Problem(
            id=id,
            question=question,
            answer=str(steps[-1].value),
            solution=family.solution(steps),
            metadata={
                "family": family.name,
                "level": self.level,
                "operands": operands,
                "phrasing": phrasing,
                "fact": str(steps[-1].fact),
            },
        )

    def _ask(self, family: Family, operands: Operands, rng: random.Random) -> tuple[str, int]:
        """A question, and the number of its phrasing; held-out ones have the last numbers."""
        count, num_heldout = len(family.phrasings), len(family.heldout_phrasings)
        phrasing = rng.randrange(count)
        if self.split == "heldout_phrasings":
            phrasing = count + rng.randrange(num_heldout)
        text = (*family.phrasings, *family.heldout_phrasings)[phrasing]
        numbers = dict(zip("abcde", operands, strict=False))
        return text.format(**numbers, **draw_scene(rng)), phrasing
