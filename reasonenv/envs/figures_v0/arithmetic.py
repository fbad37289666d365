"""Numbers in rows and on lines."""

import random
from collections.abc import Sequence

from reasonenv.envs.figures.canvas import RED, Canvas, Style, middle
from reasonenv.envs.figures.family import Family, Operands
from reasonenv.envs.figures_v0.steps import Steps


class Sum(Family):
    """Two or three numbers with plus signs between them."""

    name, level = "sum", 1
    question = "What is the sum?"
    is_commutative = True

    def sample(self, rng: random.Random, level: int) -> Operands:
        largest = 9 if level < 3 else 49
        return tuple(rng.randint(1, largest) for _ in range(rng.choice((2, 3))))

    def draw(self, operands: Operands, style: Style) -> Canvas:
        numbers = [str(number) for number in operands]
        return draw_row(" + ".join(numbers).split(), style)

    def solve(self, operands: Operands, steps: Steps) -> int:
        return steps.add(*operands)


class NumberLine(Family):
    """Five ticks, the first two labelled, one of the others marked."""

    name, level = "number_line", 1
    question = "Which number is marked?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        distance = rng.randint(1, 5 if level < 3 else 9)
        start = rng.randint(0, (9 if level < 3 else 60) - distance)
        return start, distance, rng.randint(2, 4)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        start, distance, marked = operands
        apart = 1 if start + distance < 10 else 2  # two labels of two digits would touch
        canvas = Canvas(4 * apart + 1, 2, style)
        ticks = [middle(apart * tick, 0)[0] for tick in range(5)]
        canvas.line((4, 20), (ticks[-1] + 10, 20))
        for x in ticks:
            canvas.line((x, 13), (x, 27))
        canvas.text(0, 1, str(start))
        canvas.text(apart, 1, str(start + distance))
        canvas.disc((ticks[marked], 20), 6, RED)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        start, distance, marked = operands
        value = start + distance
        distance = steps.subtract(value, start)
        return steps.add(value, *[distance] * (marked - 1))


class Missing(Family):
    """A sum with its second number missing."""

    name, level = "missing", 2
    question = "Which number is missing?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        largest = 9 if level < 3 else 49
        return rng.randint(1, largest), rng.randint(1, largest)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        return draw_row([str(operands[0]), "+", "?", "=", str(sum(operands))], style)

    def solve(self, operands: Operands, steps: Steps) -> int:
        return steps.subtract(sum(operands), operands[0])


def draw_row(labels: Sequence[str], style: Style) -> Canvas:
    """Labels side by side in a row of five tiles."""
    canvas = Canvas(5, 1, style)
    for column, label in enumerate(labels):
        canvas.text(column, 0, label)
    return canvas
