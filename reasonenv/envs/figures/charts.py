"""Charts and graphs over a grid whose points are the middles of tiles."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from reasonenv.envs.figures.canvas import BLUE, RED, Canvas, Color, Point, Style, middle
from reasonenv.envs.figures.family import Family, Operands, Steps

BARS = "KLMN"
"""Names of the bars, none of which is the letter of an option."""
HEIGHT = 6
"""Tiles from the lowest to the highest line of a grid."""
PALE: Color = (195, 195, 195)


@dataclass(frozen=True)
class Grid:
    """A grid of one step a tile, or of two where it is fine, with labels at each tile."""

    width: int
    """Tiles from the leftmost to the rightmost line."""
    per_tile: int = 1
    """Steps of a tile."""

    @classmethod
    def of_level(cls, width: int, level: int) -> "Grid":
        """The grid of a level: fine at level 3."""
        return cls(width, 1 if level < 3 else 2)

    @property
    def size(self) -> tuple[int, int]:
        """Steps to the right and up."""
        return self.width * self.per_tile, HEIGHT * self.per_tile

    def point(self, x: float, y: float) -> Point:
        """The pixel at a point of the grid."""
        return middle(1 + x / self.per_tile, HEIGHT - y / self.per_tile)

    def draw(self, style: Style, labels: Mapping[int, str] | None = None, unit: int = 1) -> Canvas:
        """The empty grid.

        Args:
            style: Of the figure.
            labels: Below tiles to the right; by default the steps below each.
            unit: Value of a step upwards.
        """
        canvas = Canvas(self.width + 2, HEIGHT + 2, style)
        right, top = self.size
        for step in range(1, max(right, top) + 1):
            if step <= top:
                canvas.line(self.point(0, step), self.point(right, step), width=1, color=PALE)
            if step <= right:
                canvas.line(self.point(step, 0), self.point(step, top), width=1, color=PALE)
        canvas.line(self.point(0, top), self.point(0, 0), self.point(right, 0))
        steps = {tile: str(tile * self.per_tile) for tile in range(self.width + 1)}
        for tile, label in (labels or steps).items():
            canvas.text(1 + tile, HEIGHT + 1, label)
        for tile in range(HEIGHT + 1):
            canvas.text(0, HEIGHT - tile, str(tile * self.per_tile * unit))
        return canvas


class BarChart(Family):
    """Four bars; the operands are grid, unit, the steps that each is high, and bars."""

    def draw(self, operands: Operands, style: Style) -> Canvas:
        per_tile, unit, *heights = operands[0]
        grid = Grid(len(BARS), per_tile)
        canvas = grid.draw(style, dict(enumerate(BARS, 1)), unit)
        for tile, height in enumerate(heights, 1):
            x = tile * per_tile
            corners = grid.point(x - 0.3 * per_tile, height), grid.point(x + 0.3 * per_tile, 0)
            canvas.box(*corners, fill=BLUE)
        return canvas

    def value(self, operands: Operands, bar: str) -> int:
        """The height of a bar."""
        _, unit, *heights = operands[0]
        return unit * heights[BARS.index(bar)]


class Bar(BarChart):
    """Four bars, one of which is asked for."""

    name, level = "bar", 2
    question = "How high is bar {1}?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        return sample_heights(rng, level), rng.choice(BARS)

    def solve(self, operands: Operands, steps: Steps) -> int:
        bar = operands[1]
        return steps.read(bar, self.value(operands, bar))


class Difference(BarChart):
    """Four bars, two of which are compared."""

    name, level = "difference", 3
    question = "How much higher is bar {1} than bar {2}?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        heights = sample_heights(rng, level)
        ranked = sorted(rng.sample(range(len(BARS)), 2), key=lambda bar: heights[2 + bar])
        if heights[2 + ranked[0]] == heights[2 + ranked[1]]:
            return self.sample(rng, level)
        return heights, BARS[ranked[1]], BARS[ranked[0]]

    def solve(self, operands: Operands, steps: Steps) -> int:
        high, low = (steps.read(bar, self.value(operands, bar)) for bar in operands[1:])
        return steps.fact(f"{high}-{low}", high - low)


class Coordinates(Family):
    """A red and a blue point in the plane."""

    name, level = "coordinates", 2
    question = "How far is it from the red to the blue point along the grid?"
    heldout_period = 8

    def sample(self, rng: random.Random, level: int) -> Operands:
        grid = Grid.of_level(HEIGHT, level)
        points = [(x, y) for x in range(grid.size[0] + 1) for y in range(grid.size[1] + 1)]
        return grid.per_tile, *rng.sample(points, 2)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        per_tile, *points = operands
        grid = Grid(HEIGHT, per_tile)
        canvas = grid.draw(style)
        for point, color in zip(points, (RED, BLUE), strict=True):
            canvas.disc(grid.point(*point), 9 if per_tile == 1 else 6, color)
        return canvas

    def canonical(self, operands: Operands) -> Operands:
        return operands[0], *sorted(operands[1:])

    def solve(self, operands: Operands, steps: Steps) -> int:
        sides = []
        for name, *ends in zip("xy", *operands[1:], strict=True):
            low, high = sorted(steps.read(name, end) for end in ends)
            sides.append(steps.fact(f"{high}-{low}", high - low))
        return steps.fact(f"{sides[0]}+{sides[1]}", sum(sides))


class Graph(Family):
    """Points of a function, joined by lines."""

    name, level = "graph", 2
    question = "What is y at x={1}?"
    width = 4

    def sample(self, rng: random.Random, level: int) -> Operands:
        grid = Grid.of_level(self.width, level)
        values = tuple(rng.randint(0, grid.size[1]) for _ in range(self.width + 1))
        return (grid.per_tile, *values), grid.per_tile * rng.randint(0, self.width)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        per_tile, *values = operands[0]
        grid = Grid(self.width, per_tile)
        canvas = grid.draw(style)
        points = [grid.point(per_tile * tile, value) for tile, value in enumerate(values)]
        canvas.line(*points, width=2, color=BLUE)
        for point in points:
            canvas.disc(point, 5, BLUE)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        (per_tile, *values), x = operands
        return steps.read("y", values[x // per_tile])


class Slope(Family):
    """A line with two of its points marked."""

    name, level = "slope", 3
    question = "What is the slope of the line?"
    has_choices = False

    def sample(self, rng: random.Random, level: int) -> Operands:
        right, top = Grid.of_level(HEIGHT, level).size
        left = rng.randint(0, right - 2)
        return left, rng.randint(0, top), rng.randint(left + 2, right), rng.randint(0, top)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        grid = Grid.of_level(HEIGHT, self.level)
        canvas = grid.draw(style)
        points = grid.point(*operands[:2]), grid.point(*operands[2:])
        canvas.line(*points, width=3, color=BLUE)
        for point in points:
            canvas.disc(point, 5, RED)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> Fraction:
        x, y, right, end = operands
        rise, run = steps.fact(f"{end}-{y}", end - y), steps.fact(f"{right}-{x}", right - x)
        return steps.divide(rise, run)


def sample_heights(rng: random.Random, level: int) -> tuple[int, ...]:
    """Steps of a tile, the value of a step, and the steps that each bar is high."""
    grid = Grid.of_level(len(BARS), level)
    unit = 1 if level < 3 else rng.choice((1, 5))
    return grid.per_tile, unit, *(rng.randint(1, grid.size[1]) for _ in BARS)
