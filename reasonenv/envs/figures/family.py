"""Families of figures, and the split of their draws."""

import random
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

from reasonenv.envs.families import checksum
from reasonenv.envs.figures.canvas import BLACK, Canvas, Color, Style
from reasonenv.envs.figures.steps import Steps

SPLITS = ("train", "test", "heldout")

Operands = tuple[Any, ...]
"""Numbers, or tuples of them, that determine a figure up to its style, and its question."""


class Family(ABC):
    """One kind of figure with one kind of question; its instances hold no state."""

    name: str
    level: int
    """The first level that poses it; the higher ones do too."""
    question: str
    """The question, in which {0} stands for the first operand; the figure alone answers it."""
    is_commutative = False
    """True if the order of the operands makes no other problem: 2+8 and 8+2."""
    heldout_period = 10
    """One in so many combinations of operands is held out."""
    has_choices = True
    """False where answers are fractions, or where the question alone says what they cannot be."""

    @abstractmethod
    def sample(self, rng: random.Random, level: int) -> Operands:
        """Operands of a new problem, larger ones at higher levels."""

    @abstractmethod
    def draw(self, operands: Operands, style: Style) -> Canvas:
        """The figure."""

    @abstractmethod
    def solve(self, operands: Operands, steps: Steps) -> int | Fraction:
        """The answer, by steps that are written down on the way."""

    def ask(self, operands: Operands) -> str:
        """The question, with its operands."""
        return self.question.format(*operands)

    def canonical(self, operands: Operands) -> Operands:
        """The same for operands that are held out together: those of the same problem at least."""
        return tuple(sorted(operands)) if self.is_commutative else operands


def draw_operands(family: Family, split: str, level: int, rng: random.Random) -> Operands:
    """Operands of the split: one in `heldout_period` combinations is for "heldout" alone.

    Raises:
        ValueError: When the family seems to have no operands for the split.
    """
    for _ in range(10_000):
        operands = family.sample(rng, level)
        held_out = checksum(family.name, family.canonical(operands)) % family.heldout_period == 0
        if held_out == (split == "heldout"):
            return operands
    raise ValueError(f"family {family.name!r} has too few operands for a split {split!r}")


def draw_style(split: str, level: int, rng: random.Random) -> Style:
    """A style of the split: no background belongs to two, hence no image does."""
    background = _sample_background(rng)
    while BACKGROUND_SPLITS.get(checksum(background) % 10, "train") != split:
        background = _sample_background(rng)
    if level < 3:
        return Style(background)
    return Style(background, rng.choice(INKS), (rng.randint(-1, 1), rng.randint(-1, 1)))


BACKGROUND_SPLITS = {0: "test", 1: "heldout"}
INKS: tuple[Color, ...] = (BLACK, (20, 20, 110), (100, 30, 20), (60, 20, 90))


def _sample_background(rng: random.Random) -> Color:
    return rng.randint(235, 255), rng.randint(235, 255), rng.randint(235, 255)
