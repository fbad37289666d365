"""Points, lines, motions and graphs of functions in a coordinate system."""

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import gcd, prod
from typing import Any

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Exercise, family, linear, text_of
from reasonenv.envs.diagrams.scene import Scene


@family()
def slope(rng: random.Random, level: int) -> Exercise:
    """A line through two marked points of a grid; its slope."""
    limit, longest = ((5, 2), (5, 4), (5, 6), (8, 9), (8, 14))[level - 1]
    run = rng.randint((longest + 1) // 2, longest)
    rise = rng.choice((-1, 1)) * (run * rng.randint(1, 4) if level == 1 else rng.randint(1, 8))
    x = rng.randint(-limit, limit - run)
    y = rng.randint(-limit - min(0, rise), limit - max(0, rise))
    a, b, answer = (x, y), (x + run, y + rise), Fraction(rise, run)

    def draw(scene: Scene) -> None:
        axes = Axes(scene, (-limit, limit), (-limit, limit))
        axes.cross(step=1 if limit < 6 else 2)
        scene.line(axes.at(*a), axes.at(*b), color=scene.accent(), width=1.4)
        for point in (a, b):
            scene.dot(axes.at(*point), scene.accent())

    way = f"From {a} to {b} x grows by {run} and y by {rise}"
    steps = f"{way}: the slope is {rise}/{run} = {text_of(answer)}."
    return Exercise((limit, a, b), answer, steps, draw)


@family()
def intersection(rng: random.Random, level: int) -> Exercise:
    """Two lines through marked points of a grid; where they meet."""
    near, far = ((0, 3), (0, 3), (7, 8), (8, 11), (10, 15))[level - 1]
    x, y = rng.choice((-1, 1)) * rng.randint(near, far), rng.randint(-4, 4)
    lines = {}
    for run in range(1, 2 if level == 1 else 5):
        for rise in (rise for rise in range(-3, 4) if gcd(run, rise) == 1):
            points = [(x + k * run, y + k * rise) for k in range(-21, 22)]
            inside = [point for point in points if max(map(abs, point)) <= 6]
            if len(inside) > 1:
                lines[inside[0], inside[-1]] = Fraction(rise, run)
    pair = sorted(rng.sample(list(lines), 2))

    def draw(scene: Scene) -> None:
        axes = Axes(scene, (-6, 6), (-6, 6))
        axes.cross(step=2)
        for index, line in enumerate(pair):
            ends = [axes.at(*point) for point in line]
            scene.line(*ends, color=scene.accent(index), width=1.4)
            for end in ends:
                scene.dot(end, scene.accent(index))

    equations = (f"y = {lines[line]} x + ({y - lines[line] * x})" for line in pair)
    steps = f"The lines are {' and '.join(equations)}. Both meet at ({x}, {y})."
    return Exercise(tuple(pair), f"({x}, {y})", steps, draw)


_MOTIONS = {
    "reflected in the x-axis": (1, 0, 0, 0, -1, 0),
    "reflected in the y-axis": (-1, 0, 0, 0, 1, 0),
    "rotated by 90° counterclockwise about the origin": (0, -1, 0, 1, 0, 0),
    "rotated by 90° clockwise about the origin": (0, 1, 0, -1, 0, 0),
    "rotated by 180° about the origin": (-1, 0, 0, 0, -1, 0),
    "reflected in the line y = x": (0, 1, 0, 1, 0, 0),
    "reflected in the line y = -x": (0, -1, 0, -1, 0, 0),
    "reflected in the line x = 1": (-1, 0, 2, 0, 1, 0),
    "reflected in the line y = -1": (1, 0, 0, 0, -1, -2),
}
"""Motions: x becomes the sum of the first three numbers times x, y and 1, y that of the others."""


@family()
def transformation(rng: random.Random, level: int) -> Exercise:
    """A triangle in a coordinate system and motions; the image of a corner."""
    first, last = ((0, 2), (0, 5), (2, 5), (5, 9), (0, 9))[level - 1]
    motions = tuple(rng.sample(list(_MOTIONS)[first:last], 1 + (level == 5)))
    columns = rows = [0, 0, 0]
    while _are_on_a_line(columns, rows):
        columns, rows = rng.sample(range(-5, 6), 3), rng.sample(range(-5, 6), 3)
    corners, corner = tuple(zip(columns, rows, strict=True)), rng.randrange(3)
    x, y = corners[corner]
    steps = f"{'ABC'[corner]} is at ({x}, {y})."
    for motion in motions:
        a, b, c, d, e, f = _MOTIONS[motion]
        x, y = a * x + b * y + c, d * x + e * y + f
        steps += f" When it is {motion}, it goes to ({x}, {y})."

    def draw(scene: Scene) -> None:
        axes = Axes(scene, (-6, 6), (-6, 6))
        axes.cross(step=2)
        points = [axes.at(*corner) for corner in corners]
        scene.polygon(*points, fill=scene.tint(), width=0)
        scene.polygon(*points, color=scene.accent(), width=1.2)
        for name, point in zip("ABC", points, strict=True):
            scene.dot(point, scene.accent())
            scene.name(name, point, size=18, color=scene.accent())

    words = " and then ".join(motions), "ABC"[corner]
    return Exercise((motions, corner, corners), f"({x}, {y})", steps, draw, words)


def _gaps(numbers: Sequence[int]) -> list[int]:
    return [after - before for before, after in pairwise(numbers)]


def _are_on_a_line(columns: Sequence[int], rows: Sequence[int]) -> bool:
    """True for three points of a line, by their coordinates."""
    (a, b, c), (d, e, f) = columns, rows
    return (b - a) * (f - d) == (e - d) * (c - a)


def _draw_curve(scene: Scene, function: Callable[[Fraction], Any], limit: int) -> None:
    """The graph of a function, as far as it lies within axes from -limit to limit."""
    axes = Axes(scene, (-limit, limit), (-limit, limit))
    axes.cross(step=2)
    xs = (Fraction(x, 16) for x in range(-16 * limit, 16 * limit + 1))
    points = [(float(x), float(function(x))) for x in xs]
    inside = [axes.at(x, y) for x, y in points if abs(y) <= limit]
    scene.line(*inside, color=scene.accent(), width=1.4)


_QUANTITIES: dict[str, Callable[[list[int]], int]] = {
    "the larger zero": max,
    "the smaller zero": min,
    "the sum of all zeros": sum,
    "the product of all zeros": prod,
    "the sum of the squares of all zeros": lambda zeros: sum(zero**2 for zero in zeros),
}


@family()
def zeros(rng: random.Random, level: int) -> Exercise:
    """The graph of a polynomial; its zeros."""
    first, last = ((0, 2), (0, 3), (0, 4), (2, 4), (3, 5))[level - 1]
    quantity = rng.choice(list(_QUANTITIES)[first:last])
    roots = [-7, 6, 7]
    # The curve between close roots is too low to be seen beside one that is far away.
    while len(roots) == 3 and roots[2] - roots[0] > 10 and min(_gaps(roots)) == 1:
        roots = sorted(rng.sample([x for x in range(-7, 8) if x], 2 + (level > 3)))
    answer = _QUANTITIES[quantity](roots)

    def draw(scene: Scene) -> None:
        xs = [Fraction(x, 4) for x in range(4 * roots[0], 4 * roots[-1])]
        highest = max(abs(prod(x - root for root in roots)) for x in xs)
        factor = scene.rng.choice((-1, 1)) * Fraction(scene.rng.randint(15, 28), 4) / highest
        _draw_curve(scene, lambda x: factor * prod(x - root for root in roots), 8)

    steps = f"The zeros are {', '.join(map(str, roots))}, so {quantity} is {answer}."
    return Exercise((quantity, tuple(roots)), answer, steps, draw, (quantity,))


@family()
def area_under(rng: random.Random, level: int) -> Exercise:
    """A graph of straight pieces; the area between it and the x-axis."""
    x, nodes = rng.randint(0, 2), []
    for _ in range((2, 3, 3, 4, 5)[level - 1]):
        nodes.append((x, rng.randint(0 if nodes else 1, 9)))
        x += rng.randint(1, (4, 4, 5, 3, 2)[level - 1])
    pieces = [(b[0] - a[0], a[1], b[1]) for a, b in pairwise(nodes)]
    area = sum((Fraction(width * (y + z), 2) for width, y, z in pieces), Fraction(0))

    def draw(scene: Scene) -> None:
        axes = Axes(scene, (0, 13), (0, 10), size=378 + 368j)
        points = [axes.at(*node) for node in nodes]
        feet = [axes.at(node[0], 0) for node in (nodes[-1], nodes[0])]
        scene.polygon(*points, *feet, fill=scene.tint(), width=0)
        axes.cross()
        scene.line(*points, color=scene.accent(), width=1.5)
        for foot, point in zip(feet, (points[-1], points[0]), strict=True):
            scene.line(foot, point, width=0.7, is_dashed=True, is_ground=True)

    terms = " + ".join(f"{width} * ({y} + {z}) / 2" for width, y, z in pieces)
    steps = f"Add trapezoids up, from corner to corner: {terms} = {text_of(area)}."
    return Exercise(tuple(nodes), area, steps, draw)


@family(needs_options=True)
def formula(rng: random.Random, level: int) -> Exercise:
    """The graph of a function; which of four formulas it has."""
    kind = ("line", "line", "square", "square", rng.choice(("square", "absolute")))[level - 1]
    factor = Fraction(rng.choice((-1, 1)) if level > 3 else 1)
    # A vertex so low that much of a parabola that opens up is in the picture.
    shift, rest = rng.randint(-4, 4), int(factor) * rng.randint(-5, 3)
    if kind == "line":
        shift, rest = 0, rng.randint(-5, 5)
        factor = Fraction(rng.choice((-3, -2, -1, 1, 2, 3)), rng.randint(1, level))
    inner = linear(1, -shift)
    square = f"({inner})²" if shift else "x²"
    term = {"line": "x", "square": square, "absolute": f"|{inner}|"}[kind]
    answer = f"y = {linear(factor, rest, term)}"

    def draw(scene: Scene) -> None:
        power = {"line": lambda x: x, "square": lambda x: x * x, "absolute": abs}[kind]
        _draw_curve(scene, lambda x: factor * power(x - shift) + rest, 7)

    values = f"At x = {shift} its value is {rest}, and one to the right it is {factor + rest}"
    return Exercise((kind, factor, shift, rest), answer, f"{values}: {answer}.", draw)
