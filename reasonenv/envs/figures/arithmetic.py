"""Numbers in rows and on lines."""

import random

from reasonenv.envs.figures.canvas import RED, Canvas, Style, middle
from reasonenv.envs.figures.family import Family, Operands
from reasonenv.envs.figures.steps import Steps


class Sum(Family):
    """Two numbers, three at level 3, with plus signs between them."""

    name, level = "sum", 1
    question = "What is the sum?"
    is_commutative = True

    def sample(self, rng: random.Random, level: int) -> Operands:
        return tuple(rng.randint(1, 99) for _ in range(2 if level < 3 else 3))

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = Canvas(3 * len(operands) - 1, 1, style)
        for place, number in enumerate(operands):
            canvas.number(3 * place + 1, 0, number)
            if place:
                canvas.text(3 * place - 1, 0, "+")
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        total, *others = operands
        for number in others:
            total = steps.add(total, number)
        return total


class NumberLine(Family):
    """Four ticks, the first two labelled, one of the others marked."""

    name, level = "number_line", 1
    question = "Which number is marked?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        distance = rng.randint(1, 12 if level < 3 else 25)
        return rng.randint(0, 99 - distance), distance, rng.randint(2, 3)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        start, distance, marked = operands
        canvas = Canvas(11, 2, style)
        ticks = [middle(3 * tick + 1, 0) for tick in range(4)]
        canvas.line((14, 14), (304, 14))
        for x, y in ticks:
            canvas.line((x, y - 7), (x, y + 7))
        canvas.number(1, 1, start)
        canvas.number(4, 1, start + distance)
        canvas.disc(ticks[marked], 6, RED)
        return canvas

    def canonical(self, operands: Operands) -> Operands:
        return operands[:2]

    def solve(self, operands: Operands, steps: Steps) -> int:
        start, distance, marked = operands
        value = start + distance
        distance = steps.fact(f"{value}-{start}", distance)
        for _ in range(marked - 1):
            value = steps.fact(f"{value}+{distance}", value + distance)
        return value


class Missing(Family):
    """A sum with its second number missing."""

    name, level = "missing", 2
    question = "Which number is missing?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        largest = 99 if level < 3 else 499
        return rng.randint(1, 99), rng.randint(1, largest)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = Canvas(8, 1, style)
        canvas.number(1, 0, operands[0])
        for column, sign in enumerate("+?=", 2):
            canvas.text(column, 0, sign)
        canvas.number(7, 0, sum(operands))
        return canvas

    def canonical(self, operands: Operands) -> Operands:
        return tuple(sorted(operands))

    def solve(self, operands: Operands, steps: Steps) -> int:
        return steps.subtract(sum(operands), operands[0])
