"""Areas and perimeters of shapes that are composed of rectangles and triangles."""

import random
from fractions import Fraction
from itertools import accumulate, pairwise

from reasonenv.envs.diagrams.family import Family, Operands, Solution, register, text_of
from reasonenv.envs.diagrams.scene import Scene


@register
class _ComposedArea(Family):
    """A shape with right angles alone and the lengths of most sides; its area.

    Levels: two rectangles side by side; with larger numbers; three; four; five.
    """

    name = "composed_area"
    questions = (
        "What is the area of the shape? All its angles are right angles.",
        "Find the area of the figure, whose corners are all right-angled.",
        "All angles are right angles. Calculate the area of the colored shape.",
        "How large is the area? Every angle of the shape is a right angle.",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        count, largest = (2, 2, 3, 4, 5)[level - 1], (12, 20, 15, 15, 15)[level - 1]
        heights = [rng.randint(largest // 3, largest)]
        while len(heights) < count:
            height = rng.randint(largest // 3, largest)
            if abs(height - heights[-1]) >= largest // 5:
                heights.append(height)
        return tuple((rng.randint(3, largest * 2 // (count + 1)), height) for height in heights)

    def draw(self, scene: Scene, operands: Operands) -> None:
        points, lengths, x, before = [0j], [], 0, 0
        for width, height in operands:
            points += [complex(x, height), complex(x + width, height)]
            lengths += [abs(height - before), width]
            x, before = x + width, height
        turn = scene.rng.choice((1, 1j, -1, -1j))
        points = scene.fit([turn * point for point in (*points, x)], 56, is_turned=False)
        scene.polygon(*points, fill=scene.tint())
        # The sides along the whole and the last height follow from the others.
        for (start, end), length in zip(pairwise(points), lengths, strict=False):
            scene.side(start, end, str(length), (start + end) / 2 + 1j * (end - start))

    def solve(self, operands: Operands) -> Solution:
        area = sum(width * height for width, height in operands)
        terms = " + ".join(f"{width} * {height}" for width, height in operands)
        return Solution(area, f"Cut it into rectangles. The area is {terms} = {area}.")

    def canonical(self, operands: Operands) -> Operands:
        return min(operands, operands[::-1])


@register
class _ComposedPerimeter(_ComposedArea):
    """A shape with right angles alone and the lengths of most sides; its perimeter.

    Levels: as of composed_area.
    """

    name = "composed_perimeter"
    questions = (
        "What is the perimeter of the shape? All its angles are right angles.",
        "Find the perimeter of the figure, whose corners are all right-angled.",
        "All angles are right angles. How long is the way around the shape?",
        "Calculate the perimeter. Every angle of the shape is a right angle.",
    )

    def solve(self, operands: Operands) -> Solution:
        heights = [0, *(height for _, height in operands), 0]
        lengths = [abs(after - before) for before, after in pairwise(heights)]
        widths = [width for width, _ in operands]
        lengths += [*widths, sum(widths)]
        terms = " + ".join(map(str, lengths))
        return Solution(sum(lengths), f"Add all sides up: {terms} = {sum(lengths)}.")


@register
class _ShadedArea(Family):
    """A shaded rectangle with holes; the shaded area.

    Levels: a rectangular hole; a triangular one; two holes; with larger numbers; three holes.
    """

    name = "shaded_area"
    questions = (
        "What is the area of the shaded region?",
        "Find the area that is colored.",
        "How large is the shaded part of the rectangle?",
        "The white shapes are cut out. What area is left?",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        count, largest = (1, 1, 2, 2, 3)[level - 1], (8, 8, 8, 14, 10)[level - 1]
        kinds = ("rectangle",) if level == 1 else ("triangle",) if level == 2 else _HOLES
        holes = tuple(
            (rng.choice(kinds), rng.randint(5, largest), rng.randint(5, largest))
            for _ in range(count)
        )
        width = sum(width + 3 for _, width, _ in holes) + rng.randint(1, 4)
        return width, max(height for *_, height in holes) + rng.randint(3, 6), holes

    def draw(self, scene: Scene, operands: Operands) -> None:
        width, height, holes = operands
        xs = list(accumulate((hole[1] + 3 for hole in holes), initial=2))
        corners = [0, complex(0, height), complex(width, height), width]
        starts = [complex(x, (height - hole[2]) / 2) for x, hole in zip(xs, holes, strict=False)]
        ends = [start + complex(*hole[1:]) for start, hole in zip(starts, holes, strict=True)]
        places = scene.fit([*corners, *starts, *ends], 50, is_turned=False)
        scene.polygon(*places[:4], fill=scene.tint())
        scene.side(places[0], places[3], str(width), places[1])
        scene.side(places[0], places[1], str(height), places[3])
        middle = 4 + len(holes)
        for hole, low, high in zip(holes, places[4:middle], places[middle:], strict=True):
            kind, across, up = hole
            right, top = complex(high.real, low.imag), complex(low.real, high.imag)
            tip = [top] if kind == "triangle" else [high, top]
            scene.polygon(low, right, *tip, fill=scene.style.background)
            scene.right_angle(right, low, top, size=9)
            scene.side(low, right, str(across), low + 99j, size=18)
            scene.side(low, top, str(up), low - 99, size=18)

    def solve(self, operands: Operands) -> Solution:
        width, height, holes = operands
        area, steps = Fraction(width * height), f"{width} * {height}"
        for kind, across, up in holes:
            area -= Fraction(across * up, 1 + (kind == "triangle"))
            steps += f" - {across} * {up}" + (" / 2" if kind == "triangle" else "")
        return Solution(area, f"Take the holes away from the rectangle: {steps} = {text_of(area)}.")


_HOLES = ("rectangle", "triangle")
