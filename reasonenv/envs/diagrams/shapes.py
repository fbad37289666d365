"""Fractions of shapes, symmetric figures, and solids with their nets."""

import random
from fractions import Fraction
from itertools import product

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Exercise, family
from reasonenv.envs.diagrams.scene import Scene, arc_points


def _row(rng: random.Random, count: int, least: int) -> tuple[int, ...]:
    """Parts of a row, 1 where shaded: at least so many, and not all."""
    shaded = rng.sample(range(count), rng.randint(least, count - 1))
    return tuple(int(part in shaded) for part in range(count))


@family()
def fraction_of_shape(rng: random.Random, level: int) -> Exercise:
    """A disc or a bar in equal parts, or several bars, with shaded parts; which fraction."""
    kind = "disc" if level == 2 else "bars"
    low, high = ((5, 14), (5, 14), (3, 7), (2, 9), (2, 9))[level - 1]
    counts = [rng.randint(low, high) for _ in range((1, 1, rng.randint(3, 6), 2, 3)[level - 1])]
    counts = counts[:1] * len(counts) if level == 3 else counts
    rows: list[tuple[int, ...]] = []
    while not any(map(sum, rows)):
        rows = [_row(rng, count, level < 3) for count in counts]
    share = sum((Fraction(sum(row), len(row)) for row in rows), Fraction(0)) / len(rows)

    def draw_disc(scene: Scene) -> None:
        start, turn = scene.rng.randrange(360), 360 / len(rows[0])
        for place, is_shaded in enumerate(rows[0]):
            arc = arc_points(scene.center, 180, start + place * turn, turn)
            scene.polygon(scene.center, *arc, fill=scene.accent() if is_shaded else None)

    def draw_bars(scene: Scene) -> None:
        height = min(300 / len(rows), 90)
        for y, row in enumerate(rows):
            size = complex(380 / len(row), height)
            for x, is_shaded in enumerate(row):
                corner = complex(34 + x * size.real, 224 + (y - len(rows) / 2) * height)
                scene.rectangle(corner, size, fill=scene.accent() if is_shaded else None)

    terms = " + ".join(f"{sum(row)}/{len(row)}" for row in rows)
    whole = f"({terms}) / {len(rows)}" if rows[1:] else terms
    steps = f"Each row is as large as the others. The shaded part is {whole} = {share}."
    key = kind, sorted((sum(row), len(row)) for row in rows)
    draw = draw_disc if kind == "disc" else draw_bars
    return Exercise((kind, tuple(rows)), str(share), steps, draw, key=key)


_AXES = {"|": (0.5, 0, 0.5, 1), "-": (0, 0.5, 1, 0.5), "/": (0, 0, 1, 1), "\\": (0, 1, 1, 0)}
"""Ends of the axes of a square with sides of 1."""


def _images(cell: tuple[int, int], axes: str, last: int) -> set[tuple[int, int]]:
    """A square of a grid with its mirror images."""
    cells = {cell}
    for axis in axes:
        for x, y in list(cells):
            images = {"|": (last - x, y), "-": (x, last - y), "/": (y, x)}
            cells.add(images.get(axis, (last - y, last - x)))
    return cells


@family()
def symmetry(rng: random.Random, level: int) -> Exercise:
    """Colored squares of a grid and dashed axes; how many more make it symmetric."""
    size, most = ((6, 14), (8, 18), (8, 20), (8, 24), (10, 30))[level - 1]
    axes = rng.choice((("|", "-"), ("|", "-"), ("/", "\\"), ("|-",), ("|-",))[level - 1])
    cells = [(x, y) for x in range(size) for y in range(size)]
    colored = set(rng.sample(cells, rng.randint(4, most)))
    for cell in sorted(colored)[: rng.randint(0, 6)]:
        colored |= _images(cell, axes, size - 1)
    whole = set().union(*(_images(cell, axes, size - 1) for cell in colored))
    missing = len(whole) - len(colored)

    def draw(scene: Scene) -> None:
        grid = Axes(scene, (0, size), (0, size), 34 + 34j, 380 + 380j)
        for x, y in sorted(colored):
            grid.bar((x, y), (x + 1, y + 1), fill=scene.accent(), width=0)
        grid.grid(range(size + 1), range(size + 1))
        for axis in axes:
            x, y, end_x, end_y = (size * share for share in _AXES[axis])
            start, end = grid.at(x, y), grid.at(end_x, end_y)
            reach = 22 * (end - start) / abs(end - start)
            scene.line(start - reach, end + reach, width=1.6, is_dashed=True)

    whole_text = f"The symmetric figure has {len(whole)} squares, and {len(colored)} are colored"
    steps = f"{whole_text}: {len(whole)} - {len(colored)} = {missing}."
    words = ("lines" if level > 3 else "line",)
    return Exercise((size, axes, tuple(sorted(colored))), missing, steps, draw, words)


_LEFT, _RIGHT, _UP = complex(-0.87, -0.5), complex(0.87, -0.5), -1j
"""Ways along the edges of a cube from its nearest corner."""


def _draw_box(scene: Scene, corner: complex, left: complex, right: complex, up: complex) -> None:
    """The visible faces of a box from its nearest corner."""
    scene.polygon(corner, corner + left, corner + left + up, corner + up, fill=scene.tint(0))
    scene.polygon(corner, corner + right, corner + right + up, corner + up, fill=scene.tint(1))
    top = corner + up
    scene.polygon(top, top + left, top + left + right, top + right, fill=scene.tint(2))


@family()
def cube_stack(rng: random.Random, level: int) -> Exercise:
    """A stack of cubes in a corner, none of which is hidden behind a higher one; how many."""
    rows, columns, layers = ((2, 3, 4), (3, 3, 4), (3, 4, 4), (4, 4, 5), (5, 5, 5))[level - 1]
    heights = [[layers] * columns for _ in range(rows)]
    for row, column in product(range(rows), range(columns)):
        bounds = heights[max(row - 1, 0)][column], heights[row][max(column - 1, 0)]
        heights[row][column] = max(0, min(bounds) - rng.choice((0, 0, 0, 1, 1, 2)))

    def draw(scene: Scene) -> None:
        size = 410 / max(0.87 * (rows + columns), (rows + columns) / 2 + heights[0][0])
        left, right, up = size * _LEFT, size * _RIGHT, size * _UP
        back = scene.center + (rows * right + columns * left - heights[0][0] * up) / 2
        for row, column in product(range(rows), range(columns)):
            front = back - (row + 1) * right - (column + 1) * left
            for layer in range(heights[row][column]):
                _draw_box(scene, front + layer * up, left, right, up)

    counts = [height for row in heights for height in row if height]
    steps = f"Count column by column: {' + '.join(map(str, counts))} = {sum(counts)}."
    return Exercise(tuple(map(tuple, heights)), sum(counts), steps, draw)


@family()
def cuboid(rng: random.Random, level: int) -> Exercise:
    """A box, or its net at level 5; its volume, surface or the length of all edges."""
    largest = (9, 9, 12, 20, 12)[level - 1]
    a, b, c = (rng.randint(largest // 3, largest) for _ in range(3))
    surface = 2 * (a * b + a * c + b * c)
    measures = (
        ("volume", a * b * c, f"{a} * {b} * {c}"),
        ("total length of all edges", 4 * (a + b + c), f"4 * ({a} + {b} + {c})"),
        ("surface area", surface, f"2 * ({a} * {b} + {a} * {c} + {b} * {c})"),
    )
    measure, answer, term = rng.choice(measures[level == 4 and 2 : min(level, 3)])

    def draw(scene: Scene) -> None:
        scale = 300 / (max(a, b) + c)
        left, right, up = scale * a * _LEFT, scale * b * _RIGHT, scale * c * _UP
        corner = scene.center - (left + right + up) / 2
        _draw_box(scene, corner, left, right, up)
        scene.side(corner, corner + left, str(a), corner + up)
        scene.side(corner, corner + right, str(b), corner + up)
        scene.side(corner + right, corner + right + up, str(c), corner)

    def draw_net(scene: Scene) -> None:
        xs, ys = (0, c, c + a, 2 * c + a, 2 * c + 2 * a), (0, c, c + b, 2 * c + b)
        faces = (0, 1), (1, 1), (2, 1), (3, 1), (1, 0), (1, 2)
        steps = (0, 0), (1, 0), (1, 1), (0, 1)
        points = [complex(xs[x + i], ys[y + j]) for x, y in faces for i, j in steps]
        places = scene.fit(points, 40, is_turned=False)
        for place in range(0, 24, 4):
            scene.polygon(*places[place : place + 4], fill=scene.tint())
        scene.side(places[16], places[17], str(a), places[18])
        scene.side(places[17], places[18], str(c), places[16])
        scene.side(places[0], places[3], str(b), places[1])

    steps = f"The edges are {a}, {b} and {c} long. The {measure} is {term} = {answer}."
    key, pen = (measure, sorted((a, b, c))), draw_net if level == 5 else draw
    return Exercise((measure, a, b, c), answer, steps, pen, (measure,), key)
