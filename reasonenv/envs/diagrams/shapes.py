"""Fractions of shapes, and figures that are to become symmetric."""

import random
from fractions import Fraction

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Exercise, family
from reasonenv.envs.diagrams.scene import Scene, arc_points


@family()
def fraction_of_shape(rng: random.Random, level: int) -> Exercise:
    """A disc or a bar in equal parts, or several bars, with shaded parts; which fraction."""
    kind = "disc" if level == 2 else "bars"
    low, high = ((5, 14), (5, 14), (3, 7), (2, 9), (2, 9))[level - 1]
    counts = [rng.randint(low, high) for _ in range((1, 1, rng.randint(3, 6), 2, 3)[level - 1])]
    rows = []
    for count in counts[:1] * len(counts) if level == 3 else counts:
        chosen = rng.sample(range(count), rng.randint(level < 3, count - 1))
        rows.append(tuple(int(part in chosen) for part in range(count)))
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
        side = 380 / size
        for x, y in sorted(colored):
            scene.rectangle(grid.at(x, y + 1), side + side * 1j, fill=scene.accent(), width=0)
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
