"""Angles at points, between parallels, in triangles and in polygons."""

import cmath
import random
from itertools import accumulate
from math import cos, radians, sin

from reasonenv.envs.diagrams.family import Family, Operands, Solution, register
from reasonenv.envs.diagrams.scene import Scene, linear

UNKNOWN = (
    "What is the size of the angle x, in degrees?",
    "How many degrees is the angle marked x?",
    "Find x, in degrees.",
    "Work out the unknown angle x. Give your answer in degrees.",
)


@register
class _AnglesAtPoint(Family):
    """Rays from a point and all angles but one; the missing angle.

    Levels: 3, 3, 4, 5 and 6 angles; multiples of five at level 1.
    """

    name = "angles_at_point"
    questions = UNKNOWN

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
    questions = UNKNOWN

    def sample(self, rng: random.Random, level: int) -> Operands:
        count = level + 2
        while True:
            cuts = sorted(rng.sample(range(360), count))
            turns = [(b - a) % 360 for a, b in zip(cuts, cuts[1:] + cuts[:1], strict=True)]
            if min(turns) >= 15 and max(turns) <= 145:
                return tuple(180 - turn for turn in turns)

    def draw(self, scene: Scene, operands: Operands) -> None:
        corners = scene.fit(_corners(operands), margin=30)
        scene.polygon(*corners, fill=scene.rng.choice((None, scene.tint())))
        for place, angle in enumerate(operands):
            text, color = (f"{angle}°", None) if place else ("x", scene.accent(1))
            after = corners[(place + 1) % len(corners)]
            scene.angle(corners[place - 1], corners[place], after, text, color)

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


@register
class _Parallels(Family):
    """Two parallels and a line across; an angle from another.

    Levels: the two angles are equal; or add up to 180°; any numbers from level 3 on, before
    multiples of five; at level 4 an angle is an expression of x, at level 5 both are.
    """

    name = "parallels"
    questions = (
        "The two marked lines are parallel. What is x? All angles are in degrees.",
        "Find x, where the lines with arrows are parallel. Angles are in degrees.",
        "Angles are in degrees and the two marked lines are parallel. Calculate x.",
        "Work out the value of x. The arrows mark parallel lines; angles are in degrees.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        here, there = rng.randrange(4), rng.randrange(4)
        if level < 3:
            here = (there + level + 1) % 2 + rng.choice((0, 2))
        known = rng.randrange(45, 136, 5 if level < 3 else 1)
        other = known if (here - there) % 2 == 0 else 180 - known
        x = other if level < 4 else rng.randint(8, 30)
        first, second = (0, rng.randint(1, 2))[level == 5], (1, rng.randint(3, 5))[level > 3]
        return here, there, (first, known - first * x), (second, other - second * x)

    def draw(self, scene: Scene, operands: Operands) -> None:
        here, there, *terms = operands
        (first, rest), x = terms[0], int(self.solve(operands).answer)
        size = first * x + rest
        way = cmath.rect(1, radians(180 - size if here % 2 else size))
        steps = 1.7, 0.9 * way, -1.7, -0.9 * way
        vertices = 0, way / way.imag
        points = scene.fit([*vertices, *(v + step for v in vertices for step in steps)], margin=16)
        rays = points[2:6], points[6:]
        scene.line(rays[0][3], rays[1][1])
        for vertex, arms, place, term in zip(points, rays, (here, there), terms, strict=False):
            scene.line(arms[2], arms[0])
            chevron(scene, vertex, arms[0])
            text = linear(*term) + ("" if term[0] else "°")
            color = scene.accent() if term[0] else None
            scene.angle(arms[place], vertex, arms[(place + 1) % 4], text, color)

    def solve(self, operands: Operands) -> Solution:
        here, there, (first, rest), (second, other) = operands
        known, unknown = linear(first, rest, "-"), linear(second, other, "-")
        if (here - there) % 2 == 0:
            x = (rest - other) // (second - first)
            return Solution(x, f"The angles are equal: {unknown} = {known}, so x = {x}.")
        x = (180 - rest - other) // (first + second)
        return Solution(x, f"The angles add up to 180°: {unknown} + {known} = 180, so x = {x}.")


@register
class _TriangleAngles(Family):
    """A triangle, isosceles, with a longer side or with a line across; an angle from others.

    Levels: the apex or base of an isosceles triangle; an exterior angle; an interior from an
    exterior one; a triangle cut in two; an isosceles triangle in another one.
    """

    name = "triangle_angles"
    questions = (
        "What is the angle x, in degrees? Sides with equal marks are equally long.",
        "Find x, in degrees. Marks show sides of equal length.",
        "How many degrees is x? Sides that bear the same mark have the same length.",
        "Equal marks stand for equal lengths. Calculate the angle x in degrees.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        a, b, c = rng.randint(32, 60), rng.randint(32, 60), rng.randint(28, 36)
        return (
            rng.choice((("apex", a + c - 30), ("base", 2 * rng.randint(18, 65)))),
            ("exterior", a, b),
            ("remote", a, a + b),
            ("split", a - 2, b - 4, c),
            ("chain", 28 + a // 6, b // 2 + 6),
        )[level - 1]

    def draw(self, scene: Scene, operands: Operands) -> None:
        kind, *given = operands
        a, b, c = (*given, 0, 0)[:3]
        # Angles at A and B; the marked angles, x last; the two sides of equal length, or the line
        # from D, which lies on AB but in a chain on BC.
        left, right, marks, lines = {
            "apex": (a, a, "BAC BCA", "AC BC"),
            "base": (90 - a / 2, 90 - a / 2, "BCA BAC", "AC BC"),
            "exterior": (a, 180 - a - b, "BAC BCA DBC", "BD"),
            "remote": (a, 180 - b, "BAC DBC BCA", "BD"),
            "split": (a, 180 - a - b - c, "BAC ACD DCB ABC", "CD"),
            "chain": (180 - 2 * a - b, a + b, "ACB DAC BAD", "AB AD"),
        }[kind]
        alpha, beta = radians(left), radians(right)
        top = cmath.rect(sin(beta) / sin(alpha + beta), alpha)
        split = abs(top) * sin(radians(b)) / sin(alpha + radians(b))
        cut = {"split": split, "chain": cmath.rect(1, radians(180 - 2 * right))}.get(kind, 1.5)
        points = [0, 1, top, cut if "D" in marks else 0]
        place = dict(zip("ABCD", scene.fit(points, margin=30), strict=True))
        scene.polygon(*(place[corner] for corner in "ABC"))
        for start, end in lines.split():
            scene.line(place[start], place[end])
            if " " in lines:
                tick(scene, place[start], place[end])
        for mark, text in zip(marks.split(), [*(f"{angle}°" for angle in given), "x"], strict=True):
            color = scene.accent() if text == "x" else None
            first, vertex, last = (place[corner] for corner in mark)
            scene.angle(first, vertex, last, text, color)

    def solve(self, operands: Operands) -> Solution:
        kind, *given = operands
        a, b, c = (*given, 0, 0)[:3]
        equal = "The angles at the base of an isosceles triangle are equal"
        remote = "An exterior angle is the sum of the two remote ones"
        x, steps = {
            "apex": (180 - 2 * a, f"{equal}: x = 180 - 2 * {a}"),
            "base": (90 - a // 2, f"{equal}: x = (180 - {a}) / 2"),
            "exterior": (
                a + b,
                f"{remote}: x = {a} + {b}",
            ),
            "remote": (
                b - a,
                f"{remote}: x = {b} - {a}",
            ),
            "split": (180 - a - b - c, f"The angles add up to 180°: x = 180 - {a} - {b} - {c}"),
            "chain": (
                180 - 2 * (a + b),
                f"The exterior angle at the foot is {a} + {b} = {a + b}, and so is the other angle "
                f"at the base of the isosceles triangle: x = 180 - 2 * {a + b}",
            ),
        }[kind]
        return Solution(x, f"{steps} = {x}.")


def tick(scene: Scene, start: complex, end: complex) -> None:
    """The mark of a side that is as long as others with one."""
    across, place = 8j * (end - start) / abs(end - start), start + 0.3 * (end - start)
    scene.line(place - across, place + across)


def chevron(scene: Scene, start: complex, end: complex) -> None:
    """The mark of a line that is parallel to others with one."""
    along, tip = (end - start) / abs(end - start), start + 0.75 * (end - start)
    scene.line(tip - (9 + 6j) * along, tip, tip - (9 - 6j) * along, width=0.8)
