"""Graphs of functions."""

import random
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Family, Operands, Solution, register, text_of
from reasonenv.envs.diagrams.scene import Scene, linear


def curve(axes: Axes, values: list[tuple[float, float]], **look: Any) -> None:
    """A curve through points, as far as it is within the axes."""
    inside = [axes.at(x, y) for x, y in values if axes.y[0] <= y <= axes.y[1]]
    axes.scene.line(*inside, **look)


@register
class _Zeros(Family):
    """The graph of a polynomial; its zeros.

    Levels: the larger or smaller zero of a parabola; also the sum; also the product; the sum or
    product of three zeros; their product or the sum of their squares.
    """

    name = "zeros"
    questions = (
        "The graph shows a function with whole zeros. What is {0}?",
        "All zeros of this function are whole numbers. Find {0}.",
        "Read off the zeros, which are whole numbers, and give {0}.",
        "The curve crosses the x-axis at whole numbers only. Work out {0}.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        first, last = ((0, 2), (0, 3), (0, 4), (2, 4), (3, 5))[level - 1]
        asked = rng.choice(list(_ASKED)[first:last])
        count = 2 + (level > 3)
        return asked, tuple(sorted(rng.sample([x for x in range(-7, 8) if x], count)))

    def words(self, operands: Operands) -> Operands:
        return operands[:1]

    def draw(self, scene: Scene, operands: Operands) -> None:
        _, zeros = operands
        axes = Axes(scene, (-8, 8), (-6, 6))
        axes.cross(step=2)
        xs = [x / 16 for x in range(-128, 129)]
        heights = [prod(x - zero for zero in zeros) for x in xs]
        highest = max(abs(y) for x, y in zip(xs, heights, strict=True) if zeros[0] < x < zeros[-1])
        factor = scene.rng.choice((-1, 1)) * scene.rng.uniform(3, 5.5) / highest
        values = [(x, factor * y) for x, y in zip(xs, heights, strict=True)]
        curve(axes, values, color=scene.accent(), width=1.4)

    def solve(self, operands: Operands) -> Solution:
        asked, zeros = operands
        value = _ASKED[asked](zeros)
        listed = ", ".join(map(str, zeros))
        return Solution(value, f"The zeros are {listed}, so {asked} is {value}.")


_ASKED = {
    "the larger zero": max,
    "the smaller zero": min,
    "the sum of all zeros": sum,
    "the product of all zeros": prod,
    "the sum of the squares of all zeros": lambda zeros: sum(zero**2 for zero in zeros),
}


@register
class _AreaUnder(Family):
    """A graph of straight pieces; the area between it and the x-axis.

    Levels: 1, 2, 2, 3 and 4 pieces; wider ones from level 3 on.
    """

    name = "area_under"
    questions = (
        "What is the shaded area between the graph and the x-axis?",
        "Find the area under the graph, in square units.",
        "Calculate the integral of the function over the shaded interval.",
        "How large is the colored area below the graph?",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        x, nodes = rng.randint(0, 2), []
        for _ in range((2, 3, 3, 4, 5)[level - 1]):
            nodes.append((x, rng.randint(0 if nodes else 1, 9)))
            x += rng.randint(1, (4, 4, 5, 3, 2)[level - 1])
        return tuple(nodes)

    def draw(self, scene: Scene, operands: Operands) -> None:
        axes = Axes(scene, (0, 13), (0, 10), size=378 + 368j)
        points = [axes.at(*node) for node in operands]
        feet = [axes.at(node[0], 0) for node in (operands[-1], operands[0])]
        scene.polygon(*points, *feet, fill=scene.tint(), width=0)
        axes.cross(step=1)
        scene.line(*points, color=scene.accent(), width=1.5)
        for foot, point in zip(feet, (points[-1], points[0]), strict=True):
            scene.line(foot, point, width=0.7, is_dashed=True, is_ground=True)

    def solve(self, operands: Operands) -> Solution:
        pieces = [(b[0] - a[0], a[1], b[1]) for a, b in pairwise(operands)]
        area = sum((Fraction(width * (y + z), 2) for width, y, z in pieces), Fraction(0))
        terms = " + ".join(f"{width} * ({y} + {z}) / 2" for width, y, z in pieces)
        return Solution(area, f"Trapezoids between the marked points: {terms} = {text_of(area)}.")


@register
class _Formula(Family):
    """The graph of a function; which of four formulas it has.

    Levels: lines with whole slopes; with halves; parabolas that open up; that open up or down;
    parabolas, and graphs of absolute values.
    """

    name = "formula"
    questions = (
        "Which formula does the function have?",
        "Which of these equations has the graph in the figure?",
        "Choose the equation of the curve.",
        "What is the equation of this graph?",
    )
    needs_options = True

    def sample(self, rng: random.Random, level: int) -> Operands:
        kind = ("line", "line", "square", "square", rng.choice(("square", "absolute")))[level - 1]
        sign = -1 if level > 3 and rng.random() < 0.5 else 1
        if kind == "line":
            slope = Fraction(rng.choice((-3, -2, -1, 1, 2, 3)), rng.randint(1, level))
            return kind, slope, 0, rng.randint(-5, 5)
        return kind, sign, rng.randint(-4, 4), rng.randint(-4, 4)

    def draw(self, scene: Scene, operands: Operands) -> None:
        kind, factor, shift, rest = operands
        axes = Axes(scene, (-7, 7), (-7, 7))
        axes.cross(step=2)
        power = {"line": lambda x: x, "square": lambda x: x * x, "absolute": abs}[kind]
        values = [(x / 16, float(factor * power(x / 16 - shift) + rest)) for x in range(-112, 113)]
        curve(axes, values, color=scene.accent(), width=1.4)

    def solve(self, operands: Operands) -> Solution:
        kind, factor, shift, rest = operands
        if kind == "line":
            slope = {1: "", -1: "-"}.get(factor, str(factor))
            slope = f"({slope})" if "/" in slope else slope
            formula = f"y = {slope}x" + (f" {'+' if rest > 0 else '-'} {abs(rest)}" if rest else "")
            steps = f"It meets the y-axis at {rest} and has the slope {factor}"
        else:
            inner = linear(1, -shift, "-")
            power = f"|{inner}|" if kind == "absolute" else f"({inner})²" if shift else "x²"
            tail = f" {'+' if rest > 0 else '-'} {abs(rest)}" if rest else ""
            formula = f"y = {'-' if factor < 0 else ''}{power}{tail}"
            way = "down" if factor < 0 else "up"
            steps = f"Its vertex is ({shift}, {rest}), and it opens {way}"
        return Solution(formula, f"{steps}: {formula}.")
