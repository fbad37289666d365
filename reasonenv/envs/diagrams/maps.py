"""Maps with a scale, and ways through a grid of streets."""

import random
from fractions import Fraction
from itertools import pairwise

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Family, Operands, Solution, register, text_of
from reasonenv.envs.diagrams.scene import Scene


@register
class _MapScale(Family):
    """Places on a squared map, a road between two of them and a bar with the scale; its length.

    Levels: a straight road, and a bar of one square; roads with 1, 2, 3 and 4 turns, and bars of 2
    to 4 squares.
    """

    name = "map_scale"
    height = 504
    questions = (
        "How many km long is the road from A to B?",
        "Use the scale: what is the length of the road between A and B, in km?",
        "You walk along the road from A to B. How many kilometers is that?",
        "Find the length in km of the road that joins A and B on the map.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        is_across, nodes = rng.random() < 0.5, []
        columns = sorted(rng.sample(range(9), (level + is_across) // 2 + 1))
        x, y = columns.pop(0), rng.randrange(9)
        nodes.append((x, y))
        for _ in range(level):
            x = columns.pop(0) if is_across else x
            y = y if is_across else rng.choice([row for row in range(9) if row != y])
            nodes.append((x, y))
            is_across = not is_across
        return tuple(nodes), 1 if level == 1 else rng.randint(2, 4), rng.randint(2, 12)

    def draw(self, scene: Scene, operands: Operands) -> None:
        nodes, squares, km = operands
        axes = Axes(scene, (0, 8), (0, 8), 36 + 30j, 376 + 376j)
        for place in range(3):
            spot = axes.at(scene.rng.randint(1, 7), scene.rng.randint(1, 7))
            scene.circle(spot, scene.rng.randint(20, 44), fill=scene.tint(place), width=0)
        axes.grid(range(9), range(9))
        points = [axes.at(*node) for node in nodes]
        scene.line(*points, color=scene.accent(3), width=2.2)
        start, end = (complex(axes.at(x, 0).real, 440) for x in (2, 2 + squares))
        scene.line(start - 7j, start + 7j, start, end, end - 7j, end + 7j)
        scene.label(f"{km} km", (start + end) / 2, 1j)
        for name, point in (("A", points[0]), ("B", points[-1])):
            scene.dot(point)
            scene.name(name, point)

    def solve(self, operands: Operands) -> Solution:
        nodes, squares, km = operands
        lengths = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairwise(nodes)]
        total = Fraction(sum(lengths) * km, squares)
        terms = " + ".join(map(str, lengths))
        scale = f"{km} km are {squares} squares" if squares > 1 else f"a square is {km} km"
        steps = f"The road is {terms} = {sum(lengths)} squares long and {scale}"
        return Solution(total, f"{steps}: {sum(lengths)} * {km} / {squares} = {text_of(total)}.")

    def canonical(self, operands: Operands) -> Operands:
        nodes, *scale = operands
        return min(nodes, nodes[::-1]), *scale


@register
class _GridPaths(Family):
    """A grid of streets with barriers; the number of shortest ways between two corners.

    Levels: 1, 1, 2, 3 and 4 barriers, and streets up to 4 by 3, 5 by 4, 5 by 4, 5 by 5 and 6 by 6
    blocks.
    """

    name = "grid_paths"
    questions = (
        "How many shortest ways along the streets lead from A to B? No way may pass a red cross.",
        "Count the ways from A to B that go right or up only and avoid the marked crossings.",
        "In how many ways can one go from A to B, only to the right and up, past no red cross?",
        "Find the number of shortest routes from A to B that pass none of the marked crossings.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        columns, rows = ((4, 3), (5, 4), (5, 4), (5, 5), (6, 6))[level - 1]
        columns, rows = rng.randint(columns - 1, columns), rng.randint(rows - 1, rows)
        crossings = [(x, y) for x in range(columns + 1) for y in range(rows + 1)]
        inner = [place for place in crossings if 2 <= sum(place) <= columns + rows - 2]
        return columns, rows, tuple(sorted(rng.sample(inner, max(1, level - 1))))

    def draw(self, scene: Scene, operands: Operands) -> None:
        columns, rows, barriers = operands
        size = 320 / max(columns, rows) * complex(columns, rows)
        axes = Axes(scene, (0, columns), (0, rows), scene.center - size / 2, size)
        for x in range(columns + 1):
            axes.vertical(x, width=0.8)
        for y in range(rows + 1):
            axes.horizontal(y, width=0.8)
        paper = scene.style.background
        for barrier in barriers:
            place = axes.at(*barrier)
            scene.circle(place, 13, fill=paper, color=paper)
            for way in (9 + 9j, 9 - 9j):
                scene.line(place - way, place + way, color=scene.style.color("red"), width=1.8)
        ends = ("A", axes.at(0, 0), -1 + 1j), ("B", axes.at(columns, rows), 1 - 1j)
        for name, place, way in ends:
            scene.dot(place, scene.accent())
            scene.label(name, place, way)

    def solve(self, operands: Operands) -> Solution:
        columns, rows, barriers = operands
        ways: dict[tuple[int, int], int] = {}
        for y in range(rows + 1):
            for x in range(columns + 1):
                arriving = ways.get((x - 1, y), 0) + ways.get((x, y - 1), 0)
                ways[x, y] = 0 if (x, y) in barriers else arriving if x or y else 1
        counts = (", ".join(str(ways[x, y]) for x in range(columns + 1)) for y in range(rows + 1))
        total = ways[columns, rows]
        steps = "The ways to a crossing are those to the one on its left and to the one below it"
        listed = "; ".join(counts)
        return Solution(total, f"{steps}. Row by row from below: {listed}. So there are {total}.")
