"""Stacks of cubes, boxes and nets."""

import random
from itertools import product

from reasonenv.envs.diagrams.family import Exercise, family
from reasonenv.envs.diagrams.scene import Scene

_LEFT, _RIGHT, _UP = complex(-0.87, -0.5), complex(0.87, -0.5), -1j
"""Ways along the edges of a cube from its nearest corner."""


def _draw_box(scene: Scene, corner: complex, left: complex, right: complex, up: complex) -> None:
    """The visible faces of a box from its nearest corner."""
    scene.polygon(corner, corner + left, corner + left + up, corner + up, fill=scene.tint(0))
    scene.polygon(corner, corner + right, corner + right + up, corner + up, fill=scene.tint(1))
    top = corner + up
    scene.polygon(top, top + left, top + left + right, top + right, fill=scene.tint(2))


@family()
def cube_stack(rng: random.Random, level: int) -> Exercise:
    """A stack of cubes in a corner, none of which is hidden behind a higher one; how many."""
    rows, columns, layers = ((2, 3, 4), (3, 3, 4), (3, 4, 4), (4, 4, 5), (5, 5, 5))[level - 1]
    heights = [[layers] * columns for _ in range(rows)]
    for row, column in product(range(rows), range(columns)):
        bounds = heights[max(row - 1, 0)][column], heights[row][max(column - 1, 0)]
        heights[row][column] = max(0, min(bounds) - rng.choice((0, 0, 0, 1, 1, 2)))

    def draw(scene: Scene) -> None:
        size = 410 / max(0.87 * (rows + columns), (rows + columns) / 2 + heights[0][0])
        left, right, up = size * _LEFT, size * _RIGHT, size * _UP
        back = scene.center + (rows * right + columns * left - heights[0][0] * up) / 2
        for row, column in product(range(rows), range(columns)):
            front = back - (row + 1) * right - (column + 1) * left
            for layer in range(heights[row][column]):
                _draw_box(scene, front + layer * up, left, right, up)

    counts = [height for row in heights for height in row if height]
    steps = f"Count column by column: {' + '.join(map(str, counts))} = {sum(counts)}."
    return Exercise(tuple(map(tuple, heights)), sum(counts), steps, draw)


@family()
def cuboid(rng: random.Random, level: int) -> Exercise:
    """A box, or its net at level 5; its volume, surface or the length of all edges."""
    largest = (9, 9, 12, 20, 12)[level - 1]
    a, b, c = (rng.randint(largest // 3, largest) for _ in range(3))
    surface = 2 * (a * b + a * c + b * c)
    measures = (
        ("volume", a * b * c, f"{a} * {b} * {c}"),
        ("total length of all edges", 4 * (a + b + c), f"4 * ({a} + {b} + {c})"),
        ("surface area", surface, f"2 * ({a} * {b} + {a} * {c} + {b} * {c})"),
    )
    measure, answer, term = rng.choice(measures[level == 4 and 2 : min(level, 3)])

    def draw(scene: Scene) -> None:
        scale = 300 / (max(a, b) + c)
        left, right, up = scale * a * _LEFT, scale * b * _RIGHT, scale * c * _UP
        corner = scene.center - (left + right + up) / 2
        _draw_box(scene, corner, left, right, up)
        scene.side(corner, corner + left, str(a), corner + up)
        scene.side(corner, corner + right, str(b), corner + up)
        scene.side(corner + right, corner + right + up, str(c), corner)

    def draw_net(scene: Scene) -> None:
        xs, ys = (0, c, c + a, 2 * c + a, 2 * c + 2 * a), (0, c, c + b, 2 * c + b)
        faces = (0, 1), (1, 1), (2, 1), (3, 1), (1, 0), (1, 2)
        steps = (0, 0), (1, 0), (1, 1), (0, 1)
        points = [complex(xs[x + i], ys[y + j]) for x, y in faces for i, j in steps]
        places = scene.fit(points, 40, is_turned=False)
        for place in range(0, 24, 4):
            scene.polygon(*places[place : place + 4], fill=scene.tint())
        scene.side(places[16], places[17], str(a), places[18])
        scene.side(places[17], places[18], str(c), places[16])
        scene.side(places[0], places[3], str(b), places[1])

    steps = f"The edges are {a}, {b} and {c} long. The {measure} is {term} = {answer}."
    key, pen = (measure, sorted((a, b, c))), draw_net if level == 5 else draw
    return Exercise((measure, a, b, c), answer, steps, pen, (measure,), key)
