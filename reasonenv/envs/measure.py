r"""Measure-v0: figures without labels, a ruler and a protractor.

Description:
    Each problem is a figure with colored points, drawn on access, and asks for a distance, an angle
    or an area that only measuring gives. `ruler(x, y, x, y)` and `protractor(x, y, x, y, x, y)`
    measure between points of the figure and return it with what was measured. The size of a unit
    differs from figure to figure and is not to be seen: without the ruler, no guess at a distance
    is right in more than 1 of 40 figures. An angle can be guessed without the protractor.

Action Space: text; its last line is one call, or else it is the answer, a number.
Observation Space: a dict of `system`, which is empty with the prompt "plain", `question`, and
    `images`: one array [336, 448, 3] of uint8, RGB. A reply has a number and one such image.
Rewards: accuracy (weight 1), 1 when the only number of the answer is within 3 % of the true one,
    else 0; calls (weight 0). `reasonenv.grading.grade` compares exactly: read `accuracy`.

Families: distance (of two of four points, one call), angle (at a corner of two arms, from 40 to 160
    degrees, one call), area (of a rectangle at any angle, two calls). An episode has 4 calls.

Splits: "train", "test" (figures of its own) and "heldout" (answers of its own). No figure is in
    two.

Worked solutions: a line for each call, points in thousandths of the figure, and the answer that
    the readings give; `Toolbox.responses` divides them.

Version History:
    v0: Initial version.
"""

import cmath
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, NamedTuple, cast

import numpy as np
from PIL import Image, ImageDraw

from reasonenv.environment import Environment
from reasonenv.envs.families import DrawnProblems, choose, is_in_split
from reasonenv.envs.figures.canvas import BLACK, BLUE, GREEN, RED, Color
from reasonenv.grading import Grade
from reasonenv.problem import Problem
from reasonenv.tools import BadCall, Number, Reply, Toolbox

SPLITS = ("train", "test", "heldout")
SIZE = WIDTH, HEIGHT = 448, 336
"""Pixels of a figure."""
TOLERANCE = 0.03
"""Share of the true value by which an answer may differ."""
COLORS: dict[str, Color] = {"red": RED, "blue": BLUE, "green": GREEN, "orange": (255, 140, 0)}
_VIOLET: Color = (150, 60, 200)
_MARGIN, _SHORTEST = 20, 100
"""Pixels around the points of a figure, and between them at least."""
_UNITS = 0.02, 0.32
"""Units in a pixel, at least and at most."""
_NUMBER = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,12})?")

Points = tuple[complex, ...]
"""Points in pixels, x + iy from the top left."""


@dataclass(frozen=True)
class Figure:
    """Points of the `COLORS` in this order, and a line through some places.

    Args:
        points: The colored points.
        line: Ends of the pieces of the line.
        unit: Units in a pixel.
    """

    points: Points
    line: Points
    unit: float

    def draw(self, measured: Points = ()) -> np.ndarray:
        """The figure, with a violet line through what was measured."""
        image = Image.new("RGB", SIZE, "white")
        pen = ImageDraw.Draw(image)
        pen.line(_pairs(self.line), fill=BLACK, width=2)
        for (x, y), color in zip(_pairs(self.points), COLORS.values(), strict=False):
            pen.ellipse((x - 6, y - 6, x + 6, y + 6), fill=color)
        pen.line(_pairs(measured), fill=_VIOLET, width=3)
        return np.array(image)

    def measure(self, points: Points) -> float:
        """The distance of two points in units, or the angle at the second of three in degrees."""
        if len(points) == 2:
            return self.unit * abs(points[0] - points[1])
        first, corner, last = points
        return abs(math.degrees(cmath.phase((first - corner) / (last - corner))))

    def reading(self, *numbers: Number) -> Reply:
        """The measure of points by their numbers, two of each, in thousandths of the figure."""
        if not all(0 <= number <= 1000 for number in numbers):
            raise BadCall("A point is outside the figure.")
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        points = tuple(complex(WIDTH * x / 1000, HEIGHT * y / 1000) for x, y in pairs)
        if len(points) == 3 and points[1] in points[::2]:
            raise BadCall("An arm has no length.")
        return Reply(_text(self.measure(points)), [self.draw(points)])


class Ruler:
    """The distance of two points in units."""

    name = "ruler"
    usage = "ruler(x, y, x, y): distance of two points, in thousandths of width and height"

    def __call__(self, scene: Figure, x: Number, y: Number, u: Number, v: Number) -> Reply:
        """The distance, and the figure with a line."""
        return scene.reading(x, y, u, v)


class Protractor:
    """The angle of two arms in degrees."""

    name = "protractor"
    usage = "protractor(x, y, x, y, x, y): angle at the second of three points"

    def __call__(  # noqa: PLR0913, PLR0917 - two of each point
        self, scene: Figure, x: Number, y: Number, u: Number, v: Number, s: Number, t: Number
    ) -> Reply:
        """The angle, and the figure with its arms."""
        return scene.reading(x, y, u, v, s, t)


def _text(value: float) -> str:
    """A number of three digits or more."""
    return f"{value:.{max(0, 3 - len(str(int(value))))}f}"


class Family(NamedTuple):
    """One kind of figure with one kind of question."""

    name: str
    question: str
    """About colored points."""
    sample: Callable[[random.Random], tuple[Points, Points]]
    """Function of a generator to the points and the line."""
    calls: tuple[tuple[int, ...], ...]
    """Numbers of the points of each call; the answer is the product of the readings."""


def _pairs(points: Points) -> list[tuple[float, float]]:
    return [(point.real, point.imag) for point in points]


def _four_points(rng: random.Random) -> tuple[Points, Points]:
    return tuple(_point(rng) for _ in COLORS), ()


def _arms(rng: random.Random) -> tuple[Points, Points]:
    while True:
        points = _point(rng), _point(rng), _point(rng)
        if 40 < Figure(points, (), 1).measure(points) < 160:
            return points, points


def _rectangle(rng: random.Random) -> tuple[Points, Points]:
    corner, direction = _point(rng), cmath.rect(1, rng.uniform(0, 2 * math.pi))
    side, other = rng.uniform(100, 300) * direction, rng.uniform(100, 200) * 1j * direction
    corners = corner, corner + side, corner + side + other, corner + other
    return corners[:3], (*corners, corner)


def _point(rng: random.Random) -> complex:
    return complex(rng.uniform(0, WIDTH), rng.uniform(0, HEIGHT))


def _has_room(points: Points) -> bool:
    """True if points are inside the figure and apart."""
    width, height = WIDTH / 2 - _MARGIN, HEIGHT / 2 - _MARGIN
    middles = (point - complex(WIDTH, HEIGHT) / 2 for point in points)
    is_inside = all(abs(each.real) <= width and abs(each.imag) <= height for each in middles)
    return is_inside and all(abs(a - b) >= _SHORTEST for a, b in combinations(points, 2))


FAMILIES = {
    family.name: family
    for family in (
        Family("distance", "How far is the red point from the blue one?", _four_points, ((0, 1),)),
        Family("angle", "How many degrees has the angle at the blue point?", _arms, ((0, 1, 2),)),
        Family("area", "What is the area of the rectangle?", _rectangle, ((0, 1), (1, 2))),
    )
}


@dataclass(frozen=True, kw_only=True)
class Measurements(DrawnProblems):
    """Figures of one split; each a pure function of its id."""

    families: tuple[Family, ...]

    version: ClassVar = "measure-v0"

    def draw(self, id: str) -> Problem:
        """The problem of an id."""
        rng = random.Random(id)
        family = rng.choice(self.families)
        while True:
            figure = _draw_figure(family, rng)
            value = math.prod(
                figure.measure(tuple(figure.points[number] for number in numbers))
                for numbers in family.calls
            )
            if is_in_split(self.split, (family.name, _text(value)), figure):
                break
        return Problem(
            id=id,
            question=family.question,
            answer=_text(value),
            images=(figure.draw(),),
            solution=_solution(figure, family),
            metadata={"family": family.name, "level": self.level, "value": value},
            scene=figure,
        )


def _draw_figure(family: Family, rng: random.Random) -> Figure:
    unit = math.exp(rng.uniform(*map(math.log, _UNITS)))
    while True:
        points, line = family.sample(rng)
        if _has_room((*points, *line[3:4])):
            return Figure(points, line, unit)


def _solution(figure: Figure, family: Family) -> str:
    """The calls on the points, and the answer that their readings give."""
    lines, value = [], 1.0
    for call in family.calls:
        pairs = _pairs(tuple(figure.points[number] for number in call))
        numbers = [round(1000 * part) for x, y in pairs for part in (x / WIDTH, y / HEIGHT)]
        tool = Ruler.name if len(call) == 2 else Protractor.name
        lines.append(f"{tool}({', '.join(map(str, numbers))})")
        value *= float(figure.reading(*numbers).words)
    return "\n".join([*lines, _text(value)])


def accuracy(response: str, problem: Problem, grade: Grade) -> float:
    """1 when the only number of the answer is within `TOLERANCE` of the true one, else 0."""
    numbers = _NUMBER.findall((grade.answer or "").replace(",", ""))
    value = cast("float", problem.metadata["value"])
    is_near = len(numbers) == 1 and abs(float(numbers[0]) - value) <= TOLERANCE * value
    return float(is_near)


def problems(
    split: str = "train", problem_seed: int = 0, families: Sequence[str] | None = None
) -> Measurements:
    """The problems of a split of Measure-v0.

    Args:
        split: "train", "test" or "heldout".
        problem_seed: Chooses another sequence of problems.
        families: Names of the families to draw from; None for all.

    Raises:
        UsageError: For an unknown split or family.
    """
    choice = choose("Measure-v0", SPLITS, {1: FAMILIES}, split, 1, families)
    return Measurements(problem_seed=problem_seed, **choice)


ENVIRONMENT = Environment(
    id="Measure-v0",
    problems=problems,
    splits=SPLITS,
    rewards={"accuracy": (1.0, accuracy)},
    tools=Toolbox(tools=[Ruler(), Protractor()], max_images=1, max_pixels=WIDTH * HEIGHT),
    model="Qwen/Qwen2.5-VL-3B-Instruct",
)
