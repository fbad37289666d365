"""Rectangles and triangles with labelled sides and angles."""

import random
from math import radians, tan

from reasonenv.envs.figures.canvas import Canvas, Style
from reasonenv.envs.figures.family import Family, Operands
from reasonenv.envs.figures_v0.steps import Steps


class Rectangle(Family):
    """A rectangle, to scale, with the lengths of two sides."""

    def sample(self, rng: random.Random, level: int) -> Operands:
        longest = 9 if level < 3 else 20
        return rng.randint(2, longest), rng.randint(2, longest)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        width, height = operands
        unit = min(5, 50 / max(width, height))
        canvas = Canvas(3, 3, style)
        canvas.box((30, 30), (30 + unit * width, 30 + unit * height), width=3)
        canvas.text(1, 0, str(width))
        canvas.text(0, 1, self.label(height))
        return canvas

    def label(self, height: int) -> str:
        """The label to the left of the rectangle."""
        return str(height)


class Perimeter(Rectangle):
    """The perimeter of a rectangle."""

    name, level = "perimeter", 1
    question = "What is the perimeter?"
    is_commutative = True

    def solve(self, operands: Operands, steps: Steps) -> int:
        return steps.multiply(2, steps.add(*operands))


class Area(Rectangle):
    """The area of a rectangle."""

    name, level = "area", 2
    question = "What is the area?"
    is_commutative = True

    def solve(self, operands: Operands, steps: Steps) -> int:
        return steps.multiply(*operands)


class Side(Rectangle):
    """A rectangle with the length of one side; the question gives the perimeter."""

    name, level = "side", 3

    def label(self, height: int) -> str:
        return "?"

    def ask(self, operands: Operands) -> str:
        return f"The perimeter is {2 * sum(operands)}. How long is the other side?"

    def solve(self, operands: Operands, steps: Steps) -> int:
        width, height = operands
        around = 2 * (width + height)
        return steps.subtract(int(steps.divide(around, 2)), width)


class Angle(Family):
    """A triangle, stretched to one height, with two of its angles below their corners."""

    name, level = "angle", 1
    question = "How large is the third angle?"
    is_commutative = True

    def sample(self, rng: random.Random, level: int) -> Operands:
        if level < 3:
            return rng.randint(4, 17) * 5, rng.randint(4, 15) * 5
        return rng.randint(20, 89), rng.randint(20, 80)

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = Canvas(4, 3, style)
        left, right, base, top = 10, 102, 52, 5
        foot = tan(radians(operands[1])) / sum(tan(radians(angle)) for angle in operands)
        apex = (left + foot * (right - left), top)
        canvas.line((left, base), (right, base), apex, (left, base), width=3)
        canvas.text(0, 2, str(operands[0]))
        canvas.text(3, 2, str(operands[1]))
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        return steps.subtract(180, steps.add(*operands))

    def unit(self, operands: Operands) -> int:
        return 5
