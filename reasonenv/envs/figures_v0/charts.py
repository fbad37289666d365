"""Charts and graphs over a grid that is labelled below and at its left."""

import random
from collections.abc import Mapping
from fractions import Fraction

from reasonenv.envs.figures.canvas import BLUE, RED, TILE, Canvas, Color, Point, Style
from reasonenv.envs.figures.family import Family, Operands
from reasonenv.envs.figures_v0.steps import Steps

BARS = "KLMN"
"""Names of the bars, none of which is the letter of an option."""
EVEN = (0, 2, 4, 6, 8)
NUMBERED = {step: str(step) for step in EVEN}
PALE: Color = (195, 195, 195)


class BarChart(Family):
    """Four bars on a grid; the operands are the unit and the steps that each is high, and bars."""

    def draw(self, operands: Operands, style: Style) -> Canvas:
        unit, *steps = operands[0]
        canvas = draw_grid(dict(zip(EVEN[1:], BARS, strict=True)), unit, style)
        for x, height in zip(EVEN[1:], steps, strict=True):
            canvas.box(on_grid(x - 0.6, height), on_grid(x + 0.6, 0), fill=BLUE)
        return canvas

    def unit(self, operands: Operands) -> int:
        return operands[0][0]


class Bar(BarChart):
    """Four bars, one of which is asked for."""

    name, level = "bar", 2
    question = "How high is bar {1}?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        return sample_heights(rng, level), rng.choice(BARS)

    def solve(self, operands: Operands, steps: Steps) -> int:
        (unit, *heights), bar = operands
        return steps.read(bar, unit * heights[BARS.index(bar)])


class Difference(BarChart):
    """Four bars, two of which are compared."""

    name, level = "difference", 3
    question = "How much higher is bar {1} than bar {2}?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        heights = sample_heights(rng, level)
        ranked = sorted(rng.sample(range(4), 2), key=lambda bar: heights[1 + bar])
        if heights[1 + ranked[0]] == heights[1 + ranked[1]]:
            return self.sample(rng, level)
        return heights, BARS[ranked[1]], BARS[ranked[0]]

    def solve(self, operands: Operands, steps: Steps) -> int:
        (unit, *heights), *bars = operands
        return steps.subtract(*(steps.read(bar, unit * heights[BARS.index(bar)]) for bar in bars))


class Coordinates(Family):
    """A point in the plane."""

    name, level = "coordinates", 2
    question = "What is the sum of the coordinates?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        return rng.randint(0, 8), rng.randint(0, 8)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = draw_grid(NUMBERED, 1, style)
        canvas.disc(on_grid(*operands), 5, RED)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        x, y = operands
        return steps.add(steps.read("x", x), steps.read("y", y))


class Graph(Family):
    """The graph of a function, broken at every second x."""

    name, level = "graph", 2
    question = "What is y at x={1}?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        return tuple(rng.randint(0, 8) for _ in EVEN), rng.choice(EVEN)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = draw_grid(NUMBERED, 1, style)
        canvas.line(*map(on_grid, EVEN, operands[0]), width=3, color=BLUE)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        values, x = operands
        return steps.read("y", values[EVEN.index(x)])


class Slope(Family):
    """A line with two of its points marked."""

    name, level = "slope", 3
    question = "What is the slope of the line?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        left = rng.randint(0, 6)
        return left, rng.randint(0, 8), rng.randint(left + 2, 8), rng.randint(0, 8)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = draw_grid(NUMBERED, 1, style)
        points = on_grid(*operands[:2]), on_grid(*operands[2:])
        canvas.line(*points, width=3, color=BLUE)
        for point in points:
            canvas.disc(point, 5, RED)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> Fraction:
        x, y, right, end = operands
        return steps.divide(steps.subtract(end, y), steps.subtract(right, x))


def sample_heights(rng: random.Random, level: int) -> tuple[int, ...]:
    """The value of a step of the grid, and the steps that each bar is high."""
    unit = 1 if level < 3 else rng.choice((1, 5, 10))
    return unit, *(rng.randint(1, 8) for _ in BARS)


def draw_grid(labels: Mapping[int, str], unit: int, style: Style) -> Canvas:
    """A grid of 8 x 8 steps of half a tile; labels below even steps, multiples of unit beside."""
    canvas = Canvas(6, 6, style)
    for step in range(1, 9):
        canvas.line(on_grid(0, step), on_grid(8, step), width=1, color=PALE)
        canvas.line(on_grid(step, 0), on_grid(step, 8), width=1, color=PALE)
    canvas.line(on_grid(0, 8), on_grid(0, 0), on_grid(8, 0))
    for step in EVEN:
        canvas.text(0, 4 - step // 2, str(unit * step))
    for step, label in labels.items():
        canvas.text(1 + step // 2, 5, label)
    return canvas


def on_grid(x: float, y: float) -> Point:
    """The pixel at a point of the grid."""
    return (3 + x) * TILE / 2, (9 - y) * TILE / 2
