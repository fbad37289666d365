"""Maps with a scale, and ways through a grid of streets."""

import random
from fractions import Fraction
from itertools import pairwise

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Exercise, family, text_of
from reasonenv.envs.diagrams.scene import Scene


@family(height=504)
def map_scale(rng: random.Random, level: int) -> Exercise:
    """Two places on a squared map, the road between them and a bar with the scale; its length."""
    is_across = rng.random() < 0.5
    columns = sorted(rng.sample(range(9), (level + is_across) // 2 + 1))
    x, y = columns.pop(0), rng.randrange(9)
    nodes = [(x, y)]
    for _ in range(level):
        x = columns.pop(0) if is_across else x
        y = y if is_across else rng.choice([row for row in range(9) if row != y])
        nodes.append((x, y))
        is_across = not is_across
    squares, km = 1 if level == 1 else rng.randint(2, 4), rng.randint(2, 12)
    lengths = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairwise(nodes)]
    total = Fraction(sum(lengths) * km, squares)

    def draw(scene: Scene) -> None:
        axes = Axes(scene, (0, 8), (0, 8), 36 + 30j, 376 + 376j)
        for place in range(3):
            spot = axes.at(scene.rng.randint(1, 7), scene.rng.randint(1, 7))
            scene.circle(spot, scene.rng.randint(20, 44), fill=scene.tint(place), width=0)
        axes.grid(range(9), range(9))
        points = [axes.at(*node) for node in nodes]
        scene.line(*points, color=scene.accent(3), width=2.2)
        start, end = (complex(axes.at(x, 0).real, 440) for x in (2, 2 + squares))
        scene.line(start - 7j, start + 7j, start, end, end - 7j, end + 7j)
        scene.label(f"{km} km", (start + end) / 2 + 8j, 1j)
        for name, point in (("A", points[0]), ("B", points[-1])):
            scene.dot(point)
            scene.name(name, point)

    road = f"{' + '.join(map(str, lengths))} = {sum(lengths)}"
    scale = f"{sum(lengths)} * {km} / {squares} = {text_of(total)}"
    steps = f"The road is {road} squares long, and {squares} are {km} km: {scale}."
    key = min(nodes, nodes[::-1]), squares, km
    return Exercise((tuple(nodes), squares, km), total, steps, draw, key=key)


@family()
def grid_paths(rng: random.Random, level: int) -> Exercise:
    """A grid of streets with barriers; the number of shortest ways between two corners."""
    columns, rows = ((4, 3), (5, 4), (5, 4), (5, 5), (6, 6))[level - 1]
    columns, rows = rng.randint(columns - 1, columns), rng.randint(rows - 1, rows)
    crossings = [(x, y) for y in range(rows + 1) for x in range(columns + 1)]
    inner = [place for place in crossings if 2 <= sum(place) <= columns + rows - 2]
    barriers = tuple(sorted(rng.sample(inner, level + 1)))
    ways: dict[tuple[int, int], int] = {}
    for x, y in crossings:
        arriving = ways.get((x - 1, y), 0) + ways.get((x, y - 1), 0)
        ways[x, y] = 0 if (x, y) in barriers else arriving if x or y else 1

    def draw(scene: Scene) -> None:
        size = 320 / max(columns, rows) * complex(columns, rows)
        axes = Axes(scene, (0, columns), (0, rows), scene.center - size / 2, size)
        for x in range(columns + 1):
            axes.vertical(x, width=0.8)
        for y in range(rows + 1):
            axes.horizontal(y, width=0.8)
        paper, red = scene.style.background, scene.style.color("red")
        for place in (axes.at(*barrier) for barrier in barriers):
            scene.circle(place, 13, fill=paper, color=paper)
            for way in (9 + 9j, 9 - 9j):
                scene.line(place - way, place + way, color=red, width=1.8)
        for name, place, way in (("A", (0, 0), -1 + 1j), ("B", (columns, rows), 1 - 1j)):
            scene.dot(axes.at(*place), scene.accent())
            scene.label(name, axes.at(*place), way)

    lines = [", ".join(str(ways[x, y]) for x in range(columns + 1)) for y in range(rows + 1)]
    rule = "The ways to a crossing are those to the one on its left and to the one below it"
    steps = f"{rule}. Row by row from below: {'; '.join(lines)}."
    return Exercise((columns, rows, barriers), ways[columns, rows], steps, draw)
