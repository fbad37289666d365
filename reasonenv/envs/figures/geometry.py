"""Rectangles and triangles with labelled sides and angles."""

from math import radians, tan

from reasonenv.envs.figures.canvas import Canvas, Style
from reasonenv.envs.figures.family import Family, Operands, Steps


class _Rectangle(Family):
    """A rectangle with the lengths of two sides, to scale unless it is very long."""

    def draw(self, operands: Operands, style: Style) -> Canvas:
        width, height = operands
        unit = min(76 / width, 48 / height)
        canvas = Canvas(5, 3, style)
        right, bottom = 58 + max(8, unit * width), 30 + max(8, unit * height)
        canvas.box((58, 30), (right, bottom), width=3)
        canvas.number(4, 0, width)
        self.label(canvas, height)
        return canvas

    def label(self, canvas: Canvas, height: int) -> None:
        """Writes the label to the left of the rectangle."""
        canvas.number(1, 1, height)


class _Perimeter(_Rectangle):
    name, level = "perimeter", 1
    question = "What is the perimeter?"
    ranges, large_ranges = ((2, 49), (2, 49)), ((2, 99), (2, 99))
    is_commutative = True

    def solve(self, operands: Operands, steps: Steps) -> int:
        half = steps.add(*operands)
        return steps.fact(f"2*{half}", 2 * half)


class _Area(_Rectangle):
    name, level = "area", 2
    question = "What is the area?"
    ranges, large_ranges = ((10, 139), (2, 9)), ((10, 199), (2, 9))

    def solve(self, operands: Operands, steps: Steps) -> int:
        return steps.multiply(*operands)


class _Side(_Rectangle):
    name, level = "side", 3
    ranges = (2, 49), (2, 49)
    has_choices = False

    def label(self, canvas: Canvas, height: int) -> None:
        canvas.text(1, 1, "?")

    def ask(self, operands: Operands) -> str:
        return f"The perimeter is {2 * sum(operands)}. How long is the other side?"

    def solve(self, operands: Operands, steps: Steps) -> int:
        width, height = operands
        half = steps.fact(f"{2 * (width + height)}/2", width + height)
        return steps.subtract(half, width)


class _Angle(Family):
    name, level = "angle", 1
    question = "How large is the third angle?"
    ranges = (20, 89), (20, 89)
    is_commutative = True

    def draw(self, operands: Operands, style: Style) -> Canvas:
        canvas = Canvas(5, 3, style)
        left, right, base, top = 10, 130, 52, 5
        foot = tan(radians(operands[1])) / sum(tan(radians(angle)) for angle in operands)
        apex = (left + foot * (right - left), top)
        canvas.line((left, base), (right, base), apex, (left, base), width=3)
        canvas.number(1, 2, operands[0])
        canvas.number(4, 2, operands[1])
        return canvas

    def solve(self, operands: Operands, steps: Steps) -> int:
        both = steps.add(*operands)
        return steps.fact(f"180-{both}", 180 - both)


FAMILIES = _Perimeter(), _Area(), _Side(), _Angle()
