"""Things to be counted: dots, boxes, pips, shapes."""

import random
from collections.abc import Sequence
from fractions import Fraction

from reasonenv.envs.figures.canvas import BLUE, GREEN, RED, TILE, Canvas, Color, Style, middle
from reasonenv.envs.figures.family import Family, Operands, Steps


class _Dots(Family):
    name, level = "dots", 2
    question = "How many dots are there?"

    def sample(self, rng: random.Random, level: int) -> Operands:
        return _sample_places(rng, 6, 2 if level < 3 else 3)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        columns, rows, places = operands
        canvas = Canvas(columns, rows, style)
        for place in places:
            canvas.disc(middle(place % columns, place // columns), 9)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        return _add_rows(operands, steps)


class _Fractions(Family):
    name, level = "fraction", 2
    question = "Which fraction of the boxes is shaded?"
    has_choices = False

    def sample(self, rng: random.Random, level: int) -> Operands:
        return _sample_places(rng, rng.randint(3, 6), 2 if level < 3 else 3)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        columns, rows, places = operands
        canvas = Canvas(columns, rows, style)
        for place in range(columns * rows):
            x, y = place % columns * TILE, place // columns * TILE
            shade = BLUE if place in places else None
            canvas.box((x + 3, y + 3), (x + TILE - 4, y + TILE - 4), fill=shade)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> Fraction:
        columns, rows, _ = operands
        return steps.divide(_add_rows(operands, steps), columns * rows)


class _Dice(Family):
    name, level = "dice", 2
    question = "How many pips are there on the dice?"
    is_commutative = True

    def sample(self, rng: random.Random, level: int) -> Operands:
        return tuple(rng.randint(1, 6) for _ in range(rng.randint(3, 7)))

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = Canvas(len(operands), 1, style)
        for die, number in enumerate(operands):
            left = TILE * die
            canvas.box((left + 2, 2), (left + 25, 25))
            for column, row in _PIPS[number]:
                canvas.disc((left + 14 + 7 * column, 14 + 7 * row), 2.5)
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        return _add(operands, steps)


class _Shapes(Family):
    name, level = "shapes", 3

    def sample(self, rng: random.Random, level: int) -> Operands:
        kinds = [(shape, color) for shape in _SHAPES for color in _COLORS]
        target = rng.choice(kinds)
        others = rng.sample([kind for kind in kinds if kind != target], 3)
        count = rng.randint(1, 6)
        table = [target] * count + rng.choices(others, k=12 - count)
        rng.shuffle(table)
        return target, tuple(table)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = Canvas(4, 3, style)
        for place, (shape, color) in enumerate(operands[1]):
            _draw_shape(canvas, shape, middle(place % 4, place // 4), _COLORS[color])
        return canvas

    def ask(self, operands: Operands) -> str:
        shape, color = operands[0]
        return f"How many {color} {shape}s are there?"

    def solve(self, operands: Operands, steps: Steps) -> int:
        target, table = operands
        places = tuple(place for place, kind in enumerate(table) if kind == target)
        return _add_rows((4, 3, places), steps)


_SHAPES = ("circle", "square", "triangle")
_COLORS: dict[str, Color] = {"red": RED, "green": GREEN, "blue": BLUE}

_DIAGONAL = ((-1, 1), (1, -1))
_CORNERS = ((-1, -1), (1, 1), *_DIAGONAL)
_PIPS = {
    1: ((0, 0),),
    2: _DIAGONAL,
    3: (*_DIAGONAL, (0, 0)),
    4: _CORNERS,
    5: (*_CORNERS, (0, 0)),
    6: (*_CORNERS, (-1, 0), (1, 0)),
}
"""Places of a die's pips, in columns and rows from its middle."""


def _sample_places(rng: random.Random, columns: int, rows: int) -> Operands:
    """A table's columns and rows, and the places chosen in it, counted row by row."""
    count = rng.randint(1, columns * rows - 1)
    return columns, rows, tuple(sorted(rng.sample(range(columns * rows), count)))


def _add_rows(operands: Operands, steps: Steps) -> int:
    """The number of chosen places, counted row by row and added."""
    columns, rows, places = operands
    counts = [sum(place // columns == row for place in places) for row in range(rows)]
    return _add([steps.fact(f"row{row}", count) for row, count in enumerate(counts, 1)], steps)


def _add(numbers: Sequence[int], steps: Steps) -> int:
    total, *others = numbers
    for number in others:
        total = steps.fact(f"{total}+{number}", total + number)
    return total


def _draw_shape(canvas: Canvas, shape: str, center: tuple[float, float], color: Color) -> None:
    x, y = center
    if shape == "circle":
        canvas.disc(center, 9, color)
    elif shape == "square":
        canvas.polygon((x - 8, y - 8), (x + 8, y - 8), (x + 8, y + 8), (x - 8, y + 8), color=color)
    else:
        canvas.polygon((x - 10, y + 8), (x + 10, y + 8), (x, y - 10), color=color)


FAMILIES = _Dots(), _Fractions(), _Dice(), _Shapes()
