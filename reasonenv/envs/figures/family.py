"""Families of figures, their problems, and solutions by a teacher who may slip."""

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from reasonenv.envs.families import DrawnProblems, checksum
from reasonenv.envs.figures.canvas import BLACK, Canvas, Color, Style
from reasonenv.problem import Problem

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

    def fact(self, expression: str, value: Value, error: Value = 1) -> Value:
        """A line `expression=value`, read off the figure or small enough to be known by heart."""
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
    ranges: tuple[tuple[int, int], ...] = ()
    """Smallest and largest value of each operand, where they do not depend on each other."""
    large_ranges: tuple[tuple[int, int], ...] = ()
    """Those of level 3, where they are others."""

    def sample(self, rng: random.Random, level: int) -> Operands:
        """Operands of a new problem, larger ones at higher levels."""
        ranges = self.large_ranges if level == 3 and self.large_ranges else self.ranges
        return tuple(rng.randint(*span) for span in ranges)

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
        style = _draw_style(self.split, self.level, rng)
        # A third of the problems of level 3 that can have them have options.
        if self.level == 3 and family.has_choices and rng.random() < 1 / 3:
            operands, options = _draw_choice(family, self.split, self.level, rng)
        steps, rng = Steps(), random.Random(f"{seed}/slip")
        answer = result = family.solve(operands, steps)
        if rng.random() < self.slip:
            steps = Steps(slip_at=rng.randrange(steps.num_values))
            result = family.solve(operands, steps)
        lettered = (f"({letter}) {value}" for letter, value in zip("ABCD", options, strict=False))
        return Problem(
            id=id,
            question=" ".join((family.ask(operands), *lettered)),
            answer=_answer_or_letter(answer, options),
            images=(family.draw(operands, style).pixels(self.scale),),
            options=tuple(map(str, options)),
            solution=steps.response(_answer_or_letter(result, options)),
            metadata={"family": family.name, "level": self.level, "operands": operands},
        )


def _draw_choice(
    family: Family, split: str, level: int, rng: random.Random
) -> tuple[Operands, tuple[int, ...]]:
    """Operands of a multiple choice, and its four options in any order.

    The options are neighbours among the answers of many problems, and any of these four problems
    is the one that is posed. So without the figure each option is as likely as the others to be
    the answer, whatever its rank, its length or how common it is.
    """
    candidates = [draw_operands(family, split, level, rng) for _ in range(32)]
    by_answer = {family.solve(operands, Steps()): operands for operands in candidates}
    first = rng.randint(0, len(by_answer) - 4)
    options = sorted(by_answer)[first : first + 4]
    rng.shuffle(options)
    return by_answer[rng.choice(options)], tuple(map(int, options))


def _answer_or_letter(answer: int | Fraction, options: tuple[int, ...]) -> str:
    """The answer, or the letter of the nearest option where there are any."""
    distances = ((abs(value - answer), "ABCD"[place]) for place, value in enumerate(options))
    return min(distances, default=(0, str(answer)))[1]


_BACKGROUND_SPLITS = {0: "test", 1: "heldout"}
_INKS: tuple[Color, ...] = (BLACK, (20, 20, 110), (100, 30, 20), (60, 20, 90))


def _draw_style(split: str, level: int, rng: random.Random) -> Style:
    """A style of the split: no background belongs to two, hence no image does."""
    while True:
        background = rng.randint(235, 255), rng.randint(235, 255), rng.randint(235, 255)
        if _BACKGROUND_SPLITS.get(checksum(background) % 10, "train") == split:
            break
    if level < 3:
        return Style(background)
    return Style(background, rng.choice(_INKS), (rng.randint(-1, 1), rng.randint(-1, 1)))
