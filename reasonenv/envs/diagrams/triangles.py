"""Lengths in right and similar triangles, and areas of triangles and quadrilaterals."""

import cmath
import random
from fractions import Fraction
from math import radians

from reasonenv.envs.diagrams.angles import chevron, tick
from reasonenv.envs.diagrams.circles import LENGTH, draw_triple
from reasonenv.envs.diagrams.family import Family, Operands, Solution, register, text_of
from reasonenv.envs.diagrams.scene import Scene

_ALTITUDES = {12: ((5, 13), (9, 15), (16, 20)), 24: ((10, 26), (18, 30), (32, 40))}
"""An altitude, and right triangles that have it in common: the other leg and the longest side."""


@register
class _Pythagoras(Family):
    """A right triangle, at levels 4 and 5 one cut by its altitude; the length of a side.

    Levels: the longest side; any side; with larger numbers; a side beyond the altitude; with
    larger numbers.
    """

    name = "pythagoras"
    questions = LENGTH

    def sample(self, rng: random.Random, level: int) -> Operands:
        if level < 4:
            return rng.randrange(3) if level > 1 else 2, *draw_triple(rng, 2 * level - 1)
        height = rng.choice(list(_ALTITUDES))
        factor = rng.randint(1, 5 * level - 14)
        sides = [side for pair in rng.sample(_ALTITUDES[height], 2) for side in pair]
        return rng.choice((3, 4)), *(factor * side for side in (height, *sides))

    def draw(self, scene: Scene, operands: Operands) -> None:
        asked, *sides = operands
        if len(sides) == 3:
            foot, right, top = scene.fit([0, sides[0], sides[1] * 1j], margin=50)
            scene.polygon(foot, right, top, fill=scene.tint())
            labelled = {0: (foot, right, top), 1: (foot, top, right), 2: (right, top, foot)}
        else:
            height, near, _, far, _ = sides
            foot, left, right, top = scene.fit([0, -near, far, height * 1j], margin=50)
            scene.polygon(left, right, top, fill=scene.tint())
            scene.line(foot, top)
            labelled = {1: (left, foot, top), 2: (left, top, right), 7 - asked: (right, foot, top)}
            labelled |= {3: (foot, right, top), 4: (right, top, left)}
        scene.right_angle(right, foot, top)
        for place, (start, end, inside) in labelled.items():
            text, color = ("x", scene.accent(1)) if place == asked else (str(sides[place]), None)
            scene.side(start, end, text, inside, color=color)

    def solve(self, operands: Operands) -> Solution:
        asked, *sides = operands
        x = sides[asked]
        if len(sides) == 3:
            first, second = (side for place, side in enumerate(sides) if place != asked)
            sign, first = ("+", first) if asked == 2 else ("-", sides[2])
            second = second if asked == 2 else sides[1 - asked]
            steps = ""
        else:
            height, near, longest, far, end = sides
            steps = f"The altitude is the root of {longest}² - {near}² = {height**2}: {height}. "
            first, sign, second = (end, "-", height) if asked == 3 else (far, "+", height)
        return Solution(x, f"{steps}x² = {first}² {sign} {second}² = {x * x}, so x = {x}.")


@register
class _SimilarTriangles(Family):
    """A triangle cut by a parallel to a side; a length by proportion.

    Levels: the longer parallel; any of both; a part of the third side; a part of the first side;
    any of these with larger numbers.
    """

    name = "similar_triangles"
    questions = tuple(text + " The lines with arrows are parallel." for text in LENGTH)

    def sample(self, rng: random.Random, level: int) -> Operands:
        kind = (0, rng.randint(0, 1), 2, 3, rng.randint(0, 3))[level - 1]
        p, q, k = rng.randint(2, 5), rng.randint(2, 5), rng.randint(2, (6, 6, 8, 12, 16)[level - 1])
        m = rng.randint((6 * k + 9) // 10, 16 * k // 10)
        return kind, *(
            (p * k, q * k, p * m, (p + q) * m),
            (p * k, q * k, (p + q) * m, p * m),
            (p * k, q * k, p * m, q * m),
            (p * k, p * m, (p + q) * m, q * k),
        )[kind]

    def draw(self, scene: Scene, operands: Operands) -> None:
        kind, a, b, c, x = operands
        share = Fraction(b, c) if kind == 3 else Fraction(a, a + b)
        whole = a + x if kind == 3 else a + b
        other = (x, c, c + x, c)[kind]
        way = cmath.rect(1, radians(scene.rng.randint(50, 75)))
        # Two sides have their lengths, with any angle between them.
        tip, left, right = (0, whole, other * way) if kind == 2 else (whole * way, 0, other)
        cuts = (tip + float(share) * (end - tip) for end in (left, right))
        tip, left, right, near, far = scene.fit([tip, left, right, *cuts], margin=40)
        scene.polygon(tip, left, right)
        scene.line(near, far)
        chevron(scene, near, far)
        chevron(scene, left, right)
        first, second = (tip, near, right), (near, left, right)
        inner, outer = (near, far, left), (left, right, tip)
        sides = (
            (first, second, inner, outer),
            (first, second, outer, inner),
            (first, second, (tip, far, left), (far, right, left)),
            (first, inner, outer, second),
        )[kind]
        for (start, end, inside), text in zip(sides, (a, b, c, "x"), strict=True):
            scene.side(start, end, str(text), inside, color=scene.accent() if text == "x" else None)

    def solve(self, operands: Operands) -> Solution:
        kind, a, b, c, x = operands
        steps = (
            f"x / {c} = ({a} + {b}) / {a}",
            f"x / {c} = {a} / ({a} + {b})",
            f"x / {c} = {b} / {a}",
            f"({a} + x) / {a} = {c} / {b}",
        )[kind]
        return Solution(x, f"The two triangles are similar, so {steps}, and x = {x}.")


_SLANTS = (3, 4, 5), (4, 3, 5), (6, 8, 10), (8, 6, 10), (5, 12, 13), (9, 12, 15), (12, 9, 15)
"""Legs and longest side of right triangles of about the same size."""


@register
class _PolygonArea(Family):
    """A triangle, parallelogram or trapezoid with some lengths; its area.

    Levels: a triangle; a parallelogram, with a length that is not needed; a trapezoid; an obtuse
    triangle, with a length that is not needed; an isosceles trapezoid without its height.
    """

    name = "polygon_area"
    questions = (
        "What is the area of the figure?",
        "Find the area of the shape.",
        "Calculate the area. All lengths are in cm; give it in cm².",
        "How large is the area of the colored shape?",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        low, height, slant = rng.choice(_SLANTS)
        base, top, other = rng.randint(6, 20), rng.randint(6, 15), rng.randint(6, 15)
        # Both parallels, the height, how far the upper one is shifted, and a slanted side.
        return (
            (base, 0, other, rng.randint(2, base - 2), 0),
            (base, base, height, low, slant),
            (base, top, other, rng.randint(0, 4), 0),
            (top, 0, height, top + low, slant),
            (top + 2 * low, top, height, low, slant),
        )[level - 1]

    def draw(self, scene: Scene, operands: Operands) -> None:
        base, top, height, shift, slant = operands
        corners = [0, base, complex(shift + top, height), complex(shift, height)]
        left, right, end, start, foot = scene.fit([*corners, shift], margin=50, is_turned=False)
        scene.polygon(left, right, end, *([start] if top else []), fill=scene.tint())
        scene.side(left, right, str(base), end)
        if top:
            chevron(scene, left, right)
            chevron(scene, start, end)
        if top not in (0, base):
            scene.side(start, end, str(top), left)
        if shift > base:
            scene.line(right, foot, width=0.6, is_dashed=True)
        if slant:
            scene.side(right if shift > base else left, start, str(slant), foot)
        if slant and base == top + 2 * shift:
            tick(scene, left, start)
            tick(scene, right, end)
        else:
            scene.line(start, foot, width=0.8, is_dashed=True)
            scene.right_angle(start, foot, right if shift < base else left, size=12)
            scene.side(start, foot, str(height), scene.rng.choice((left - 99, right + 99)))

    def solve(self, operands: Operands) -> Solution:
        base, top, height, shift, slant = operands
        area = Fraction((base + top) * height, 2)
        steps = f"({base} + {top}) / 2 * {height}" if top else f"{base} * {height} / 2"
        steps, first = f"{base} * {height}" if top == base else steps, ""
        if slant and base == top + 2 * shift:
            first = f"On both sides ({base} - {top}) / 2 = {shift} stand out, so the height is the "
            first += f"root of {slant}² - {shift}² = {height**2}, {height}. "
        return Solution(area, f"{first}The area is {steps} = {text_of(area)}.")

    def canonical(self, operands: Operands) -> Operands:
        base, top, height, shift, slant = operands
        return base, top, height, slant, slant and shift
