"""Steps of arithmetic, and the facts that they rest on."""

import operator
from dataclasses import dataclass

Fact = tuple[str, int, int]
"""Two addends ("+") or two factors ("*"), the smaller one first."""

OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
}


@dataclass(frozen=True)
class Step:
    """One operation on two whole numbers; divisions are exact."""

    left: int
    sign: str
    right: int

    @property
    def value(self) -> int:
        """The result."""
        return OPERATIONS[self.sign](self.left, self.right)

    @property
    def fact(self) -> Fact:
        """The fact behind the step: 7 + 8, 8 + 7, 15 - 7 and 15 - 8 have the same one."""
        part = self.left if self.sign in "+*" else self.value
        kind = "+" if self.sign in "+-" else "*"
        return kind, min(part, self.right), max(part, self.right)

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right} = {self.value}"


class Work:
    """Steps that are recorded as they are computed."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def add(self, a: int, b: int) -> int:
        """The sum a + b."""
        return self._step(a, "+", b)

    def subtract(self, a: int, b: int) -> int:
        """The difference a - b."""
        return self._step(a, "-", b)

    def multiply(self, a: int, b: int) -> int:
        """The product a * b."""
        return self._step(a, "*", b)

    def divide(self, a: int, b: int) -> int:
        """The quotient a / b of a multiple of b."""
        return self._step(a, "/", b)

    def _step(self, left: int, sign: str, right: int) -> int:
        self.steps.append(Step(left, sign, right))
        return self.steps[-1].value
