"""Lengths in right and in similar triangles."""

import cmath
import random
from math import radians

from reasonenv.envs.diagrams.family import Exercise, family
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
