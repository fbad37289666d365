"""Points, lines and polygons in a coordinate system."""

import random
from fractions import Fraction

from reasonenv.envs.diagrams.axes import Axes
from reasonenv.envs.diagrams.family import Family, Operands, Solution, register, text_of
from reasonenv.envs.diagrams.scene import Scene


@register
class _Slope(Family):
    """A line through two marked points of a grid; its slope.

    Levels: whole slopes; fractions whose denominator is at most 4, 6, 9 and 14; from level 4 on a
    finer grid.
    """

    name = "slope"
    questions = (
        "What is the slope of the line?",
        "Find the gradient of the line through the two marked points.",
        "Calculate the slope of the straight line that is drawn.",
        "By how much does y grow along the line when x grows by 1?",
    )

    def sample(self, rng: random.Random, level: int) -> Operands:
        limit, longest = ((5, 2), (5, 4), (5, 6), (8, 9), (8, 14))[level - 1]
        run = rng.randint((longest + 1) // 2, longest)
        rise = (
            rng.choice((-1, 1)) * (run if level == 1 else 1) * rng.randint(1, 4 * (level > 1) + 4)
        )
        left = rng.randint(-limit, limit - run)
        low = rng.randint(-limit - min(0, rise), limit - max(0, rise))
        return limit, (left, low), (left + run, low + rise)

    def draw(self, scene: Scene, operands: Operands) -> None:
        limit, a, b = operands
        axes = Axes(scene, (-limit, limit), (-limit, limit))
        axes.cross(step=1 if limit < 6 else 2)
        scene.line(axes.at(*a), axes.at(*b), color=scene.accent(), width=1.4)
        for point in (a, b):
            scene.dot(axes.at(*point), color=scene.accent())

    def solve(self, operands: Operands) -> Solution:
        _, a, b = operands
        rise, run = b[1] - a[1], b[0] - a[0]
        slope = Fraction(rise, run)
        text = f"From ({a[0]}, {a[1]}) to ({b[0]}, {b[1]}) x grows by {run} and y by {rise}: "
        return Solution(slope, f"{text}the slope is {rise}/{run} = {text_of(slope)}.")
