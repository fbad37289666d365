"""Figures as a sequence of problems, drawn on access."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from reasonenv.envs.families import DrawnProblems, check_split_and_level, choose_families
from reasonenv.envs.figures.family import SPLITS, Family, draw_operands, draw_style
from reasonenv.envs.figures.solution import Solution
from reasonenv.errors import UsageError
from reasonenv.problem import Problem

LEVELS = (1, 2, 3)
CHOICE_RATE = 1 / 3
"""Share of multiple choice among the whole-number answers of the levels that have it."""
LETTERS = "ABCD"


@dataclass(frozen=True)
class Version:
    """Families of one version of the environment, and the teacher who writes their solutions."""

    name: str
    prefix: str
    """First part of the ids of its problems."""
    families: dict[str, Family]
    choice_level: int
    """First level with multiple choice."""
    work: Callable[[Callable[[Any], Any], float, random.Random], tuple[Any, Solution]]
    """Result and lines of a worked solution, from the function that solves a problem, the
    probability of a slip, and a source of random numbers."""


@dataclass(frozen=True)
class Figures(DrawnProblems):
    """Problems of one split and level; each a pure function of its id, slip and scale."""

    split: str
    level: int
    problem_seed: int
    slip: float
    scale: int
    families: tuple[Family, ...]
    version: Version

    @property
    def source(self) -> str:
        """First part of the ids, with all that chooses problems but the index."""
        return f"{self.version.prefix}/{self._name()}/{self.split}/{self.problem_seed}"

    @property
    def _has_choices(self) -> bool:
        return self.level >= self.version.choice_level

    def _name(self) -> str:
        """The level, and the families where they are not all that the level has."""
        if self.families == _of_level(self.version, self.level, None):
            return str(self.level)
        return f"{self.level}:{'+'.join(family.name for family in self.families)}"

    def draw(self, id: str) -> Problem:
        """The problem of an id."""
        rng = random.Random(id)
        family = rng.choice(self.families)
        operands = draw_operands(family, self.split, self.level, rng)
        style = draw_style(self.split, self.level, rng)
        solve = partial(family.solve, operands)
        answer, _ = self.version.work(solve, 0.0, random.Random())
        result, steps = self.version.work(solve, self.slip, random.Random(f"{id}/slip"))
        options = ()
        if self._has_choices and isinstance(answer, int) and rng.random() < CHOICE_RATE:
            options = sample_options(answer, family.unit(operands), rng)
        return Problem(
            id=id,
            question=with_options(family.ask(operands), options),
            answer=answer_or_letter(answer, options),
            images=(family.draw(operands, style).pixels(self.scale),),
            options=tuple(str(option) for option in options),
            solution=steps.response(answer_or_letter(result, options)),
            metadata={"family": family.name, "level": self.level, "operands": operands},
        )


def sample_options(answer: int, unit: int, rng: random.Random) -> tuple[int, ...]:
    """The answer among three other values within three units of it, none of them negative."""
    near = [answer + unit * distance for distance in (-3, -2, -1, 1, 2, 3)]
    options = [answer, *rng.sample([value for value in near if value >= 0], 3)]
    rng.shuffle(options)
    return tuple(options)


def answer_or_letter(answer: int | Fraction, options: tuple[int, ...]) -> str:
    """The answer, or the letter of the nearest option where there are any."""
    lettered = zip(LETTERS, options, strict=False)
    return min(lettered, key=lambda option: abs(option[1] - answer), default=(str(answer),))[0]


def with_options(question: str, options: tuple[int, ...]) -> str:
    """The question, followed by its lettered options where there are any."""
    lettered = (f"({letter}) {value}" for letter, value in zip(LETTERS, options, strict=False))
    return " ".join((question, *lettered))


def make_problems(  # noqa: PLR0913 - the arguments of an environment
    version: Version,
    split: str,
    level: int,
    *,
    problem_seed: int,
    slip: float,
    scale: int,
    families: Sequence[str] | None,
) -> Figures:
    """The problems of a split and level of a version; the arguments are those of `problems`.

    Raises:
        UsageError: For an unknown split, level or family, or a slip or scale out of range.
    """
    check_split_and_level(version.name, split, SPLITS, level, LEVELS)
    if not 0 <= slip <= 1:
        raise UsageError(f"slip is {slip}: give a probability in [0, 1]")
    if not isinstance(scale, int) or scale < 1:
        raise UsageError(f"scale is {scale!r}: give a whole number >= 1")
    chosen = _of_level(version, level, families)
    return Figures(split, level, problem_seed, slip, scale, chosen, version)


def _of_level(version: Version, level: int, names: Sequence[str] | None) -> tuple[Family, ...]:
    families = {name: family for name, family in version.families.items() if family.level <= level}
    return choose_families(families, names, f"level {level} of {version.name}")
