"""Figures as a sequence of problems, drawn on access."""

import random
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

from reasonenv.envs.families import DrawnProblems
from reasonenv.envs.figures.family import Family, Operands, Steps, draw_operands, draw_style, work
from reasonenv.problem import Problem

CHOICE_LEVEL = 3
"""First level with multiple choice."""
CHOICE_RATE = 1 / 3
"""Share of multiple choice in the families that have it."""
NUM_CANDIDATES = 32
"""Problems of which four are the options of a multiple choice."""
LETTERS = "ABCD"


@dataclass(frozen=True, kw_only=True)
class Figures(DrawnProblems):
    """Problems of one split and level; each a pure function of its id, slip and scale."""

    families: tuple[Family, ...]
    slip: float
    scale: int

    version: ClassVar = "figures-v2"

    def draw(self, id: str) -> Problem:
        """The problem of an id."""
        # The seed of v1: levels 1 and 2 pose the same problems.
        seed = id.replace("figures-v2", "figures-v1", 1)
        rng = random.Random(seed)
        family = rng.choice(self.families)
        operands, options = draw_operands(family, self.split, self.level, rng), ()
        style = draw_style(self.split, self.level, rng)
        if self.level >= CHOICE_LEVEL and family.has_choices and rng.random() < CHOICE_RATE:
            operands, options = draw_choice(family, self.split, self.level, rng)
        answer = family.solve(operands, Steps())
        solve = partial(family.solve, operands)
        result, steps = work(solve, self.slip, random.Random(f"{seed}/slip"))
        return Problem(
            id=id,
            question=with_options(family.ask(operands), options),
            answer=answer_or_letter(answer, options),
            images=(family.draw(operands, style).pixels(self.scale),),
            options=tuple(str(option) for option in options),
            solution=steps.response(answer_or_letter(result, options)),
            metadata={"family": family.name, "level": self.level, "operands": operands},
        )


def draw_choice(
    family: Family, split: str, level: int, rng: random.Random
) -> tuple[Operands, tuple[int, ...]]:
    """Operands of a multiple choice, and its four options in any order.

    The options are neighbours among the answers of many problems, and any of these four problems
    is the one that is posed. So without the figure each option is as likely as the others to be
    the answer, whatever its rank, its length or how common it is.
    """
    candidates = [draw_operands(family, split, level, rng) for _ in range(NUM_CANDIDATES)]
    by_answer = {family.solve(operands, Steps()): operands for operands in candidates}
    first = rng.randint(0, len(by_answer) - len(LETTERS))
    options = sorted(by_answer)[first : first + len(LETTERS)]
    rng.shuffle(options)
    return by_answer[rng.choice(options)], tuple(map(int, options))


def answer_or_letter(answer: int | Fraction, options: tuple[int, ...]) -> str:
    """The answer, or the letter of the nearest option where there are any."""
    lettered = zip(LETTERS, options, strict=False)
    return min(lettered, key=lambda option: abs(option[1] - answer), default=(str(answer),))[0]


def with_options(question: str, options: tuple[int, ...]) -> str:
    """The question, followed by its lettered options where there are any."""
    lettered = (f"({letter}) {value}" for letter, value in zip(LETTERS, options, strict=False))
    return " ".join((question, *lettered))
