"""Families of figures, the split of their draws, and their solutions by a teacher who may slip."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from reasonenv.envs.families import checksum
from reasonenv.envs.figures.canvas import BLACK, Canvas, Color, Style

SPLITS = ("train", "test", "heldout")

Operands = tuple[Any, ...]
"""Numbers, or tuples of them, that determine a figure up to its style, and its question."""
Value = TypeVar("Value", int, Fraction)


class Steps:
    """Lines of a worked solution; each step returns the value that it wrote down.

    Numbers of two digits are added and subtracted column by column, with carries, so that a pair of
    numbers never seen is worked out of sums and differences of digits that have been.

    Args:
        slip_at: Index of the computed line that has a slip, from 0; None for none. The value of
            that line is one too small (of a fraction's numerator), or 1 where 0 is right, and all
            that is computed from it follows.
    """

    def __init__(self, slip_at: int | None = None) -> None:
        self.lines: list[str] = []
        self.num_values = 0
        """Number of computed lines, each of which may have a slip."""
        self._slip_at = slip_at

    def read(self, name: str, value: int) -> int:
        """A value read off the figure: `name=value`."""
        return self.fact(name, value)

    def fact(self, expression: str, value: Value, error: Value = 1) -> Value:
        """A line `expression=value` from a table small enough to be known by heart."""
        if self.num_values == self._slip_at:
            value += -error if value else error
        self.num_values += 1
        self.lines.append(f"{expression}={value}")
        return value

    def add(self, a: int, b: int) -> int:
        """a+b, column by column."""
        if max(a, b) < 10:
            return self.fact(f"{a}+{b}", a + b)
        carry, ones = divmod(self.fact(f"{a % 10}+{b % 10}", a % 10 + b % 10), 10)
        return self._join([part for part in (a // 10, b // 10, carry) if part], ones, "+")

    def subtract(self, a: int, b: int) -> int:
        """a-b for a >= b >= 0, column by column."""
        if a < 10:
            return self.fact(f"{a}-{b}", a - b)
        borrow = a % 10 < b % 10
        top = a % 10 + 10 * borrow
        ones = self.fact(f"{top}-{b % 10}", top - b % 10)
        return self._join([a // 10, *(part for part in (b // 10, borrow) if part)], ones, "-")

    def multiply(self, a: int, b: int) -> int:
        """a*b for b below 10, column by column."""
        if a < 10:
            return self.fact(f"{a}*{b}", a * b)
        carry, ones = divmod(self.fact(f"{a % 10}*{b}", a % 10 * b), 10)
        tens = self.fact(f"{a // 10}*{b}", a // 10 * b)
        return self._join([part for part in (tens, carry) if part], ones, "+")

    def divide(self, a: int, b: int) -> Fraction:
        """a/b, in lowest terms."""
        quotient = Fraction(a, b)
        return self.fact(f"{a}/{b}", quotient, Fraction(1, quotient.denominator))

    def response(self, answer: str) -> str:
        """The lines and the answer as a whole response."""
        thinking = "\n".join(self.lines)
        return f"<think>{thinking}</think><answer>\\boxed{{{answer}}}</answer>"

    def _join(self, parts: list[int], ones: int, sign: str) -> int:
        """The number of a column's value, computed if it has several parts, and of ones."""
        value = sum(parts) if sign == "+" else parts[0] - sum(parts[1:])
        tens = self.fact(sign.join(f"{part:d}" for part in parts), value) if parts[1:] else value
        self.lines.append(str(10 * tens + ones))
        return 10 * tens + ones


def work(
    solve: Callable[[Steps], int | Fraction], slip: float, rng: random.Random
) -> tuple[int | Fraction, Steps]:
    """The result and the lines of a teacher who slips in one line, with probability `slip`."""
    steps = Steps()
    result = solve(steps)
    if rng.random() < slip:
        steps = Steps(slip_at=rng.randrange(steps.num_values))
        result = solve(steps)
    return result, steps


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
