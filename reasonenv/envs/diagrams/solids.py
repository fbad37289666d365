"""Stacks of cubes, boxes and nets."""

import random
from itertools import product

from reasonenv.envs.diagrams.family import Exercise, family
from reasonenv.envs.diagrams.scene import Scene

_LEFT, _RIGHT, _UP = complex(-0.87, -0.5), complex(0.87, -0.5), -1j
"""Ways along the edges of a cube from its nearest corner."""
_SQUARE = 0, 1, 1 + 1j, 1j


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


# Faces with the same letter, large and small, are opposite each other.
_NETS = (
    *(".A../cbCB/..a.", ".A../cbCB/.a..", "AC./.b./.c./.Ba", "AC./.b./.ca/.B."),
    *("AC./.ba/.c./.B.", "ACa/.b./.c./.B.", "AC../.ba./..cB", "AC../.baB/...c"),
    *("AC../.baB/..c.", "AC../.baB/.c..", "ACa../..bcB"),
)


@family()
def cube_net(rng: random.Random, level: int) -> Exercise:
    """A net of a cube with a number on each face; which numbers lie opposite each other."""
    net = rng.choice(_NETS[:6] if level == 1 else _NETS)
    numbers = rng.sample(range(1, 10) if level == 1 else range(10, 100), 6)
    number = dict(zip("AaBbCc", numbers, strict=True))
    pairs = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    opposite = f"Which number is opposite the {number['A']}?"
    both = f"the number opposite the {number['A']} and the one opposite the {number['B']}"
    asked, terms = (
        (opposite, numbers[1:2]),
        (opposite, numbers[1:2]),
        (f"What is the sum of {both}?", (number["a"], number["b"])),
        ("What is the largest sum of two numbers on opposite faces?", max(pairs, key=sum)),
        (
            "What is the largest sum of the numbers on three faces that meet at a corner?",
            tuple(map(max, pairs)),
        ),
    )[level - 1]

    def draw(scene: Scene) -> None:
        rows = list(enumerate(net.split("/")))
        cells = [(complex(x, -y), row[x]) for y, row in rows for x in range(len(row))]
        cells = [(cell, letter) for cell, letter in cells if letter != "."]
        turn = scene.rng.choice((1, 1j, -1, -1j))
        points = [turn * (cell + step) for cell, _ in cells for step in _SQUARE]
        places = scene.fit(points, 20, is_turned=False)
        for place, (_, letter) in enumerate(cells):
            square = places[4 * place : 4 * place + 4]
            scene.polygon(*square, fill=scene.tint())
            scene.label(str(number[letter]), sum(square) / 4, size=26)

    listed = ", ".join(f"{first} and {second}" for first, second in pairs)
    result = f"{' + '.join(map(str, terms))} = {sum(terms)}" if level > 2 else str(sum(terms))
    steps = f"Opposite each other are {listed}. So the answer is {result}."
    return Exercise((level, tuple(number.items()), net), sum(terms), steps, draw, (asked,))
