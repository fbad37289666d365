"""Points, lines, polygons and motions in a coordinate system."""

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import gcd

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Family, Operands, Solution, register, text_of
from reasonenv.envs.diagrams.scene import Scene


@register
class _Slope(Family):
    """A line through two marked points of a grid; its slope.

    Levels: whole slopes; fractions whose denominator is at most 4, 6, 9 and 14; from level 4 on a
    finer grid.
    """

    name = "slope"
    questions = (
        "What is the slope of the line?",
        "Find the gradient of the line through the two marked points.",
        "Calculate the slope of the straight line that is drawn.",
        "By how much does y grow along the line when x grows by 1?",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        limit, longest = ((5, 2), (5, 4), (5, 6), (8, 9), (8, 14))[level - 1]
        run = rng.randint((longest + 1) // 2, longest)
        rise = (
            rng.choice((-1, 1)) * (run if level == 1 else 1) * rng.randint(1, 4 * (level > 1) + 4)
        )
        left = rng.randint(-limit, limit - run)
        low = rng.randint(-limit - min(0, rise), limit - max(0, rise))
        return limit, (left, low), (left + run, low + rise)

    def draw(self, scene: Scene, operands: Operands) -> None:
        limit, a, b = operands
        axes = Axes(scene, (-limit, limit), (-limit, limit))
        axes.cross(step=1 if limit < 6 else 2)
        scene.line(axes.at(*a), axes.at(*b), color=scene.accent(), width=1.4)
        for point in (a, b):
            scene.dot(axes.at(*point), color=scene.accent())

    def solve(self, operands: Operands) -> Solution:
        _, a, b = operands
        rise, run = b[1] - a[1], b[0] - a[0]
        slope = Fraction(rise, run)
        text = f"From ({a[0]}, {a[1]}) to ({b[0]}, {b[1]}) x grows by {run} and y by {rise}: "
        return Solution(slope, f"{text}the slope is {rise}/{run} = {text_of(slope)}.")


def polygon_text(corners: Sequence[tuple[int, int]]) -> tuple[Fraction, str]:
    """The area of a polygon by the shoelace formula, with its terms."""
    pairs = list(zip(corners, (*corners[1:], corners[0]), strict=True))
    terms = [a[0] * b[1] - b[0] * a[1] for a, b in pairs]
    area = Fraction(abs(sum(terms)), 2)
    total = " + ".join(map(str, terms)).replace("+ -", "- ")
    return area, f"|{total}| / 2 = {text_of(area)}"


@register
class _LatticeArea(Family):
    """A polygon whose corners are points of a grid; its area.

    Levels: a rectangle or right triangle; a triangle; any triangle; a quadrilateral; a larger one.
    """

    name = "lattice_area"
    questions = (
        "What is the area of the polygon, in squares of the grid?",
        "Find the area of the colored shape. A square of the grid has area 1.",
        "How many square units is the area of the polygon?",
        "Each square of the grid is one unit of area. What area does the shape have?",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        size = (9, 9, 10, 10, 13)[level - 1]
        left, low = rng.randint(0, 3), rng.randint(0, 3)
        right, high = rng.randint(left + 3, size), rng.randint(low + 3, size)
        x, y = rng.randint(left, right), rng.randint(low, high)
        across, up = rng.randint(left + 1, right - 1), rng.randint(low + 1, high - 1)
        square = (left, low), (right, low), (right, high), (left, high)
        corners = (
            square[: rng.randint(3, 4)],
            ((left, low), (right, low), (x, high)),
            ((left, low), (right, y), (min(x, right - 1), high)),
            ((across, low), (right, y), (x, high), (left, up)),
            ((across, low), (right, y), (x, high), (left, up)),
        )[level - 1]
        return size, corners

    def draw(self, scene: Scene, operands: Operands) -> None:
        size, corners = operands
        axes = Axes(scene, (0, size), (0, size), corner=20 + 20j, size=408 + 408j)
        points = [axes.at(*corner) for corner in corners]
        scene.polygon(*points, fill=scene.tint(), width=0)
        axes.grid(range(size + 1), range(size + 1))
        scene.polygon(*points, width=1.3)
        for point in points:
            scene.dot(point)

    def solve(self, operands: Operands) -> Solution:
        _, corners = operands
        area, steps = polygon_text(corners)
        listed = ", ".join(map(str, corners))
        return Solution(area, f"Counted from the lower left, the corners are {listed}: {steps}.")


@register
class _Intersection(Family):
    """Two lines through marked points of a grid; where they meet.

    Levels: a point of the grid, for lines with whole slopes; with any slopes; a point up to 2, 5
    and 9 units beside the grid.
    """

    name = "intersection"
    questions = (
        "At which point (x, y) do the two lines intersect?",
        "Find the coordinates (x, y) of the point where both lines meet.",
        "Where do the straight lines cross? Give a pair (x, y).",
        "Give the point (x, y) that the two lines have in common.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        near, far = ((0, 3), (0, 3), (7, 8), (8, 11), (10, 15))[level - 1]
        x, y = rng.choice((-1, 1)) * rng.randint(near, far), rng.randint(-4, 4)
        steps = [(run, rise) for run in range(1, 2 if level == 1 else 5) for rise in range(-3, 4)]
        lines = []
        for run, rise in steps:
            points = [(x + k * run, y + k * rise) for k in range(-21, 22)]
            inside = [point for point in points if max(map(abs, point)) <= 6]
            if gcd(run, rise) == 1 and len(inside) > 1:
                lines.append((inside[0], inside[-1]))
        return tuple(rng.sample(lines, 2))

    def draw(self, scene: Scene, operands: Operands) -> None:
        axes = Axes(scene, (-6, 6), (-6, 6))
        axes.cross(step=2)
        for index, line in enumerate(operands):
            start, end = (axes.at(*point) for point in line)
            scene.line(start, end, color=scene.accent(index), width=1.4)
            scene.dot(start, scene.accent(index))
            scene.dot(end, scene.accent(index))

    def solve(self, operands: Operands) -> Solution:
        (first, _), (second, _) = operands
        slope, other = (Fraction(b[1] - a[1], b[0] - a[0]) for a, b in operands)
        rest, last = first[1] - slope * first[0], second[1] - other * second[0]
        x = (last - rest) / (slope - other)
        point = f"({text_of(x)}, {text_of(slope * x + rest)})"
        lines = f"y = {slope} x + ({rest}) and y = {other} x + ({last})"
        return Solution(point, f"The lines are {lines}. Both meet at {point}.")

    def canonical(self, operands: Operands) -> Operands:
        return tuple(sorted(operands))


_MOVES: dict[str, Callable[[int, int, int, int], tuple[int, int]]] = {
    "reflected in the x-axis": lambda x, y, a, b: (x, -y),
    "reflected in the y-axis": lambda x, y, a, b: (-x, y),
    "moved by the arrow": lambda x, y, a, b: (x + a, y + b),
    "rotated by 90° counterclockwise about the origin": lambda x, y, a, b: (-y, x),
    "rotated by 90° clockwise about the origin": lambda x, y, a, b: (y, -x),
    "rotated by 180° about the origin": lambda x, y, a, b: (-x, -y),
    "reflected in the line y = x": lambda x, y, a, b: (y, x),
    "reflected in the line y = -x": lambda x, y, a, b: (-y, -x),
    "reflected in the line x = 1": lambda x, y, a, b: (2 - x, y),
    "reflected in the line y = -1": lambda x, y, a, b: (x, -2 - y),
}


@register
class _Transformation(Family):
    """A triangle in a coordinate system and a motion; the image of a corner.

    Levels: reflections in an axis; a translation; rotations about the origin; reflections in other
    lines; two motions, one after the other.
    """

    name = "transformation"
    questions = (
        "The triangle is {0}. What are the coordinates (x, y) of the image of {1}?",
        "Where does {1} go when triangle ABC is {0}? Give a pair (x, y).",
        "Triangle ABC is {0}. At which point (x, y) is the image of {1}?",
        "Give the coordinates (x, y) of the image of {1} after the triangle has been {0}.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        names = list(_MOVES)
        pool = (names[:2], names[2:3], names[3:6], names[6:], names)[level - 1]
        moves = tuple(rng.sample(pool, 1 + (level == 5)))
        columns, rows = rng.sample(range(-5, 6), 3), rng.sample(range(-5, 6), 3)
        arrow = rng.choice((-4, -3, -2, 2, 3, 4)), rng.choice((-4, -3, -2, 2, 3, 4))
        return moves, rng.choice("ABC"), tuple(zip(columns, rows, strict=True)), arrow

    def words(self, operands: Operands) -> Operands:
        moves, corner, *_ = operands
        return " and then ".join(moves), corner

    def draw(self, scene: Scene, operands: Operands) -> None:
        moves, _, corners, arrow = operands
        axes = Axes(scene, (-6, 6), (-6, 6))
        axes.cross(step=2)
        points = [axes.at(*corner) for corner in corners]
        scene.polygon(*points, fill=scene.tint(), width=0)
        scene.polygon(*points, color=scene.accent(), width=1.2)
        if "moved by the arrow" in moves:
            tail = complex(scene.rng.randint(-5, 5), scene.rng.randint(-5, 5))
            tip = tail + complex(*arrow)
            scene.arrow(axes.at(tail.real, tail.imag), axes.at(tip.real, tip.imag), width=1.6)
        for name, point in zip("ABC", points, strict=True):
            scene.dot(point, scene.accent())
            scene.name(name, point, size=18, color=scene.accent())

    def solve(self, operands: Operands) -> Solution:
        moves, corner, corners, arrow = operands
        point = corners["ABC".index(corner)]
        steps = f"{corner} is at {point}."
        for move in moves:
            point = _MOVES[move](*point, *arrow)
            steps += f" When it is {move}, it goes to {point}."
        return Solution(str(point), steps)
