"""Fractions of shapes, and figures that are to become symmetric."""

import random
from fractions import Fraction

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Family, Operands, Solution, register
from reasonenv.envs.diagrams.scene import Scene, arc_points


@register
class _FractionOfShape(Family):
    """A shape in parts, some of them shaded; which fraction.

    Levels: a bar; a disc; a grid; two bars of one length with parts of two sizes; three bars.
    """

    name = "fraction_of_shape"
    questions = (
        "What fraction of the whole figure is shaded?",
        "Which fraction of the shape is colored? Give it in lowest terms.",
        "How much of the figure is shaded, as a fraction?",
        "Express the colored part of the figure as a fraction of the whole.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        kind = ("bars", "disc", "grid", "bars", "bars")[level - 1]
        low, high = ((5, 14), (5, 14), (3, 7), (2, 9), (2, 9))[level - 1]
        counts = [rng.randint(low, high) for _ in range((1, 1, rng.randint(3, 6), 2, 3)[level - 1])]
        rows = []
        for count in counts[:1] * len(counts) if kind == "grid" else counts:
            chosen = rng.sample(range(count), rng.randint(level < 3, count - 1))
            rows.append(tuple(int(part in chosen) for part in range(count)))
        return kind, tuple(rows)

    def draw(self, scene: Scene, operands: Operands) -> None:
        kind, rows = operands
        if kind == "disc":
            (parts,) = rows
            start, turn = scene.rng.randrange(360), 360 / len(parts)
            for place, is_shaded in enumerate(parts):
                arc = arc_points(scene.center, 180, start + place * turn, turn)
                scene.polygon(scene.center, *arc, fill=scene.accent() if is_shaded else None)
            return
        height = min(300 / len(rows), 90)
        top = scene.center.imag - height * len(rows) / 2
        for row, parts in enumerate(rows):
            width = 380 / len(parts) if kind == "bars" else 340 / max(len(parts), len(rows))
            left = scene.center.real - width * len(parts) / 2
            for place, is_shaded in enumerate(parts):
                corner = complex(left + place * width, top + row * height)
                fill = scene.accent() if is_shaded else None
                scene.rectangle(corner, complex(width, height), fill=fill)

    def solve(self, operands: Operands) -> Solution:
        kind, rows = operands
        if kind != "bars":
            shaded, parts = sum(map(sum, rows)), sum(map(len, rows))
            share = Fraction(shaded, parts)
            steps = f"{shaded} of {parts} equal parts are shaded: {shaded}/{parts}"
            return Solution(str(share), f"{steps} = {share}.")
        share = sum((Fraction(sum(parts), len(parts)) for parts in rows), Fraction(0)) / len(rows)
        terms = " + ".join(f"{sum(parts)}/{len(parts)}" for parts in rows)
        steps = f"The rows are equally large: ({terms}) / {len(rows)}"
        return Solution(str(share), f"{steps} = {share}.")

    def canonical(self, operands: Operands) -> Operands:
        kind, rows = operands
        parts = tuple(sorted((sum(parts), len(parts)) for parts in rows))
        return kind, parts if kind == "bars" else rows


@register
class _Symmetry(Family):
    """Colored squares of a grid and a dashed axis; how many more make it symmetric.

    Levels: a grid of 6, 8, 8, 8 and 10 squares a side; at level 3 the axis is a diagonal, at levels
    4 and 5 there are two axes.
    """

    name = "symmetry"
    questions = (
        "How many more squares must be colored to make the figure symmetric about the dashed {0}?",
        "At least how many squares are to be colored until the figure is symmetric about the "
        "dashed {0}?",
        "The dashed {0} should be a mirror. How many squares are missing?",
        "Complete the figure by mirroring it in the dashed {0}. How many squares are added?",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        size = (6, 8, 8, 8, 10)[level - 1]
        cells = [(x, y) for x in range(size) for y in range(size)]
        axis = rng.choice(("|", "-") if level < 3 else ("/", "\\") if level == 3 else ("+",))
        colored = set(rng.sample(cells, rng.randint(4, (14, 18, 20, 9, 12)[level - 1])))
        for cell in sorted(colored)[: rng.randint(0, 6)]:
            colored |= _orbit(cell, axis, size)
        return size, axis, tuple(sorted(colored))

    def words(self, operands: Operands) -> Operands:
        return ("lines" if operands[1] == "+" else "line",)

    def draw(self, scene: Scene, operands: Operands) -> None:
        size, axis, colored = operands
        axes = Axes(scene, (0, size), (0, size), 34 + 34j, 380 + 380j)
        side = 380 / size
        for x, y in colored:
            scene.rectangle(axes.at(x, y + 1), side + side * 1j, fill=scene.accent(), width=0)
        axes.grid(range(size + 1), range(size + 1))
        ends = {
            "|": ((0.5, 0), (0.5, 1)),
            "-": ((0, 0.5), (1, 0.5)),
            "/": ((0, 0), (1, 1)),
            "\\": ((0, 1), (1, 0)),
        }
        for way in "|-" if axis == "+" else axis:
            start, end = (axes.at(size * x, size * y) for x, y in ends[way])
            reach = 22 * (end - start) / abs(end - start)
            scene.line(start - reach, end + reach, width=1.6, is_dashed=True)

    def solve(self, operands: Operands) -> Solution:
        size, axis, colored = operands
        whole = set().union(*(_orbit(cell, axis, size) for cell in colored))
        missing = len(whole) - len(colored)
        steps = f"The symmetric figure has {len(whole)} squares, and {len(colored)} are colored"
        return Solution(missing, f"{steps}: {len(whole)} - {len(colored)} = {missing}.")


def _orbit(cell: tuple[int, int], axis: str, size: int) -> set[tuple[int, int]]:
    """A square and its mirror images."""
    x, y = cell
    last = size - 1
    images = {"|": (last - x, y), "-": (x, last - y), "/": (y, x), "\\": (last - y, last - x)}
    if axis != "+":
        return {cell, images[axis]}
    return {cell, images["|"], images["-"], (last - x, last - y)}
