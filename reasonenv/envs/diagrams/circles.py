"""Angles, chords, tangents and sectors of circles."""

import cmath
import random
from fractions import Fraction
from math import radians

from reasonenv.envs.diagrams.angles import UNKNOWN
from reasonenv.envs.diagrams.family import Family, Operands, Solution, register
from reasonenv.envs.diagrams.scene import Scene, arc_points

TRIPLES = (
    (3, 4, 5),
    (5, 12, 13),
    (8, 15, 17),
    (7, 24, 25),
    (20, 21, 29),
    (12, 35, 37),
    (9, 40, 41),
)
"""Whole sides of right triangles without a common factor."""
LENGTH = (
    "What is the length x?",
    "Find x.",
    "How long is the segment marked x?",
    "Work out the length that is marked x.",
)


def draw_triple(rng: random.Random, level: int) -> tuple[int, int, int]:
    """Sides of a right triangle, the legs in any order: more and larger ones at higher levels."""
    first, second, longest = TRIPLES[rng.randrange((3, 3, 4, 5, 7)[level - 1])]
    factor = rng.randint(1, (80 + 20 * level) // longest)
    legs = (first, second) if rng.random() < 0.5 else (second, first)
    return legs[0] * factor, legs[1] * factor, longest * factor


@register
class _CircleAngles(Family):
    """A circle with center O; an angle at the center or the circle from another.

    Levels: the inscribed angle from the central one, or the reverse; an inscribed angle beside a
    diameter; the opposite angle of a cyclic quadrilateral; an inscribed angle from one between a
    chord and a radius, at level 5 alone.
    """

    name = "circle_angles"
    questions = tuple(text + " O is the center of the circle." for text in UNKNOWN)

    def sample(self, rng: random.Random, level: int) -> Operands:
        kind = min(5, level + rng.randint(0, 1))
        return kind, rng.randint(*((25, 80), (25, 80), (22, 68), (60, 120), (12, 78))[kind - 1])

    def draw(self, scene: Scene, operands: Operands) -> None:
        kind, size = operands
        half, lean = {3: 90, 5: 90 - size}.get(kind, size), scene.rng.randint(-12, 12)
        # A and B lie `half` to both sides of the bottom, C on the arc above, D on the one below.
        angles = {"A": -90 - half, "B": -90 + half, "C": 90 + lean, "D": -90 + lean / 2}
        angles["C"] = 2 * size if kind == 3 else angles["C"]
        points = {name: cmath.rect(1, radians(angle)) for name, angle in angles.items()}
        points["O"] = 0j
        places = scene.fit([*points.values(), -1, 1, -1j, 1j], margin=40)
        place = dict(zip(points, places, strict=False))
        scene.circle(place["O"], abs(place["A"] - place["O"]))
        outline, given, asked = {
            1: ("OACBO", "AOB", "ACB"),
            2: ("OACBO", "ACB", "AOB"),
            3: ("ABCA", "CAB", "CBA"),
            4: ("ACBDA", "ACB", "ADB"),
            5: ("OACBOBA", "OAB", "ACB"),
        }[kind]
        scene.line(*(place[name] for name in outline))
        scene.dot(place["O"], radius=3.5)
        given_text = f"{2 * size if kind == 1 else size}°"
        for mark, text in ((given, given_text), (asked, "x")):
            first, vertex, last = (place[name] for name in mark)
            scene.angle(first, vertex, last, text, scene.accent() if text == "x" else None)
        for name in {*outline, "O"}:
            away = place[name] - place["O"] or place["A"] + place["B"] - 2 * place["O"]
            scene.label(name, place[name], away if name != "O" or kind == 3 else -away, size=18)

    def solve(self, operands: Operands) -> Solution:
        kind, size = operands
        rule = "An inscribed angle is half the central angle on its arc"
        x, steps = {
            1: (size, f"{rule}: x = {2 * size} / 2"),
            2: (2 * size, f"{rule}: x = 2 * {size}"),
            3: (90 - size, f"The angle on a diameter is 90°: x = 180 - 90 - {size}"),
            4: (180 - size, f"Opposite angles add up to 180°: x = 180 - {size}"),
            5: (
                90 - size,
                f"The triangle with two radii has the central angle 180 - 2 * {size} = "
                f"{180 - 2 * size}. {rule}: x = {180 - 2 * size} / 2",
            ),
        }[kind]
        return Solution(x, f"{steps} = {x}.")


@register
class _Tangent(Family):
    """A tangent from a point to a circle, its radius and the distance of the point; one of them.

    Levels: more and larger triples of whole numbers; from level 3 on the distance is given from
    the circle instead of its center.
    """

    name = "tangent"
    questions = tuple(text + " The line touches the circle with center O." for text in LENGTH)

    def sample(self, rng: random.Random, level: int) -> Operands:
        radius, length, distance = draw_triple(rng, level)
        if level > 2:
            radius, length = sorted((radius, length))
        return rng.choice(("tangent", "radius")), level > 2, radius, length, distance

    def draw(self, scene: Scene, operands: Operands) -> None:
        asked, is_outer, radius, length, distance = operands
        touch = radius * complex(radius, length) / distance
        points = 0, touch, distance, radius, -radius, radius * 1j, radius * -1j
        center, touch, tip, near, *_ = scene.fit(points, margin=44)
        scene.circle(center, abs(near - center), fill=scene.tint())
        scene.line(touch, tip, center, touch)
        scene.right_angle(center, touch, tip, size=12)
        scene.dot(center, radius=3.5)
        scene.label("O", center, center - tip, size=18)
        scene.side(touch, tip, "x" if asked == "tangent" else str(length), center)
        scene.side(center, touch, "x" if asked == "radius" else str(radius), tip)
        inner, given = (near, distance - radius) if is_outer else (center, distance)
        scene.side(inner, tip, str(given), touch)

    def solve(self, operands: Operands) -> Solution:
        asked, is_outer, radius, length, distance = operands
        outer = distance - radius
        if asked == "radius" and is_outer:
            steps = f"x² + {length}² = (x + {outer})², so 2 * {outer} * x = {length**2 - outer**2}"
        elif asked == "radius":
            steps = f"x² = {distance}² - {length}² = {radius**2}"
        else:
            total = f"({radius} + {outer})" if is_outer else str(distance)
            steps = f"x² = {total}² - {radius}² = {length**2}"
        x = length if asked == "tangent" else radius
        return Solution(x, f"A tangent is at a right angle to the radius: {steps}. So x = {x}.")


@register
class _Chords(Family):
    """Two chords that cross, or one and its distance from the center; the length of a part.

    Levels: half a chord, its distance or the radius by Pythagoras; with larger numbers; the fourth
    part of two chords, with parts of up to 49, 81 and 144.
    """

    name = "chords"
    questions = tuple(text + " The dot, if any, is the center." for text in LENGTH)

    def sample(self, rng: random.Random, level: int) -> Operands:
        if level < 3:
            *legs, radius = draw_triple(rng, 2 * level)
            return rng.randrange(3), *sorted(legs), radius
        a, b, c, d = (rng.randint(level, (7, 9, 12)[level - 3]) for _ in range(4))
        return a * b, c * d, a * c, b * d

    def draw(self, scene: Scene, operands: Operands) -> None:
        a, b, c, x = operands
        if a < 3:  # no part of a chord, but which length is asked for
            return self._draw_one(scene, operands)
        way = cmath.rect(1, radians(scene.rng.randint(60, 120)))
        side = ((x - c) / 2 - (b - a) / 2 * way.real) / way.imag
        center = complex((b - a) / 2, side)
        radius = abs(center + a)
        ends = -a, b, -c * way, x * way
        points = 0, *ends, center, center + radius, center - radius
        cross, *ends, center, edge, _ = scene.fit(points, margin=70)
        scene.circle(center, abs(edge - center))
        scene.line(ends[0], ends[1])
        scene.line(ends[2], ends[3])
        for end, other, text in zip(ends, ends[2:] + ends[:2], (a, b, c, "x"), strict=True):
            color = scene.accent() if text == "x" else None
            scene.side(cross, end, str(text), other, color=color)
        return None

    def _draw_one(self, scene: Scene, operands: Operands) -> None:
        asked, *lengths = operands
        distance, half, radius = lengths
        points = 0, distance, complex(distance, half), complex(distance, -half), -radius, radius
        center, foot, end, start, *edge = scene.fit(points, margin=70)
        scene.circle(center, abs(edge[0] - center))
        scene.line(start, end, center, foot)
        scene.right_angle(center, foot, end, size=12)
        scene.dot(center, radius=3.5)
        sides = (center, foot, end), (foot, end, center), (center, end, foot)
        for place, (side, length) in enumerate(zip(sides, lengths, strict=True)):
            text, color = ("x", scene.accent()) if place == asked else (str(length), None)
            scene.side(side[0], side[1], text, side[2], color=color)

    def solve(self, operands: Operands) -> Solution:
        a, b, c, x = operands
        if a < 3:
            squares = f"{x}² - {c}²", f"{x}² - {b}²", f"{b}² + {c}²"
            length = (b, c, x)[a]
            return Solution(length, f"x² = {squares[a]} = {length**2}, so x = {length}.")
        rule = "The parts of two chords that cross have equal products"
        return Solution(x, f"{rule}: {c} * x = {a} * {b} = {a * b}, so x = {a * b} / {c} = {x}.")


@register
class _CircleArea(Family):
    """A circle, sector or ring that is shaded; its area as a multiple of π.

    Levels: a circle by radius or diameter; a half, quarter or three quarters; any sector; a ring; a
    sector of a ring.
    """

    name = "circle_area"
    questions = (
        "What is the shaded area? Give it in terms of π.",
        "Find the exact area of the shaded region, as a multiple of π.",
        "How large is the colored area? Leave π in your answer.",
        "Calculate the shaded area exactly, in terms of π.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        unit, low, high = ((1, 2, 40), (2, 1, 20), (6, 1, 8), (1, 4, 24), (6, 4, 10))[level - 1]
        outer = rng.randint(low, high)
        inner = rng.randint(-(-outer // 3), outer * 3 // 4) if level > 3 else 0
        angle = 30 * rng.randint(1, 5) if level in (3, 5) else 360
        angle = rng.choice((90, 180)) if level == 2 else angle
        return outer * unit, inner * unit, angle, rng.random() < 0.5

    def draw(self, scene: Scene, operands: Operands) -> None:
        outer, inner, angle, is_other = operands
        start, center, radius = 15 * scene.rng.randrange(24), scene.center - 20j, 150
        shaded = (start + angle, 360 - angle) if is_other and angle < 360 else (start, angle)
        within = radius * inner / outer
        back = arc_points(center, within, *shaded)[::-1] if inner else [center]
        edge = arc_points(center, radius, *shaded)
        scene.polygon(*edge, *back, fill=scene.tint(), width=0)
        scene.circle(center, radius)
        first, last = (
            arc_points(center, radius, start, turn)[-1] for turn in (0.0, min(angle, 100))
        )
        if angle < 360:
            scene.line(first, center, last)
            if angle < 180:
                scene.angle(first, center, last, f"{angle}°")
        scene.dot(center, radius=3.5)
        if inner:
            last = arc_points(center, within, start, 100 if angle == 360 else angle)[-1]
            scene.circle(center, within)
            scene.line(first, center, last)
            scene.label("R", first, first - center)
            scene.side(center, last, "r", first)
            scene.label(f"R = {outer}, r = {inner}", complex(center.real, 420))
        elif angle == 360 and is_other:
            scene.line(first, 2 * center - first)
            scene.side(first, 2 * center - first, str(2 * outer), 0j)
        else:
            scene.line(center, first)
            scene.side(center, first, str(outer), last)

    def solve(self, operands: Operands) -> Solution:
        outer, inner, angle, is_other = operands
        angle = 360 - angle if is_other and angle < 360 else angle
        area = Fraction(angle * (outer**2 - inner**2), 360)
        ring = f"({outer}² - {inner}²)" if inner else f"{outer}²"
        part = f"{angle}/360 of " if angle < 360 else ""
        return Solution(f"{area}π", f"The area is {part}{ring}π, which is {area}π.")
