"""Second solvers of plane geometry, solids, coordinates, scales and maps."""

import cmath
import math

import sympy


def last_angle(*angles):
    """The first angle, by an equation for the sum of a polygon's or of a full turn's."""
    x = sympy.Symbol("x")
    return sympy.solve(x + sum(angles[1:]) - 360, x)[0]


def last_polygon_angle(*angles):
    x = sympy.Symbol("x")
    exterior = [180 - angle for angle in (x, *angles[1:])]
    return sympy.solve(sum(exterior) - 360, x)[0]


def slope(limit, a, b):
    return sympy.Line(a, b).slope


X = sympy.Symbol("x")


def parallels(here, there, first, second):
    """By the angles between the lines' directions, counted in quarters of a full turn."""
    known, unknown = (factor * X + rest for factor, rest in (first, second))
    size = [known if (quarter - here) % 2 == 0 else 180 - known for quarter in range(4)]
    return sympy.solve(size[there] - unknown, X)[0]


def triangle_angle(kind, a, b=0, c=0):
    """By the sums of angles of each triangle in the figure."""
    y, z = sympy.symbols("y z")
    equations = {
        "apex": [a + a + X - 180],
        "base": [X + X + a - 180],
        "exterior": [a + b + y - 180, X + y - 180],
        "remote": [a + X + y - 180, b + y - 180],
        "split": [a + b + y - 180, (180 - y) + c + X - 180],
        "chain": [X + y + y - 180, a + b + z - 180, y + z - 180],
    }
    return sympy.solve(equations[kind], dict=True)[0][X]


def circle_angle(kind, size):
    """By the measured angles of points on a circle, in floats."""
    half = {3: 90, 5: 90 - size}.get(kind, size)
    turns = {"A": -90 - half, "B": -90 + half, "C": 2 * size if kind == 3 else 92, "D": -91}
    place = {name: cmath.rect(1, math.radians(turn)) for name, turn in turns.items()}
    place["O"] = 0
    given, asked = ("AOB ACB", "ACB AOB", "CAB CBA", "ACB ADB", "OAB ACB")[kind - 1].split()

    def angle(first, vertex, last):
        ratio = (place[first] - place[vertex]) / (place[last] - place[vertex])
        return round(abs(math.degrees(cmath.phase(ratio))), 6)

    assert angle(*given) == (2 * size if kind == 1 else size)
    return round(angle(*asked))


def positive_root(equation):
    return max(sympy.solve(equation, X))


def tangent(asked, is_outer, radius, length, distance):
    if asked == "tangent":
        return positive_root(X**2 + radius**2 - distance**2)
    outer = distance - radius
    return positive_root(X**2 + length**2 - ((X + outer) if is_outer else distance) ** 2)


def chord(*numbers):
    if numbers[0] < 3:
        sides = list(numbers[1:])
        sides[numbers[0]] = X
        return positive_root(sides[0] ** 2 + sides[1] ** 2 - sides[2] ** 2)
    return sympy.solve(numbers[0] * numbers[1] - numbers[2] * X, X)[0]


def circle_area(outer, inner, angle, is_other):
    r, turn = sympy.symbols("r turn")
    turns = (angle, 360) if is_other and angle < 360 else (0, angle)
    span = [sympy.pi * each / 180 for each in turns]
    area = sympy.integrate(r, (r, inner, outer), (turn, *span))
    return f"{area / sympy.pi}π"


def pythagoras(asked, *sides):
    sides = [X if place == asked else side for place, side in enumerate(sides)]
    if len(sides) == 3:
        return positive_root(sides[0] ** 2 + sides[1] ** 2 - sides[2] ** 2)
    _, near, longest, far, end = sides  # the altitude is not in the figure
    height = positive_root(X**2 + near**2 - longest**2)
    return positive_root(height**2 + far**2 - end**2)


def similar_triangles(kind, a, b, c, x):
    """By the scale of the smaller triangle in the larger one."""
    scale = sympy.Rational(b, c) if kind == 3 else sympy.Rational(a, a + b)
    equations = (c - scale * X, X - scale * c, c - scale * (c + X), a - scale * (a + X))
    return sympy.solve(equations[kind], X)[0]


def polygon_area(base, top, height, shift, slant):
    corners = (0, 0), (base, 0), (shift + top, height), (shift, height)
    return abs(sympy.Polygon(*dict.fromkeys(corners)).area)


SOLVERS = {
    "pythagoras": pythagoras,
    "similar_triangles": similar_triangles,
    "polygon_area": polygon_area,
    "circle_angles": circle_angle,
    "tangent": tangent,
    "chords": chord,
    "circle_area": circle_area,
    "parallels": parallels,
    "triangle_angles": triangle_angle,
    "angles_at_point": last_angle,
    "polygon_angles": last_polygon_angle,
    "slope": slope,
    "thermometer": lambda tick, step, low, first, second: (
        tick * (len(range(low, second, tick)) - len(range(low, first, tick)))
    ),
}
