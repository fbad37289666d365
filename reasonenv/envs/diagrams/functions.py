"""Graphs of functions."""

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Exercise, family, text_of
from reasonenv.envs.diagrams.scene import Scene, linear


def _draw_curve(scene: Scene, function: Callable[[Fraction], Any], limit: int) -> None:
    """The graph of a function, as far as it lies within axes from -limit to limit."""
    axes = Axes(scene, (-limit, limit), (-limit, limit))
    axes.cross(step=2)
    xs = (Fraction(x, 16) for x in range(-16 * limit, 16 * limit + 1))
    points = [(float(x), float(function(x))) for x in xs]
    inside = [axes.at(x, y) for x, y in points if abs(y) <= limit]
    scene.line(*inside, color=scene.accent(), width=1.4)


_ASKED: dict[str, Callable[[list[int]], int]] = {
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
    asked = rng.choice(list(_ASKED)[first:last])
    roots = sorted(rng.sample([x for x in range(-7, 8) if x], 2 + (level > 3)))
    answer = _ASKED[asked](roots)

    def draw(scene: Scene) -> None:
        xs = [Fraction(x, 4) for x in range(4 * roots[0], 4 * roots[-1])]
        highest = max(abs(prod(x - root for root in roots)) for x in xs)
        factor = scene.rng.choice((-1, 1)) * Fraction(scene.rng.randint(15, 28), 4) / highest
        _draw_curve(scene, lambda x: factor * prod(x - root for root in roots), 8)

    steps = f"The zeros are {', '.join(map(str, roots))}, so {asked} is {answer}."
    return Exercise((asked, tuple(roots)), answer, steps, draw, (asked,))


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
    shift, rest = rng.randint(-4, 4), rng.randint(-5, 5)
    if kind == "line":
        shift, factor = 0, Fraction(rng.choice((-3, -2, -1, 1, 2, 3)), rng.randint(1, level))
    inner = linear(1, -shift, "-")
    square = f"({inner})²" if shift else "x²"
    term = {"line": "x", "square": square, "absolute": f"|{inner}|"}[kind]
    scale = f"({factor})" if factor.denominator > 1 else str(factor)
    scale = scale.replace("1", "") if abs(factor) == 1 else scale
    tail = f" {'+' if rest > 0 else '-'} {abs(rest)}" if rest else ""
    answer = f"y = {scale}{term}{tail}"

    def draw(scene: Scene) -> None:
        power = {"line": lambda x: x, "square": lambda x: x * x, "absolute": abs}[kind]
        _draw_curve(scene, lambda x: factor * power(x - shift) + rest, 7)

    values = f"At x = {shift} its value is {rest}, and one to the right it is {factor + rest}"
    return Exercise((kind, factor, shift, rest), answer, f"{values}: {answer}.", draw)
