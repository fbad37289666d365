"""Lengths, angles and areas in the plane, and circles."""

import cmath
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import cos, radians

from reasonenv.envs.diagrams.family import Exercise, family, linear
from reasonenv.envs.diagrams.scene import Scene, arc_points, signed


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
    steps, key = f"{rule}: x = {total} - {terms} = {x}.", (x, min(others, others[::-1]))
    return Exercise((x, *others), x, steps, draw, key=key)


@family()
def parallels(rng: random.Random, level: int) -> Exercise:
    """Two parallels and a line across; an angle from another."""
    here, there = rng.randrange(4), rng.randrange(4)
    if level < 3:
        here = (there + level + 1) % 2 + rng.choice((0, 2))
    size = rng.randrange(45, 136, 5 if level < 3 else 1)
    other = size if (here - there) % 2 == 0 else 180 - size
    x = other if level < 4 else rng.randint(8, 30)
    first, second = (0, rng.randint(1, 2))[level == 5], (1, rng.randint(3, 5))[level > 3]
    terms = (first, size - first * x), (second, other - second * x)

    def draw(scene: Scene) -> None:
        way = cmath.rect(1, radians(180 - size if here % 2 else size))
        steps, vertices = (1.7, 0.9 * way, -1.7, -0.9 * way), (0, way / way.imag)
        points = scene.fit([*vertices, *(v + step for v in vertices for step in steps)], margin=16)
        rays = points[2:6], points[6:]
        scene.line(rays[0][3], rays[1][1])
        for vertex, arms, place, term in zip(points, rays, (here, there), terms, strict=False):
            scene.line(arms[2], arms[0])
            scene.chevron(vertex, arms[0])
            text = signed(linear(*term)) + ("" if term[0] else "°")
            color = scene.accent() if term[0] else None
            scene.angle(arms[place], vertex, arms[(place + 1) % 4], text, color)

    left, right = linear(*terms[1]), linear(*terms[0])
    equation = f"add up to 180°: {left} + {right} = 180"
    if (here - there) % 2 == 0:
        equation = f"are equal: {left} = {right}"
    steps, key = f"The angles {equation}, so x = {x}.", _turned_or_mirrored(here, there, terms)
    return Exercise((here, there, *terms), x, steps, draw, key=key)


def _turned_or_mirrored(here: int, there: int, terms: Sequence[tuple[int, int]]) -> object:
    """The least of the forms of the same figure of two parallels."""
    turned = (there + 2) % 4, (here + 2) % 4, terms[::-1]
    forms = (here, there, terms), turned
    return min((a ^ flip, b ^ flip, pair) for a, b, pair in forms for flip in (0, 1))


_TRIPLES = (3, 4, 5), (5, 12, 13), (8, 15, 17), (20, 21, 29), (28, 45, 53), (33, 56, 65)
"""Whole sides of right triangles without a common factor, none of them very slim."""


def draw_triple(rng: random.Random, level: int) -> tuple[int, int, int]:
    """Sides of a right triangle, the legs in any order: more and larger ones at higher levels."""
    first, second, longest = _TRIPLES[rng.randrange((3, 3, 4, 5, 6)[level - 1])]
    factor = rng.randint(1, (110 + 20 * level) // longest)
    legs = (first, second) if rng.random() < 0.5 else (second, first)
    return legs[0] * factor, legs[1] * factor, longest * factor


@family()
def pythagoras(rng: random.Random, level: int) -> Exercise:
    """A right triangle with two of its sides; the third."""
    sides, place_of_x = draw_triple(rng, level), 2 if level == 1 else rng.randrange(3)
    x, others = sides[place_of_x], [side for place, side in enumerate(sides) if place != place_of_x]

    def draw(scene: Scene) -> None:
        foot, right, top = scene.fit([0, sides[0], sides[1] * 1j], margin=50)
        scene.polygon(foot, right, top, fill=scene.tint())
        scene.right_angle(right, foot, top)
        ends = (foot, right, top), (foot, top, right), (right, top, foot)
        for place, (start, end, inside) in enumerate(ends):
            is_x = place == place_of_x
            text, color = ("x", scene.accent(1)) if is_x else (str(sides[place]), None)
            scene.side(start, end, text, inside, color=color)

    squares = f"{others[0]}² + {others[1]}²" if place_of_x == 2 else f"{others[1]}² - {others[0]}²"
    steps = f"x² = {squares} = {x * x}, so x = {x}."
    return Exercise((place_of_x, *sides), x, steps, draw, key=(x, sorted(sides)))


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


Columns = tuple[tuple[int, int], ...]
"""Width and height of rectangles side by side."""


def _columns(rng: random.Random, level: int) -> Columns:
    """Columns whose heights differ by enough for a label."""
    count, largest = ((2, 16), (2, 24), (3, 15), (4, 15), (5, 15))[level - 1]
    heights, spread = [rng.randint(largest // 3, largest)], range(largest // 3, largest + 1)
    while len(heights) < count:
        heights.append(rng.choice([y for y in spread if abs(y - heights[-1]) >= largest // 5]))
    return tuple((rng.randint(3, largest * 2 // (count + 1)), height) for height in heights)


def _draw_columns(scene: Scene, columns: Columns) -> None:
    points, lengths, x, before = [0j], [], 0, 0
    for width, height in columns:
        points += [complex(x, height), complex(x + width, height)]
        lengths += [abs(height - before), width]
        x, before = x + width, height
    turn = scene.rng.choice((1, 1j, -1, -1j))
    points = scene.fit([turn * point for point in (*points, x)], 56, is_turned=False)
    scene.polygon(*points, fill=scene.tint())
    # The sides along the whole and the last height follow from the others.
    for (start, end), length in zip(pairwise(points), lengths, strict=False):
        scene.side(start, end, str(length), (start + end) / 2 + 1j * (end - start))


@family()
def composed_area(rng: random.Random, level: int) -> Exercise:
    """A shape with right angles alone and the lengths of most sides; its area."""
    columns = _columns(rng, level)
    area = sum(width * height for width, height in columns)
    terms = " + ".join(f"{width} * {height}" for width, height in columns)
    steps = f"Cut it into rectangles. The area is {terms} = {area}."
    key = min(columns, columns[::-1])
    return Exercise(columns, area, steps, lambda scene: _draw_columns(scene, columns), key=key)


@family()
def composed_perimeter(rng: random.Random, level: int) -> Exercise:
    """A shape with right angles alone and the lengths of most sides; its perimeter."""
    columns = _columns(rng, level)
    heights = [0, *(height for _, height in columns), 0]
    lengths = [abs(after - before) for before, after in pairwise(heights)]
    widths = [width for width, _ in columns]
    lengths += [*widths, sum(widths)]
    steps = f"Add all sides up: {' + '.join(map(str, lengths))} = {sum(lengths)}."
    key, total = min(columns, columns[::-1]), sum(lengths)
    return Exercise(columns, total, steps, lambda scene: _draw_columns(scene, columns), key=key)


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
