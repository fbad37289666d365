"""Figures as a sequence of problems, drawn on access."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from reasonenv.envs.figures import arithmetic, charts, clocks, counting, geometry
from reasonenv.envs.figures.family import SPLITS, Family, draw_operands, draw_style
from reasonenv.envs.figures.steps import Steps
from reasonenv.errors import UsageError
from reasonenv.problem import LazySequence, Problem

LEVELS = (1, 2, 3)
CHOICE_RATE = 1 / 3
"""Share of multiple choice among the whole-number answers of the levels above the first."""
LETTERS = "ABCD"

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        arithmetic.Sum(),
        geometry.Perimeter(),
        clocks.HourHand(),
        arithmetic.NumberLine(),
        geometry.Angle(),
        arithmetic.Missing(),
        geometry.Area(),
        counting.Dots(),
        counting.Dice(),
        counting.Fractions(),
        charts.Bar(),
        charts.Coordinates(),
        charts.Graph(),
        clocks.BothHands(),
        geometry.Side(),
        counting.Shapes(),
        charts.Difference(),
        charts.Slope(),
    )
}


@dataclass(frozen=True)
class Figures(LazySequence[Problem]):
    """Problems of one split and level; each a pure function of its id, slip and scale.

    Any index from 0 on is a problem; the length only says where one pass over them ends.
    """

    split: str
    level: int
    problem_seed: int
    slip: float
    scale: int
    families: tuple[Family, ...]

    def __len__(self) -> int:
        return 1_000_000

    def item(self, index: int) -> Problem:
        """The problem at an index from 0 on."""
        if index < 0:
            raise IndexError(f"problem {index} of Figures: indices start at 0")
        return self._problem(f"figures/{self._name()}/{self.split}/{self.problem_seed}/{index}")

    def _name(self) -> str:
        """The level, and the families where they are not all that the level has."""
        if self.families == _of_level(self.level, None):
            return str(self.level)
        return f"{self.level}:{'+'.join(family.name for family in self.families)}"

    def _problem(self, id: str) -> Problem:
        rng = random.Random(id)
        family = rng.choice(self.families)
        operands = draw_operands(family, self.split, self.level, rng)
        style = draw_style(self.split, self.level, rng)
        steps = Steps(self.slip, random.Random(f"{id}/slip"))
        answer, result = family.solve(operands, Steps()), family.solve(operands, steps)
        options = ()
        if self.level > 1 and isinstance(answer, int) and rng.random() < CHOICE_RATE:
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


def problems(
    split: str = "train",
    level: int = 1,
    problem_seed: int = 0,
    slip: float = 0.0,
    scale: int = 1,
    families: Sequence[str] | None = None,
) -> Figures:
    """The problems of a split and level of Figures-v0.

    Problem i depends on split, level, problem_seed, families and i alone; slip changes nothing of
    it but the worked solution, scale nothing but the size of the image.

    Args:
        split: "train", "test" (images of its own) or "heldout" (operands of its own as well).
        level: 1 to 3; see the table of the module.
        problem_seed: Chooses another sequence of problems.
        slip: Probability in [0, 1] that a step of a worked solution is one too small.
        scale: Factor >= 1 by which images are enlarged.
        families: Names of the families to draw from; None for all of the level.

    Raises:
        UsageError: For an unknown split, level or family, or a slip or scale out of range.
    """
    if split not in SPLITS:
        raise UsageError(
            f"split {split!r} of Figures-v0 is unknown: take one of {', '.join(SPLITS)}"
        )
    if level not in LEVELS:
        raise UsageError(f"level {level!r} of Figures-v0 is unknown: take 1, 2 or 3")
    if not 0 <= slip <= 1:
        raise UsageError(f"slip is {slip}: give a probability in [0, 1]")
    if not isinstance(scale, int) or scale < 1:
        raise UsageError(f"scale is {scale!r}: give a whole number >= 1")
    return Figures(split, level, problem_seed, slip, scale, _of_level(level, families))


def _of_level(level: int, names: Sequence[str] | None) -> tuple[Family, ...]:
    if isinstance(names, str):
        raise UsageError(f"families is {names!r}: give a list of names")
    families = {name: family for name, family in FAMILIES.items() if family.level <= level}
    names = tuple(families) if names is None else names
    for name in names:
        if name not in families:
            raise UsageError(
                f"family {name!r} is not in level {level} of Figures-v0: "
                f"take of {', '.join(families)}"
            )
    if not names:
        raise UsageError("families is empty: name at least one, or leave it out for all")
    return tuple(families[name] for name in names)
