"""Charts and graphs over a grid whose points are the middles of tiles."""

import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

from reasonenv.envs.figures.canvas import BLUE, RED, Canvas, Color, Point, Style, middle
from reasonenv.envs.figures.family import Family, Operands, Steps

BARS = "KLMN"
"""Names of the bars, none of which is the letter of an option."""
HEIGHT = 6
"""Tiles from the lowest to the highest line of a grid."""
PALE: Color = (195, 195, 195)


class _Grid(Canvas):
    """A grid of some steps a tile, with labels at each tile.

    Args:
        style: Of the figure.
        width: Tiles from the leftmost to the rightmost line.
        per_tile: Steps of a tile.
        labels: Below tiles to the right; by default the steps below each.
        unit: Value of a step upwards.
    """

    def __init__(
        self,
        style: Style,
        width: int,
        per_tile: int,
        labels: Mapping[int, str] | None = None,
        unit: int = 1,
    ) -> None:
        super().__init__(width + 2, HEIGHT + 2, style)
        self._per_tile = per_tile
        right, top = width * per_tile, HEIGHT * per_tile
        for step in range(1, max(right, top) + 1):
            if step <= top:
                self.line(self.point(0, step), self.point(right, step), width=1, color=PALE)
            if step <= right:
                self.line(self.point(step, 0), self.point(step, top), width=1, color=PALE)
        self.line(self.point(0, top), self.point(0, 0), self.point(right, 0))
        steps = {tile: str(tile * per_tile) for tile in range(width + 1)}
        for tile, label in (labels or steps).items():
            self.text(1 + tile, HEIGHT + 1, label)
        for tile in range(HEIGHT + 1):
            self.text(0, HEIGHT - tile, str(tile * per_tile * unit))

    def point(self, x: float, y: float) -> Point:
        """The pixel at a point of the grid."""
        return middle(1 + x / self._per_tile, HEIGHT - y / self._per_tile)


def _steps_per_tile(level: int) -> int:
    return 1 if level < 3 else 2


class _BarChart(Family):
    """Four bars; the operands are grid, unit, the steps that each is high, and bars."""

    def draw(self, operands: Operands, style: Style) -> Canvas:
        per_tile, unit, *heights = operands[0]
        grid = _Grid(style, len(BARS), per_tile, dict(enumerate(BARS, 1)), unit)
        for tile, height in enumerate(heights, 1):
            x = tile * per_tile
            corners = grid.point(x - 0.3 * per_tile, height), grid.point(x + 0.3 * per_tile, 0)
            grid.box(*corners, fill=BLUE)
        return grid

    def value(self, operands: Operands, bar: str) -> int:
        """The height of a bar."""
        _, unit, *heights = operands[0]
        return unit * heights[BARS.index(bar)]


class _Bar(_BarChart):
    name, level = "bar", 2
    question = "How high is bar {1}?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        return _sample_heights(rng, level), rng.choice(BARS)

    def solve(self, operands: Operands, steps: Steps) -> int:
        bar = operands[1]
        return steps.fact(bar, self.value(operands, bar))


class _Difference(_BarChart):
    name, level = "difference", 3
    question = "How much higher is bar {1} than bar {2}?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        heights = _sample_heights(rng, level)
        ranked = sorted(rng.sample(range(len(BARS)), 2), key=lambda bar: heights[2 + bar])
        if heights[2 + ranked[0]] == heights[2 + ranked[1]]:
            return self.sample(rng, level)
        return heights, BARS[ranked[1]], BARS[ranked[0]]

    def solve(self, operands: Operands, steps: Steps) -> int:
        high, low = (steps.fact(bar, self.value(operands, bar)) for bar in operands[1:])
        return steps.fact(f"{high}-{low}", high - low)


class _Coordinates(Family):
    name, level = "coordinates", 2
    question = "How far is it from the red to the blue point along the grid?"
    heldout_period = 8

    def sample(self, rng: random.Random, level: int) -> Operands:
        per_tile = _steps_per_tile(level)
        steps = range(HEIGHT * per_tile + 1)
        return per_tile, *rng.sample(list(product(steps, steps)), 2)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        per_tile, *points = operands
        grid = _Grid(style, HEIGHT, per_tile)
        for point, color in zip(points, (RED, BLUE), strict=True):
            grid.disc(grid.point(*point), 9 if per_tile == 1 else 6, color)
        return grid

    def canonical(self, operands: Operands) -> Operands:
        return operands[0], *sorted(operands[1:])

    def solve(self, operands: Operands, steps: Steps) -> int:
        sides = []
        for name, *ends in zip("xy", *operands[1:], strict=True):
            low, high = sorted(steps.fact(name, end) for end in ends)
            sides.append(steps.fact(f"{high}-{low}", high - low))
        return steps.fact(f"{sides[0]}+{sides[1]}", sum(sides))


class _Graph(Family):
    name, level = "graph", 2
    question = "What is y at x={1}?"
    width = 4

    def sample(self, rng: random.Random, level: int) -> Operands:
        per_tile = _steps_per_tile(level)
        values = tuple(rng.randint(0, HEIGHT * per_tile) for _ in range(self.width + 1))
        return (per_tile, *values), per_tile * rng.randint(0, self.width)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        per_tile, *values = operands[0]
        grid = _Grid(style, self.width, per_tile)
        points = [grid.point(per_tile * tile, value) for tile, value in enumerate(values)]
        grid.line(*points, width=2, color=BLUE)
        for point in points:
            grid.disc(point, 5, BLUE)
        return grid

    def solve(self, operands: Operands, steps: Steps) -> int:
        (per_tile, *values), x = operands
        return steps.fact("y", values[x // per_tile])


class _Slope(Family):
    name, level = "slope", 3
    question = "What is the slope of the line?"
    has_choices = False

    def sample(self, rng: random.Random, level: int) -> Operands:
        last = HEIGHT * _steps_per_tile(level)
        left = rng.randint(0, last - 2)
        return left, rng.randint(0, last), rng.randint(left + 2, last), rng.randint(0, last)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        grid = _Grid(style, HEIGHT, _steps_per_tile(self.level))
        points = grid.point(*operands[:2]), grid.point(*operands[2:])
        grid.line(*points, width=3, color=BLUE)
        for point in points:
            grid.disc(point, 5, RED)
        return grid

    def solve(self, operands: Operands, steps: Steps) -> Fraction:
        x, y, right, end = operands
        rise, run = steps.fact(f"{end}-{y}", end - y), steps.fact(f"{right}-{x}", right - x)
        return steps.divide(rise, run)


def _sample_heights(rng: random.Random, level: int) -> tuple[int, ...]:
    """Steps of a tile, the value of a step, and the steps that each bar is high."""
    per_tile = _steps_per_tile(level)
    unit = 1 if level < 3 else rng.choice((1, 5))
    return per_tile, unit, *(rng.randint(1, HEIGHT * per_tile) for _ in BARS)


FAMILIES = _Bar(), _Difference(), _Coordinates(), _Graph(), _Slope()
