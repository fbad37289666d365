"""Angles between parallels and in polygons."""

import cmath
import random
from itertools import accumulate
from math import cos, radians

from reasonenv.envs.diagrams.family import Exercise, family
from reasonenv.envs.diagrams.scene import Scene, linear


@family()
def polygon_angles(rng: random.Random, level: int) -> Exercise:
    """A convex polygon and all its angles but one; the missing angle."""
    turns = [0]
    while min(turns) < 15 or max(turns) > 145:
        cuts = sorted(rng.sample(range(360), level + 2))
        turns = [(b - a) % 360 for a, b in zip(cuts, cuts[1:] + cuts[:1], strict=True)]
    x, *others = (180 - turn for turn in turns)

    def draw(scene: Scene) -> None:
        # The sides touch a circle of radius 1, so there is such a polygon for any angles.
        starts = accumulate(turns, initial=0)
        pairs = zip(starts, turns, strict=False)
        polar = [(1 / cos(radians(turn / 2)), radians(start + turn / 2)) for start, turn in pairs]
        corners = scene.fit([cmath.rect(*each) for each in polar], margin=30)
        scene.polygon(*corners, fill=scene.rng.choice((None, scene.tint())))
        around = [*corners[-1:], *corners, corners[0]]
        for place, angle in enumerate((x, *others)):
            text, color = (f"{angle}°", None) if place else ("x", scene.accent(1))
            scene.angle(around[place], around[place + 1], around[place + 2], text, color)

    total, terms = 180 * level, " - ".join(map(str, others))
    rule = f"The angles of a polygon with {level + 2} corners add up to {level} * 180° = {total}°"
    return Exercise((x, *others), x, f"{rule}: x = {total} - {terms} = {x}.", draw)


@family()
def parallels(rng: random.Random, level: int) -> Exercise:
    """Two parallels and a line across; an angle from another."""
    here, there = rng.randrange(4), rng.randrange(4)
    if level < 3:
        here = (there + level + 1) % 2 + rng.choice((0, 2))
    known = rng.randrange(45, 136, 5 if level < 3 else 1)
    other = known if (here - there) % 2 == 0 else 180 - known
    x = other if level < 4 else rng.randint(8, 30)
    first, second = (0, rng.randint(1, 2))[level == 5], (1, rng.randint(3, 5))[level > 3]
    terms = (first, known - first * x), (second, other - second * x)

    def draw(scene: Scene) -> None:
        way = cmath.rect(1, radians(180 - known if here % 2 else known))
        steps, vertices = (1.7, 0.9 * way, -1.7, -0.9 * way), (0, way / way.imag)
        points = scene.fit([*vertices, *(v + step for v in vertices for step in steps)], margin=16)
        rays = points[2:6], points[6:]
        scene.line(rays[0][3], rays[1][1])
        for vertex, arms, place, term in zip(points, rays, (here, there), terms, strict=False):
            scene.line(arms[2], arms[0])
            scene.chevron(vertex, arms[0])
            text = linear(*term) + ("" if term[0] else "°")
            color = scene.accent() if term[0] else None
            scene.angle(arms[place], vertex, arms[(place + 1) % 4], text, color)

    unknown, given = linear(*terms[1], "-"), linear(*terms[0], "-")
    equation = f"add up to 180°: {unknown} + {given} = 180"
    if (here - there) % 2 == 0:
        equation = f"are equal: {unknown} = {given}"
    return Exercise((here, there, *terms), x, f"The angles {equation}, so x = {x}.", draw)
