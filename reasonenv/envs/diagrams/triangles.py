"""Lengths in right and in similar triangles, and areas of triangles and quadrilaterals."""

import cmath
import random
from fractions import Fraction
from math import radians

from reasonenv.envs.diagrams.family import Exercise, family, text_of
from reasonenv.envs.diagrams.scene import Scene

_TRIPLES = (3, 4, 5), (5, 12, 13), (8, 15, 17), (20, 21, 29), (28, 45, 53), (33, 56, 65)
"""Whole sides of right triangles without a common factor, none of them very slim."""


def draw_triple(rng: random.Random, level: int) -> tuple[int, int, int]:
    """Sides of a right triangle, the legs in any order: more and larger ones at higher levels."""
    first, second, longest = _TRIPLES[rng.randrange((3, 3, 4, 5, 6)[level - 1])]
    factor = rng.randint(1, (80 + 20 * level) // longest)
    legs = (first, second) if rng.random() < 0.5 else (second, first)
    return legs[0] * factor, legs[1] * factor, longest * factor


@family()
def pythagoras(rng: random.Random, level: int) -> Exercise:
    """A right triangle with two of its sides; the third."""
    sides, asked = draw_triple(rng, level), 2 if level == 1 else rng.randrange(3)
    x, others = sides[asked], [side for place, side in enumerate(sides) if place != asked]

    def draw(scene: Scene) -> None:
        foot, right, top = scene.fit([0, sides[0], sides[1] * 1j], margin=50)
        scene.polygon(foot, right, top, fill=scene.tint())
        scene.right_angle(right, foot, top)
        ends = (foot, right, top), (foot, top, right), (right, top, foot)
        for place, (start, end, inside) in enumerate(ends):
            text, color = ("x", scene.accent(1)) if place == asked else (str(sides[place]), None)
            scene.side(start, end, text, inside, color=color)

    squares = f"{others[0]}² + {others[1]}²" if asked == 2 else f"{others[1]}² - {others[0]}²"
    return Exercise((asked, *sides), x, f"x² = {squares} = {x * x}, so x = {x}.", draw)


@family()
def similar_triangles(rng: random.Random, level: int) -> Exercise:
    """A triangle cut by a parallel to a side; a length by proportion."""
    kind = (0, rng.randint(0, 1), 2, 3, rng.randint(0, 3))[level - 1]
    p, q, k = rng.randint(2, 5), rng.randint(2, 5), rng.randint(2, (6, 6, 8, 12, 16)[level - 1])
    m = rng.randint((6 * k + 9) // 10, 16 * k // 10)
    near, rest, short, long = p * k, q * k, p * m, (p + q) * m
    # Three lengths, the fourth, and an equation.
    a, b, c, x, equation = (
        (near, rest, short, long, f"x / {short} = ({near} + {rest}) / {near}"),
        (near, rest, long, short, f"x / {long} = {near} / ({near} + {rest})"),
        (near, rest, short, q * m, f"x / {short} = {rest} / {near}"),
        (near, short, long, rest, f"({near} + x) / {near} = {long} / {short}"),
    )[kind]

    def draw(scene: Scene) -> None:
        way = cmath.rect(1, radians(scene.rng.randint(50, 75)))
        # Two sides have their lengths, with any angle between them.
        tip, left, right = (0, near + rest, long * way)
        if kind != 2:
            tip, left, right = (near + rest) * way, 0, long
        cuts = (tip + p / (p + q) * (end - tip) for end in (left, right))
        tip, left, right, upper, far = scene.fit([tip, left, right, *cuts], margin=40)
        scene.polygon(tip, left, right)
        scene.line(upper, far)
        scene.chevron(upper, far)
        scene.chevron(left, right)
        first, second = (tip, upper, right), (upper, left, right)
        inner, outer = (upper, far, left), (left, right, tip)
        sides = (
            (first, second, inner, outer),
            (first, second, outer, inner),
            (first, second, (tip, far, left), (far, right, left)),
            (first, inner, outer, second),
        )[kind]
        for (start, end, inside), text in zip(sides, (a, b, c, "x"), strict=True):
            scene.side(start, end, str(text), inside, color=scene.accent() if text == "x" else None)

    steps = f"The two triangles are similar: {equation}, and x = {x}."
    return Exercise((kind, a, b, c, x), x, steps, draw)


_SLANTS = (3, 4, 5), (4, 3, 5), (6, 8, 10), (8, 6, 10), (5, 12, 13), (9, 12, 15), (12, 9, 15)
"""Legs and longest side of right triangles of about the same size."""


@family()
def polygon_area(rng: random.Random, level: int) -> Exercise:
    """A triangle, parallelogram or trapezoid with some lengths; its area."""
    low, high, long = rng.choice(_SLANTS)
    wide, narrow, tall = rng.randint(6, 20), rng.randint(6, 15), rng.randint(6, 15)
    # Both parallels, the height, how far the upper one is shifted, and a slanted side.
    base, top, height, shift, slant = (
        (wide, 0, tall, rng.randint(2, wide - 2), 0),
        (narrow + low, narrow + low, high, low, long),
        (wide, narrow, tall, rng.randint(0, 4), 0),
        (narrow, 0, high, narrow + low, long),
        (narrow + 2 * low, narrow, high, low, long),
    )[level - 1]

    def draw(scene: Scene) -> None:
        corners = [0, base, complex(shift + top, height), complex(shift, height)]
        left, right, end, start, foot = scene.fit([*corners, shift], margin=50, is_turned=False)
        scene.polygon(left, right, end, *([start] if top else []), fill=scene.tint())
        scene.side(left, right, str(base), end)
        if top not in (0, base):
            scene.side(start, end, str(top), left)
        for side in ((left, right), (start, end)) if top else ():
            scene.chevron(*side)
        if slant:
            scene.side(right if level == 4 else left, start, str(slant), foot)
        if level == 5:
            scene.tick(left, start)
            scene.tick(right, end)
            return
        scene.line(right, foot, width=0.6, is_dashed=True)
        scene.line(start, foot, width=0.8, is_dashed=True)
        scene.right_angle(start, foot, left if level == 4 else right, size=12)
        scene.side(start, foot, str(height), scene.rng.choice((left - 99, right + 99)))

    area = Fraction((base + top) * height, 2)
    steps = f"The area is ({base} + {top}) / 2 * {height} = {text_of(area)}."
    if level == 5:
        root = f"({base} - {top}) / 2 = {shift}, the height is the root of {slant}² - {shift}²"
        steps = f"Each side stands out by {root} = {height}². {steps}"
    key = base, top, height, slant, slant and shift
    return Exercise((base, top, height, shift, slant), area, steps, draw, key=key)
