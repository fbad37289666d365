"""Second solvers of plane geometry, solids, coordinates, scales and maps."""

import cmath
import itertools
import math
from fractions import Fraction

import networkx
import numpy as np
import sympy

from reasonenv.envs.diagrams.family import text_of


def last_polygon_angle(*angles):
    x = sympy.Symbol("x")
    exterior = [180 - angle for angle in (x, *angles[1:])]
    return sympy.solve(sum(exterior) - 360, x)[0]


def slope(limit, a, b):
    return sympy.Line(a, b).slope


X = sympy.Symbol("x")


def parallels(here, there, first, second):
    """By the angles between the lines' directions, counted in quarters of a full turn."""
    angle, unknown = (factor * X + rest for factor, rest in (first, second))
    size = [angle if (quarter - here) % 2 == 0 else 180 - angle for quarter in range(4)]
    return sympy.solve(size[there] - unknown, X)[0]


def circle_angle(kind, size):
    """By the measured angles of points on a circle, in floats."""
    half = {3: 90, 5: 90 - size}.get(kind, size)
    turns = {"A": -90 - half, "B": -90 + half, "C": 2 * size if kind == 3 else 92, "D": -91}
    place = {name: cmath.rect(1, math.radians(turn)) for name, turn in turns.items()}
    place["O"] = 0
    mark, target = ("AOB ACB", "ACB AOB", "CAB CBA", "ACB ADB", "OAB ACB")[kind - 1].split()

    def angle(first, vertex, last):
        ratio = (place[first] - place[vertex]) / (place[last] - place[vertex])
        return round(abs(math.degrees(cmath.phase(ratio))), 6)

    assert angle(*mark) == (2 * size if kind == 1 else size)
    return round(angle(*target))


def positive_root(equation):
    return max(sympy.solve(equation, X))


def tangent(is_radius, is_outer, radius, length, distance):
    if not is_radius:
        return positive_root(X**2 + radius**2 - distance**2)
    outer = distance - radius
    return positive_root(X**2 + length**2 - ((X + outer) if is_outer else distance) ** 2)


def missing_side(unknown, *sides):
    sides = [X if place == unknown else side for place, side in enumerate(sides)]
    return positive_root(sides[0] ** 2 + sides[1] ** 2 - sides[2] ** 2)


def circle_area(outer, inner, angle, turn):
    r, t = sympy.symbols("r t")
    turns = (0, angle) if turn == angle else (angle, 360)
    span = [sympy.pi * each / 180 for each in turns]
    area = sympy.integrate(r, (r, inner, outer), (t, *span))
    return f"{area / sympy.pi}π"


def similar_triangles(kind, a, b, c, x):
    """By the scale of the smaller triangle in the larger one."""
    scale = sympy.Rational(b, c) if kind == 3 else sympy.Rational(a, a + b)
    equations = (c - scale * X, X - scale * c, c - scale * (c + X), a - scale * (a + X))
    return sympy.solve(equations[kind], X)[0]


def grid_cells(columns):
    """Unit squares of a shape of columns side by side."""
    lefts = [sum(width for width, _ in columns[:place]) for place in range(len(columns))]
    return {
        (x, y)
        for left, (width, height) in zip(lefts, columns, strict=True)
        for x in range(left, left + width)
        for y in range(height)
    }


def perimeter(*columns):
    """By the sides of unit squares that no other square has."""
    cells = grid_cells(columns)
    around = ((1, 0), (-1, 0), (0, 1), (0, -1))
    return sum((x + dx, y + dy) not in cells for x, y in cells for dx, dy in around)


def cuboid(measure, a, b, c):
    """By counting unit cubes, unit squares and unit edges."""
    cubes = set(itertools.product(range(a), range(b), range(c)))
    if measure == "volume":
        return len(cubes)
    if measure == "surface area":
        return sum(
            tuple(cube[axis] + step * (axis == place) for axis in range(3)) not in cubes
            for cube in cubes
            for place in range(3)
            for step in (-1, 1)
        )
    return sum(len(range(edge)) for edge in (a, b, c) for _ in range(4))


def point_text(point):
    return f"({point[0]}, {point[1]})"


def intersection(first, second):
    (point,) = sympy.Line(*first).intersection(sympy.Line(*second))
    return point_text([text_of(Fraction(str(x))) for x in point])


MIRRORS = {"x-axis": (1, 0), "y-axis": (0, 1), "line y = x": (1, 1), "line y = -x": (1, -1)}
TURNS = {"90° counterclockwise": 90, "90° clockwise": -90, "180°": 180}


def transformation(motions, corner, corners):
    """By sympy's reflections and rotations."""
    point = sympy.Point(*corners[corner])
    lines = {name: sympy.Line((0, 0), way) for name, way in MIRRORS.items()}
    lines |= {"line x = 1": sympy.Line((1, 0), (1, 1)), "line y = -1": sympy.Line((0, -1), (1, -1))}
    for motion in motions:
        mirror = motion.removeprefix("reflected in the ")
        turn = motion.removeprefix("rotated by ").removesuffix(" about the origin")
        if mirror in lines:
            point = point.reflect(lines[mirror])
        else:
            point = point.rotate(sympy.rad(TURNS[turn]))
    return point_text(point)


def zeros(quantity, roots):
    """By the coefficients of the polynomial, by Vieta's formulas."""
    polynomial = sympy.Poly.from_expr(sympy.prod(X - root for root in roots), X)
    _, second, third, *_, last = (*polynomial.all_coeffs()[:3], polynomial.all_coeffs()[-1])
    return {
        "the larger zero": max(sympy.roots(polynomial)),
        "the smaller zero": min(sympy.roots(polynomial)),
        "the sum of all zeros": -second,
        "the product of all zeros": (-1) ** len(roots) * last,
        "the sum of the squares of all zeros": second**2 - 2 * third,
    }[quantity]


def area_under(*nodes):
    total = 0
    for (x, y), (z, w) in itertools.pairwise(nodes):
        height = y + sympy.Rational(w - y, z - x) * (X - x)
        total += sympy.integrate(height, (X, x, z))
    return total


def formula(kind, factor, shift, rest):
    """The function itself, with which that of the answer is compared."""
    power = {"line": X, "square": (X - shift) ** 2, "absolute": sympy.Abs(X - shift)}[kind]
    return factor * power + rest


def number_at(first, step, parts, arrow):
    return sympy.interpolate([(0, first), (parts, first + parts * step)], X).subs(X, arrow)


def ruler(*bars):
    first, *second = (len(range(start, end)) for start, end in bars)
    return sympy.Rational(abs(first - sum(second)), 10)


def road(nodes, squares, km):
    """By unit steps along the road."""
    steps = 0
    for (x, y), (z, w) in itertools.pairwise(nodes):
        steps += len(range(min(x, z), max(x, z))) + len(range(min(y, w), max(y, w)))
    return sympy.Rational(km, squares) * steps


def grid_paths(columns, rows, barriers):
    """By the adjacency matrix of the streets: its power counts ways."""
    graph = networkx.grid_2d_graph(columns + 1, rows + 1, create_using=networkx.DiGraph)
    graph.remove_edges_from([(a, b) for a, b in graph.edges if sum(b) < sum(a)])
    graph.remove_nodes_from(barriers)
    nodes = list(graph)
    power = np.linalg.matrix_power(
        networkx.to_numpy_array(graph, nodelist=nodes, dtype=np.int64), columns + rows
    )
    return int(power[nodes.index((0, 0)), nodes.index((columns, rows))])


def fraction_of_shape(kind, rows):
    """By areas in the smallest common unit."""
    unit = math.lcm(*map(len, rows))
    shaded = sum(unit // len(parts) * sum(parts) for parts in rows)
    return Fraction(shaded, unit * len(rows))


def symmetry(size, axis, colored):
    """By flipping an array of the squares."""
    whole = np.zeros((size, size), bool)
    whole[tuple(zip(*colored, strict=True))] = True
    flips = {"|": lambda a: a[::-1], "-": lambda a: a[:, ::-1]}
    flips |= {"/": lambda a: a.T, "\\": lambda a: a[::-1, ::-1].T}
    for way in axis:
        whole |= flips[way](whole)
    return int(whole.sum()) - len(colored)


SOLVERS = {
    "intersection": intersection,
    "transformation": transformation,
    "zeros": zeros,
    "area_under": area_under,
    "formula": formula,
    "number_line": number_at,
    "ruler": ruler,
    "map_scale": road,
    "grid_paths": grid_paths,
    "fraction_of_shape": fraction_of_shape,
    "symmetry": symmetry,
    "composed_area": lambda *columns: len(grid_cells(columns)),
    "composed_perimeter": perimeter,
    "cube_stack": lambda *rows: sum(
        layer < height for row in rows for height in row for layer in range(9)
    ),
    "cuboid": cuboid,
    "pythagoras": missing_side,
    "similar_triangles": similar_triangles,
    "circle_angles": circle_angle,
    "tangent": tangent,
    "crossing_chords": lambda a, b, c, x: sympy.solve(a * b - c * X, X)[0],
    "circle_area": circle_area,
    "parallels": parallels,
    "polygon_angles": last_polygon_angle,
    "slope": slope,
    "thermometer": lambda tick, step, low, first, second: (
        tick * (len(range(low, second, tick)) - len(range(low, first, tick)))
    ),
}
