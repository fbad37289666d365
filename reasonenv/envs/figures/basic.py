"""Level 1: five families that a model of less than a million parameters learns to read."""

import random
from math import cos, pi, radians, sin, tan

from reasonenv.envs.figures.canvas import RED, Canvas, Point, Style, middle
from reasonenv.envs.figures.family import Family, Operands
from reasonenv.envs.figures.steps import Steps


class Sum(Family):
    """Two or three numbers with plus signs between them."""

    name, level = "sum", 1

    def sample(self, rng: random.Random, level: int) -> Operands:
        largest = 9 if level < 3 else 49
        return tuple(rng.randint(1, largest) for _ in range(rng.choice((2, 3))))

    def canonical(self, operands: Operands) -> Operands:
        return tuple(sorted(operands))

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = Canvas(5, 1, style)
        for column, label in enumerate("+".join(" " * len(operands))):
            canvas.text(column, 0, str(operands[column // 2]) if label == " " else label)
        return canvas

    def ask(self, operands: Operands) -> str:
        return "What is the sum?"

    def solve(self, operands: Operands, steps: Steps) -> int:
        total = operands[0]
        for number in operands[1:]:
            total = steps.add(total, number)
        return total


class Perimeter(Family):
    """A rectangle, to scale, with the lengths of two sides."""

    name, level = "perimeter", 1

    def sample(self, rng: random.Random, level: int) -> Operands:
        largest = 9 if level < 3 else 20
        return rng.randint(2, largest), rng.randint(2, largest)

    def canonical(self, operands: Operands) -> Operands:
        return tuple(sorted(operands))

    def draw(self, operands: Operands, style: Style) -> Canvas:
        return draw_rectangle(*operands, labels=(str(operands[0]), str(operands[1])), style=style)

    def ask(self, operands: Operands) -> str:
        return "What is the perimeter?"

    def solve(self, operands: Operands, steps: Steps) -> int:
        return steps.multiply(2, steps.add(*operands))


class Clock(Family):
    """The hour hand of a clock; the question adds some hours."""

    name, level = "clock", 1

    def sample(self, rng: random.Random, level: int) -> Operands:
        return rng.randint(1, 12), rng.randint(2, 7 if level < 3 else 11)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = draw_dial(style)
        canvas.line((42, 42), on_dial(operands[0], 26), width=4)
        return canvas

    def ask(self, operands: Operands) -> str:
        return f"What hour is it in {operands[1]} hours?"

    def solve(self, operands: Operands, steps: Steps) -> int:
        hour = steps.add(*operands)
        return steps.subtract(hour, 12) if hour > 12 else hour


class NumberLine(Family):
    """Five ticks, the first two labelled, one of the others marked."""

    name, level = "number_line", 1

    def sample(self, rng: random.Random, level: int) -> Operands:
        distance = rng.randint(1, 5 if level < 3 else 9)
        start = rng.randint(0, (9 if level < 3 else 60) - distance)
        return start, distance, rng.randint(2, 4)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        start, distance, marked = operands
        canvas = Canvas(5, 2, style)
        canvas.line((4, 20), (136, 20))
        for tick in range(5):
            x, _ = middle(tick, 0)
            canvas.line((x, 13), (x, 27))
        canvas.text(0, 1, str(start))
        canvas.text(1, 1, str(start + distance))
        canvas.disc((middle(marked, 0)[0], 20), 6, RED)
        return canvas

    def ask(self, operands: Operands) -> str:
        return "Which number is marked?"

    def solve(self, operands: Operands, steps: Steps) -> int:
        start, distance, marked = operands
        value = start + distance
        distance = steps.subtract(value, start)
        for _ in range(marked - 1):
            value = steps.add(value, distance)
        return value


class Angle(Family):
    """A triangle, stretched to one height, with two of its angles below their corners."""

    name, level, unit = "angle", 1, 10

    def sample(self, rng: random.Random, level: int) -> Operands:
        if level < 3:
            return rng.choice(
                [(10 * a, 10 * b) for a in range(2, 10) for b in range(2, 10) if a + b < 17]
            )
        return rng.randint(4, 18) * 5, rng.randint(4, 16) * 5

    def canonical(self, operands: Operands) -> Operands:
        return tuple(sorted(operands))

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = Canvas(4, 3, style)
        left, right, base, top = 10, 102, 52, 5
        foot = tan(radians(operands[1])) / sum(tan(radians(angle)) for angle in operands)
        apex: Point = (left + foot * (right - left), top)
        canvas.line((left, base), (right, base), apex, (left, base), width=3)
        canvas.text(0, 2, str(operands[0]))
        canvas.text(3, 2, str(operands[1]))
        return canvas

    def ask(self, operands: Operands) -> str:
        return "How large is the third angle?"

    def solve(self, operands: Operands, steps: Steps) -> int:
        return steps.subtract(180, steps.add(*operands))


def draw_rectangle(width: int, height: int, labels: tuple[str, str], style: Style) -> Canvas:
    """A rectangle to scale, a label above it and one to its left."""
    canvas = Canvas(3, 3, style)
    unit = min(5, 50 / max(width, height))
    canvas.box((30, 30), (30 + unit * width, 30 + unit * height), width=3)
    canvas.text(1, 0, labels[0])
    canvas.text(0, 1, labels[1])
    return canvas


def draw_dial(style: Style) -> Canvas:
    """A clock without hands: a tick for each hour, a longer one at 12."""
    canvas = Canvas(3, 3, style)
    canvas.circle((42, 42), 39)
    for hour in range(1, 13):
        canvas.line(on_dial(hour, 28 if hour == 12 else 33), on_dial(hour, 38))
    return canvas


def on_dial(hour: float, radius: float) -> Point:
    """The pixel on a dial at an hour and a distance from its center."""
    turn = 2 * pi * hour / 12
    return 42 + radius * sin(turn), 42 - radius * cos(turn)


FAMILIES = (Sum(), Perimeter(), Clock(), NumberLine(), Angle())
