"""Second solvers of plane geometry, solids, coordinates, scales and maps."""

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


SOLVERS = {
    "angles_at_point": last_angle,
    "polygon_angles": last_polygon_angle,
    "slope": slope,
    "thermometer": lambda tick, step, low, first, second: (
        tick * (len(range(low, second, tick)) - len(range(low, first, tick)))
    ),
}
