"""Areas and perimeters of composed shapes."""

import random
from itertools import pairwise

from reasonenv.envs.diagrams.family import Exercise, family
from reasonenv.envs.diagrams.scene import Scene

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
