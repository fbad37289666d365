"""Stacks of cubes, boxes and nets."""

import random
from collections.abc import Iterator
from itertools import product

from reasonenv.envs.diagrams.family import Family, Operands, Solution, register
from reasonenv.envs.diagrams.scene import Scene

_LEFT, _RIGHT, _UP = complex(-0.87, -0.5), complex(0.87, -0.5), -1j
"""Ways along the edges of a cube from its nearest corner."""


def draw_box(scene: Scene, corner: complex, size: tuple[complex, complex, complex]) -> None:
    """The visible faces of a box from its nearest corner, with edges to the left, right and up."""
    left, right, up = size
    look = scene.tint(0), scene.tint(1), scene.tint(2)
    scene.polygon(corner, corner + left, corner + left + up, corner + up, fill=look[0])
    scene.polygon(corner, corner + right, corner + right + up, corner + up, fill=look[1])
    top = corner + up
    scene.polygon(top, top + left, top + left + right, top + right, fill=look[2])


@register
class _CubeStack(Family):
    """A stack of cubes in a corner, none of which is hidden behind a higher one; how many.

    Levels: a floor of 2 by 3, 3 by 3, 3 by 4, 4 by 4 and 5 by 5 cubes, 3 to 5 layers.
    """

    name = "cube_stack"
    questions = (
        "How many cubes are in the stack? Below each cube there are cubes down to the floor.",
        "Count the cubes, those that are hidden below others too. No cube floats.",
        "How many cubes was this solid built of? There are no gaps below the cubes.",
        "The solid is made of equal cubes without any gap below. How many are there?",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        rows, columns = ((2, 3), (3, 3), (3, 4), (4, 4), (5, 5))[level - 1]
        highest = (4, 4, 4, 5, 5)[level - 1]
        heights = [[highest] * columns for _ in range(rows)]
        for row, column in product(range(rows), range(columns)):
            bounds = heights[max(row - 1, 0)][column], heights[row][max(column - 1, 0)]
            heights[row][column] = max(0, min(bounds) - rng.choice((0, 0, 0, 1, 1, 2)))
        return tuple(map(tuple, heights))

    def draw(self, scene: Scene, operands: Operands) -> None:
        rows, columns, layers = len(operands), len(operands[0]), operands[0][0]
        size = 410 / max(0.87 * (rows + columns), (rows + columns) / 2 + layers)
        left, right, up = size * _LEFT, size * _RIGHT, size * _UP
        back = scene.center + (rows * right + columns * left - layers * up) / 2
        for row, column in product(range(rows), range(columns)):
            front = back - (row + 1) * right - (column + 1) * left
            for layer in range(operands[row][column]):
                draw_box(scene, front + layer * up, (left, right, up))

    def solve(self, operands: Operands) -> Solution:
        counts = [height for row in operands for height in row if height]
        terms = " + ".join(map(str, counts))
        return Solution(sum(counts), f"Count column by column: {terms} = {sum(counts)}.")


_MEASURES = {
    "volume": lambda a, b, c: (a * b * c, f"{a} * {b} * {c}"),
    "surface area": lambda a, b, c: (
        2 * (a * b + a * c + b * c),
        f"2 * ({a} * {b} + {a} * {c} + {b} * {c})",
    ),
    "total length of all edges": lambda a, b, c: (4 * (a + b + c), f"4 * ({a} + {b} + {c})"),
}


@register
class _Cuboid(Family):
    """A box with the lengths of its edges; its volume, surface or the length of all edges.

    Levels: volumes; also edges; also surfaces; surfaces of larger boxes; a net in place of the box.
    """

    name = "cuboid"
    questions = (
        "What is the {0} of the box?",
        "Calculate the {0} of the box.",
        "Find the {0} of the rectangular box in the figure.",
        "How large is the {0} of this cuboid?",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        measures = ("volume",), ("volume", "total length of all edges"), tuple(_MEASURES)
        measure = rng.choice((*measures, ("surface area",), tuple(_MEASURES))[level - 1])
        largest = (9, 9, 12, 20, 12)[level - 1]
        return measure, level == 5, *(rng.randint(largest // 3, largest) for _ in range(3))

    def words(self, operands: Operands) -> Operands:
        return operands[:1]

    def draw(self, scene: Scene, operands: Operands) -> None:
        _, is_net, a, b, c = operands
        if is_net:
            return self._draw_net(scene, a, b, c)
        scale = 260 / (max(a, b) + c)
        sizes = scale * a * _LEFT, scale * b * _RIGHT, scale * c * _UP
        left, right, up = sizes
        corner = scene.center - (left + right + up) / 2
        draw_box(scene, corner, sizes)
        scene.side(corner, corner + left, str(a), corner + up)
        scene.side(corner, corner + right, str(b), corner + up)
        scene.side(corner + right, corner + right + up, str(c), corner)
        return None

    def _draw_net(self, scene: Scene, a: int, b: int, c: int) -> None:
        xs, ys = (0, c, c + a, 2 * c + a, 2 * c + 2 * a), (0, c, c + b, 2 * c + b)
        faces = (0, 1), (1, 1), (2, 1), (3, 1), (1, 0), (1, 2)
        corners = [complex(xs[x + i], ys[y + j]) for x, y in faces for i, j in _SQUARE]
        places = scene.fit(corners, 40, is_turned=False)
        for place in range(0, 24, 4):
            scene.polygon(*places[place : place + 4], fill=scene.tint())
        scene.side(places[16], places[17], str(a), places[18])
        scene.side(places[17], places[18], str(c), places[16])
        scene.side(places[0], places[3], str(b), places[1])

    def solve(self, operands: Operands) -> Solution:
        measure, is_net, *edges = operands
        value, term = _MEASURES[measure](*edges)
        folded = f"The net folds to a box of {edges[0]} by {edges[1]} by {edges[2]}. "
        steps = f"{folded if is_net else ''}The {measure} is {term} = {value}."
        return Solution(value, steps)

    def canonical(self, operands: Operands) -> Operands:
        return *operands[:2], *sorted(operands[2:])


_SQUARE = (0, 0), (1, 0), (1, 1), (0, 1)
# Faces with the same letter, large and small, are opposite each other.
_NETS = (
    *(".A../cbCB/..a.", ".A../cbCB/.a..", "AC./.b./.c./.Ba", "AC./.b./.ca/.B."),
    *("AC./.ba/.c./.B.", "ACa/.b./.c./.B.", "AC../.ba./..cB", "AC../.baB/...c"),
    *("AC../.baB/..c.", "AC../.baB/.c..", "ACa../..bcB"),
)


@register
class _CubeNet(Family):
    """A net of a cube with a number on each face; which numbers lie opposite each other.

    Levels: the number opposite another, in nets with four faces in a row; in any net; the sum of
    the numbers opposite two others; the largest sum of opposite numbers; the largest sum of three
    numbers at a corner.
    """

    name = "cube_net"
    questions = (
        "The figure is the net of a cube. {0}",
        "The net is folded to a cube with the numbers outside. {0}",
        "Fold the net to a cube in your mind. {0}",
        "Imagine the cube that this net makes. {0}",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        net = rng.choice(_NETS[:6] if level == 1 else _NETS)
        numbers = rng.sample(range(1, 10) if level == 1 else range(10, 100), 6)
        return level, tuple(sorted(zip("AaBbCc", numbers, strict=True))), net

    def words(self, operands: Operands) -> Operands:
        level, faces, _ = operands
        first, second = faces[0][1], faces[1][1]
        return (
            (
                f"Which number is opposite the {first}?",
                f"Which number is opposite the {first}?",
                f"What is the sum of the number opposite the {first} and the one opposite the "
                f"{second}?",
                "What is the largest sum of two numbers on opposite faces?",
                "What is the largest sum of the numbers on three faces that meet at a corner?",
            )[level - 1],
        )

    def draw(self, scene: Scene, operands: Operands) -> None:
        _, faces, net = operands
        cells = list(_cells(net))
        turn = scene.rng.choice((1, 1j, -1, -1j))
        corners = [turn * (cell + complex(*step)) for _, cell in cells for step in _SQUARE]
        places = scene.fit(corners, 20, is_turned=False)
        for place, (letter, _) in enumerate(cells):
            square = places[4 * place : 4 * place + 4]
            scene.polygon(*square, fill=scene.tint())
            scene.label(str(dict(faces)[letter]), sum(square) / 4, size=26)

    def solve(self, operands: Operands) -> Solution:
        level, faces, _ = operands
        number = dict(faces)
        pairs = [(number[letter], number[letter.lower()]) for letter in "ABC"]
        listed = ", ".join(f"{first} and {second}" for first, second in pairs)
        steps = f"Opposite each other are {listed}. "
        if level < 3:
            return Solution(number["a"], f"{steps}So it is {number['a']}.")
        if level == 3:
            terms = number["a"], number["b"]
        elif level == 4:
            terms = max(pairs, key=sum)
        else:
            terms = tuple(map(max, pairs))
        total = sum(terms)
        return Solution(total, f"{steps}The sum is {' + '.join(map(str, terms))} = {total}.")


def _cells(net: str) -> Iterator[tuple[str, complex]]:
    """The letter of each face of a net and the place of its square."""
    for y, row in enumerate(net.split("/")):
        for x, letter in enumerate(row):
            if letter != ".":
                yield letter, complex(x, -y)
