"""Angles, chords, tangents and sectors of circles."""

import cmath
import random
from fractions import Fraction
from math import radians

from reasonenv.envs.diagrams.family import Exercise, family
from reasonenv.envs.diagrams.plane import draw_triple
from reasonenv.envs.diagrams.scene import Scene, arc_points


@family()
def circle_angles(rng: random.Random, level: int) -> Exercise:
    """A circle with center O; an angle at the center or on the circle from another."""
    kind = min(5, level + rng.randint(0, 1))
    size = rng.randint(*((25, 80), (25, 80), (22, 68), (60, 120), (20, 70))[kind - 1])
    # The outline, an angle and the one that is sought, their sizes, and why.
    outline, mark, target, degrees, x, rule = (
        ("OACBO", "AOB", "ACB", 2 * size, size, "An inscribed angle is half the central one"),
        ("OACBO", "ACB", "AOB", size, 2 * size, "A central angle is twice the inscribed one"),
        ("ABCA", "CAB", "CBA", size, 90 - size, "The angle over a diameter is 90°"),
        ("ACBDA", "ACB", "ADB", size, 180 - size, "Opposite angles add up to 180°"),
        ("OACBOBA", "OAB", "ACB", size, 90 - size, "The central one is 180° less both equal ones"),
    )[kind - 1]

    def draw(scene: Scene) -> None:
        half, lean = {3: 90, 5: 90 - size}.get(kind, size), scene.rng.randint(-12, 12)
        # A and B lie `half` to both sides of the bottom, C on the arc above, D on the one below.
        turns = [-90 - half, -90 + half, 2 * size if kind == 3 else 90 + lean, -90 + lean / 2]
        points = [0j, *(cmath.rect(1, radians(turn)) for turn in turns)]
        places = scene.fit([*points, -1, 1, -1j, 1j], margin=40)
        place = dict(zip("OABCD", places, strict=False))
        scene.circle(place["O"], abs(place["A"] - place["O"]))
        scene.line(*(place[name] for name in outline))
        scene.dot(place["O"], radius=3.5)
        for angle, text in ((mark, f"{degrees}°"), (target, "x")):
            first, vertex, last = (place[name] for name in angle)
            scene.angle(first, vertex, last, text, scene.accent() if text == "x" else None)
        for name in sorted({*outline, "O"}):
            scene.name(name, place[name], size=18)

    sizes = (degrees, x) if kind < 3 else (degrees,)
    steps = f"{rule}, so with {' and '.join(map(str, sizes))} degrees x = {x}."
    return Exercise((kind, size), x, steps, draw)


@family()
def tangent(rng: random.Random, level: int) -> Exercise:
    """A tangent from a point, the radius and the distance of the point; one of them."""
    radius, length, distance = draw_triple(rng, level)
    if level > 2:
        radius, length = sorted((radius, length))
    is_radius, is_outer, outer = rng.random() < 0.5, level > 2, distance - radius

    def draw(scene: Scene) -> None:
        touch = radius * complex(radius, length) / distance
        points = 0, touch, distance, radius, -radius, radius * 1j, radius * -1j
        center, touch, tip, near, *_ = scene.fit(points, margin=44)
        scene.circle(center, abs(near - center), fill=scene.tint())
        scene.line(touch, tip, center, touch)
        scene.right_angle(center, touch, tip, size=12)
        scene.dot(center, radius=3.5)
        scene.label("O", center, center - tip, size=18)
        scene.side(touch, tip, str(length) if is_radius else "x", center)
        scene.side(center, touch, "x" if is_radius else str(radius), tip)
        inner, number = (near, outer) if is_outer else (center, distance)
        scene.side(inner, tip, str(number), touch)

    x = radius if is_radius else length
    whole = str(distance)
    if is_outer:
        whole = f"(x + {outer})" if is_radius else f"({radius} + {outer})"
    steps = f"x² + {length if is_radius else radius}² = {whole}², so x = {x}"
    steps = f"A tangent is at a right angle to the radius: {steps}."
    return Exercise((is_radius, is_outer, radius, length, distance), x, steps, draw)


@family()
def crossing_chords(rng: random.Random, level: int) -> Exercise:
    """Two chords that cross; the length of one part from the three others."""
    p, q, r, s = (rng.randint(level + 1, 2 * level + 3) for _ in range(4))
    a, b, c, x = p * q, r * s, p * r, q * s

    def draw(scene: Scene) -> None:
        way = cmath.rect(1, radians(scene.rng.randint(60, 120)))
        up = ((x - c) / 2 - (b - a) / 2 * way.real) / way.imag
        center = complex((b - a) / 2, up)
        radius = abs(center + a)
        points = 0, -a, b, -c * way, x * way, center, center + radius, center - radius
        cross, *ends, center, edge, _ = scene.fit(points, margin=70)
        scene.circle(center, abs(edge - center))
        scene.line(ends[0], ends[1])
        scene.line(ends[2], ends[3])
        for end, other, text in zip(ends, ends[2:] + ends[:2], (a, b, c, "x"), strict=True):
            color = scene.accent() if text == "x" else None
            scene.side(cross, end, str(text), other, color=color)

    rule = "The parts of two chords that cross have equal products"
    steps = f"{rule}: {c} * x = {a} * {b} = {a * b}, so x = {a * b} / {c} = {x}."
    return Exercise((a, b, c, x), x, steps, draw, key=(sorted((a, b)), c, x))


@family()
def circle_area(rng: random.Random, level: int) -> Exercise:
    """A disc, sector or ring that is shaded; its area as a multiple of π."""
    unit, low, high = ((1, 2, 99), (2, 1, 25), (6, 1, 8), (1, 4, 24), (6, 4, 10))[level - 1]
    outer = rng.randint(low, high)
    inner = rng.randint(-(-outer // 3), outer * 3 // 4) * unit if level > 3 else 0
    outer, angle = outer * unit, 30 * rng.randint(1, 5) if level in (3, 5) else 360
    angle = rng.choice((90, 180)) if level == 2 else angle
    turn = 360 - angle if angle < 360 and rng.random() < 0.5 else angle

    def draw(scene: Scene) -> None:
        center, radius, start = scene.center - 20j, 150, 15 * scene.rng.randrange(24)
        shaded = (start + angle if turn != angle else start, turn)
        within = radius * inner / outer
        back = arc_points(center, within, *shaded)[::-1] if inner else [center]
        scene.polygon(*arc_points(center, radius, *shaded), *back, fill=scene.tint(), width=0)
        scene.circle(center, radius)
        first, last = (arc_points(center, radius, start, by)[-1] for by in (0, angle % 360 or 100))
        scene.line(first, center, *([last] if angle < 360 else []))
        if angle < 180:
            scene.angle(first, center, last, f"{angle}°")
        scene.dot(center, radius=3.5)
        if inner:
            scene.circle(center, within)
            edge = center + (last - center) * inner / outer
            scene.line(center, edge)
            scene.label("R", first, first - center)
            scene.side(center, edge, "r", first)
            scene.label(f"R = {outer}, r = {inner}", complex(center.real, 420))
        else:
            scene.side(center, first, str(outer), last)

    area = Fraction(turn * (outer**2 - inner**2), 360)
    ring = f"({outer}² - {inner}²)" if inner else f"{outer}²"
    steps = f"The area is {turn}/360 of {ring}π, which is {area}π."
    return Exercise((outer, inner, angle, turn), f"{area}π", steps, draw)
