"""Things to be counted: dots, boxes, pips, shapes."""

import random
from fractions import Fraction

from reasonenv.envs.figures.canvas import BLUE, GREEN, RED, TILE, Canvas, Color, Style, middle
from reasonenv.envs.figures.family import Family, Operands
from reasonenv.envs.figures_v0.steps import Steps


class Dots(Family):
    """Dots in some of the places of a row, of two rows at level 3."""

    name, level = "dots", 2
    question = "How many dots are there?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        return sample_places(rng, 8, level - 1, rng.randint(1, 8))

    def draw(self, operands: Operands, style: Style) -> Canvas:
        columns, rows, places = operands
        canvas = Canvas(columns, rows, style)
        for place in places:
            canvas.disc(middle(place % columns, place // columns), 9)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        return steps.read("dots", len(operands[2]))


class Fractions(Family):
    """A row of boxes, two rows at level 3, some of which are shaded."""

    name, level = "fraction", 2
    question = "Which fraction of the boxes is shaded?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        columns, rows = rng.randint(3, 6), level - 1
        return sample_places(rng, columns, rows, rng.randint(1, columns * rows - 1))

    def draw(self, operands: Operands, style: Style) -> Canvas:
        columns, rows, places = operands
        canvas = Canvas(columns, rows, style)
        for place in range(columns * rows):
            x, y = place % columns * TILE, place // columns * TILE
            shade = BLUE if place in places else None
            canvas.box((x + 3, y + 3), (x + TILE - 4, y + TILE - 4), fill=shade)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> Fraction:
        columns, rows, places = operands
        return steps.divide(steps.read("shaded", len(places)), columns * rows)


class Dice(Family):
    """Two or three dice seen from above."""

    name, level = "dice", 2
    question = "How many pips are there on the dice?"
    is_commutative = True

    def sample(self, rng: random.Random, level: int) -> Operands:
        return tuple(rng.randint(1, 6) for _ in range(rng.choice((2, 3))))

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = Canvas(2 * len(operands), 2, style)
        for die, number in enumerate(operands):
            left = 2 * TILE * die
            canvas.box((left + 4, 4), (left + 51, 51))
            for column, row in PIPS[number]:
                canvas.disc((left + 14 * column, 14 * row), 4)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        return steps.add(*operands)


class Shapes(Family):
    """A table of circles, squares and triangles in three colors; one kind is asked for."""

    name, level = "shapes", 3

    def sample(self, rng: random.Random, level: int) -> Operands:
        kinds = [(shape, color) for shape in SHAPES for color in COLORS]
        target = rng.choice(kinds)
        others = rng.sample([kind for kind in kinds if kind != target], 3)
        count = rng.randint(1, 6)
        table = [target] * count + rng.choices(others, k=12 - count)
        rng.shuffle(table)
        return target, tuple(table)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = Canvas(4, 3, style)
        for place, (shape, color) in enumerate(operands[1]):
            draw_shape(canvas, shape, middle(place % 4, place // 4), COLORS[color])
        return canvas

    def ask(self, operands: Operands) -> str:
        shape, color = operands[0]
        return f"How many {color} {shape}s are there?"

    def solve(self, operands: Operands, steps: Steps) -> int:
        target, table = operands
        return steps.add(*(table[start : start + 4].count(target) for start in (0, 4, 8)))


SHAPES = ("circle", "square", "triangle")
COLORS: dict[str, Color] = {"red": RED, "green": GREEN, "blue": BLUE}

DIAGONAL = ((1, 3), (3, 1))
CORNERS = ((1, 1), (3, 3), *DIAGONAL)
PIPS = {
    1: ((2, 2),),
    2: DIAGONAL,
    3: (*DIAGONAL, (2, 2)),
    4: CORNERS,
    5: (*CORNERS, (2, 2)),
    6: (*CORNERS, (1, 2), (3, 2)),
}
"""The places of a die's pips, in columns and rows of half a tile."""


def sample_places(rng: random.Random, columns: int, rows: int, count: int) -> Operands:
    """A table's columns and rows, and the places chosen in it, counted row by row."""
    return columns, rows, tuple(sorted(rng.sample(range(columns * rows), count)))


def draw_shape(canvas: Canvas, shape: str, center: tuple[float, float], color: Color) -> None:
    """A filled circle, square or triangle."""
    x, y = center
    if shape == "circle":
        canvas.disc(center, 9, color)
    elif shape == "square":
        canvas.polygon((x - 8, y - 8), (x + 8, y - 8), (x + 8, y + 8), (x - 8, y + 8), color=color)
    else:
        canvas.polygon((x - 10, y + 8), (x + 10, y + 8), (x, y - 10), color=color)
