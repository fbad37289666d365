"""Worked solutions, written by a teacher who may slip."""

import random
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from reasonenv.envs.figures.solution import Solution

Value = TypeVar("Value", int, Fraction)


class Steps(Solution):
    """The lines of a worked solution; each step returns the value that it wrote down.

    With probability `slip` a step writes, and returns, one less than the truth (of a fraction's
    numerator), and whatever is computed from it goes on consistently from the wrong value. Two
    slips may cancel. Steps() never slips.

    Args:
        slip: Probability of a slip at each step, in [0, 1].
        rng: Decides the slips; unused where slip is 0.
    """

    def __init__(self, slip: float = 0.0, rng: random.Random | None = None):
        super().__init__()
        self._slip = slip
        self._rng = rng or random.Random(0)

    def read(self, name: str, value: int) -> int:
        """A value read off the figure: `name=value`."""
        return self._write(name, value)

    def add(self, total: int, *numbers: int) -> int:
        """a+b, and so on with the sum and each further number."""
        for number in numbers:
            total = self._write(f"{total}+{number}", total + number)
        return total

    def subtract(self, a: int, b: int) -> int:
        """a-b."""
        return self._write(f"{a}-{b}", a - b)

    def multiply(self, a: int, b: int) -> int:
        """a*b."""
        return self._write(f"{a}*{b}", a * b)

    def divide(self, a: int, b: int) -> Fraction:
        """a/b, in lowest terms."""
        quotient = Fraction(a, b)
        return self._write(f"{a}/{b}", quotient, error=Fraction(1, quotient.denominator))

    def _write(self, expression: str, value: Value, error: Value = 1) -> Value:
        if self._rng.random() < self._slip:
            value -= error
        self.lines.append(f"{expression}={value}")
        return value


def work(
    solve: Callable[[Steps], int | Fraction], slip: float, rng: random.Random
) -> tuple[int | Fraction, Steps]:
    """The result and the lines of a teacher who slips in each line, with probability `slip`."""
    steps = Steps(slip, rng)
    return solve(steps), steps
