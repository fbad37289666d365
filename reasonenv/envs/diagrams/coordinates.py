"""Points, lines and motions in a coordinate system."""

import random
from fractions import Fraction
from math import gcd

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Exercise, family, text_of
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
    chosen = sorted(rng.sample(list(lines), 2))

    def draw(scene: Scene) -> None:
        axes = Axes(scene, (-6, 6), (-6, 6))
        axes.cross(step=2)
        for index, line in enumerate(chosen):
            ends = [axes.at(*point) for point in line]
            scene.line(*ends, color=scene.accent(index), width=1.4)
            for end in ends:
                scene.dot(end, scene.accent(index))

    equations = (f"y = {lines[line]} x + ({y - lines[line] * x})" for line in chosen)
    steps = f"The lines are {' and '.join(equations)}. Both meet at ({x}, {y})."
    return Exercise(tuple(chosen), f"({x}, {y})", steps, draw)


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
    columns, rows = rng.sample(range(-5, 6), 3), rng.sample(range(-5, 6), 3)
    corners, asked = tuple(zip(columns, rows, strict=True)), rng.randrange(3)
    x, y = corners[asked]
    steps = f"{'ABC'[asked]} is at ({x}, {y})."
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

    words = " and then ".join(motions), "ABC"[asked]
    return Exercise((motions, asked, corners), f"({x}, {y})", steps, draw, words)
