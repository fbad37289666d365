"""Angles at points, between parallels, in triangles and in polygons."""

import cmath
import random
from itertools import accumulate
from math import cos, radians

from reasonenv.envs.diagrams.family import Family, Operands, Solution, register
from reasonenv.envs.diagrams.scene import Scene


def draw_angles(scene: Scene, corners: list[complex], texts: list[str]) -> None:
    """A polygon with a text in each of its angles; that of the unknown one is colored."""
    scene.polygon(*corners, fill=scene.tint() if scene.rng.random() < 0.5 else None)
    for index, text in enumerate(texts):
        arms = corners[index - 1], corners[index], corners[(index + 1) % len(corners)]
        if text:
            scene.angle(*arms, text, color=scene.accent(1) if text == "x" else None)


@register
class _AnglesAtPoint(Family):
    """Rays from a point and all angles but one; the missing angle.

    Levels: 3, 3, 4, 5 and 6 angles; multiples of five at level 1.
    """

    name = "angles_at_point"
    questions = (
        "What is the size of the angle x, in degrees?",
        "How many degrees is the angle marked x?",
        "Find x, in degrees.",
        "Work out the unknown angle x. Give your answer in degrees.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        count, step = (3, 3, 4, 5, 6)[level - 1], 5 if level == 1 else 1
        while True:
            cuts = sorted(rng.sample(range(0, 360, step), count))
            angles = [(b - a) % 360 for a, b in zip(cuts, cuts[1:] + cuts[:1], strict=True)]
            if min(angles) >= 32 and max(angles) < 175:
                return tuple(angles)

    def draw(self, scene: Scene, operands: Operands) -> None:
        start = scene.rng.randrange(360)
        turns = accumulate(operands, initial=start)
        ends = [scene.center + cmath.rect(170, -radians(turn)) for turn in turns]
        for end in ends[1:]:
            scene.line(scene.center, end)
        labels = "x", *(f"{angle}°" for angle in operands[1:])
        for first, last, text in zip(ends, ends[1:], labels, strict=False):
            color = scene.accent() if text == "x" else None
            scene.angle(first, scene.center, last, text, color)

    def solve(self, operands: Operands) -> Solution:
        x, *others = operands
        terms = " - ".join(map(str, others))
        return Solution(x, f"The angles around a point add up to 360°: x = 360 - {terms} = {x}.")

    def canonical(self, operands: Operands) -> Operands:
        return operands[0], *sorted(operands[1:])


@register
class _PolygonAngles(Family):
    """A convex polygon and all its angles but one; the missing angle.

    Levels: 3, 4, 5, 6 and 7 corners.
    """

    name = "polygon_angles"
    questions = (
        "What is the size of the angle x, in degrees?",
        "How large is the angle marked x, in degrees?",
        "Calculate x, in degrees.",
        "One interior angle of the polygon is not given. How many degrees is it?",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        count = level + 2
        while True:
            cuts = sorted(rng.sample(range(360), count))
            turns = [(b - a) % 360 for a, b in zip(cuts, cuts[1:] + cuts[:1], strict=True)]
            if min(turns) >= 15 and max(turns) <= 145:
                return tuple(180 - turn for turn in turns)

    def draw(self, scene: Scene, operands: Operands) -> None:
        draw_angles(
            scene,
            scene.fit(_corners(operands), margin=30),
            ["x", *(f"{angle}°" for angle in operands[1:])],
        )

    def solve(self, operands: Operands) -> Solution:
        x, *others = operands
        count, total = len(operands), 180 * (len(operands) - 2)
        terms = " - ".join(map(str, others))
        text = f"The angles of a polygon with {count} corners add up to ({count} - 2) * 180° = "
        return Solution(x, f"{text}{total}°: x = {total} - {terms} = {x}.")


def _corners(angles: Operands) -> list[complex]:
    """Corners of the polygon with these angles whose sides touch a circle of radius 1."""
    turns = [radians(180 - angle) for angle in angles]
    starts = accumulate(turns, initial=0.0)
    return [
        cmath.rect(1 / cos(turn / 2), start + turn / 2)
        for start, turn in zip(starts, turns, strict=False)
    ]
