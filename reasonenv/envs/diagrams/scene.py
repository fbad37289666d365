"""A scene: strokes and labels of a figure in points, which are checked before they are drawn.

A point is a complex number: x from the left, y from the top. A picture is 448 points wide, whatever
its size in pixels. Places are rounded to 1/16 of a point and boxes of labels to whole points, so
that both are the same on every machine.
"""

import cmath
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, degrees, floor, radians, sin
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from reasonenv.envs.diagrams.style import FACES, Color, Style, extent, font, mix

WIDTH = 448
"""Points from the left to the right of every picture."""
_SUPERSAMPLING = 3
_GAP = 6
"""Points between a label and what it is the label of."""
_EDGE = 4
"""Points that stay empty at the edge."""
Box = tuple[int, int, int, int]
"""Left, top, right and bottom."""


@dataclass(frozen=True)
class Stroke:
    """A broken line, or a polygon if it is closed, which labels keep clear of.

    Args:
        points: Its corners.
        color: Of the line; None for none.
        width: Of the line, in points.
        fill: Color of the inside; None for none.
        is_closed: True if the last corner is joined to the first.
        is_ground: True if it is painted before all others and labels may lie on it.
    """

    points: tuple[complex, ...]
    color: Color | None
    width: float
    fill: Color | None = None
    is_closed: bool = False
    is_ground: bool = False

    @property
    def corners(self) -> tuple[complex, ...]:
        """The corners in order, the first once more if it is closed."""
        return (*self.points, self.points[0]) if self.is_closed else self.points


@dataclass(frozen=True)
class Label:
    """A text in a box; with a plate the box is filled first, and hides the ground below."""

    text: str
    box: Box
    size: float
    color: Color
    plate: Color | None


class Scene:
    """A figure in the making.

    Args:
        style: Its colors, face and strokes.
        rng: For choices that do not change the problem.
        height: Of the picture in points, a multiple of 28.
        zoom: Factor of the size of labels.
    """

    def __init__(self, style: Style, rng: random.Random, height: int = WIDTH, zoom: float = 1.0):
        self.style, self.rng, self.height = style, rng, height
        self.strokes: list[Stroke] = []
        self.labels: list[Label] = []
        self._zoom = zoom

    @property
    def center(self) -> complex:
        """The middle of the picture."""
        return complex(WIDTH / 2, self.height / 2)

    @property
    def pale(self) -> Color:
        """The color of a grid."""
        return mix(self.style.background, self.style.ink, 0.22)

    def accent(self, index: int = 0) -> Color:
        """A strong color, another for each index from 0 to 7."""
        return self.style.color(self.style.accents[index])

    def tint(self, index: int = 0) -> Color:
        """The pale color of an accent."""
        return self.style.tint(self.style.accents[index])

    def fit(
        self, points: Sequence[complex], margin: float = 60, is_turned: bool = True
    ) -> list[complex]:
        """Points of a plane whose y goes up, as large in the picture as the margin leaves room for.

        Turned by any angle and mirrored or not, unless they are to stay upright.
        """
        if is_turned:
            turn = cmath.rect(1, radians(self.rng.randrange(360)))
            points = [turn * point for point in points]
            if self.rng.random() < 0.5:
                points = [-point.conjugate() for point in points]
        xs, ys = [point.real for point in points], [point.imag for point in points]
        middle = complex(max(xs) + min(xs), max(ys) + min(ys)) / 2
        room = WIDTH - 2 * margin, self.height - 2 * margin
        scale = min(room[0] / (max(xs) - min(xs) or 1), room[1] / (max(ys) - min(ys) or 1))
        return [self.center + scale * (point - middle).conjugate() for point in points]

    def line(
        self,
        *points: complex,
        color: Color | None = None,
        width: float = 1.0,
        is_dashed: bool = False,
        is_ground: bool = False,
    ) -> None:
        """A broken line; its width by that of the style's strokes."""
        pieces = _dashes(points) if is_dashed else [points]
        for piece in pieces:
            self._add(piece, color or self.style.ink, width, is_ground=is_ground)

    def polygon(
        self,
        *points: complex,
        fill: Color | None = None,
        color: Color | None = None,
        width: float = 1.0,
        is_ground: bool = False,
    ) -> None:
        """A polygon; of width 0 without an outline."""
        outline = (color or self.style.ink) if width else None
        self._add(points, outline, width, fill, is_closed=True, is_ground=is_ground or not width)

    def rectangle(self, corner: complex, size: complex, **look: Any) -> None:
        """An upright rectangle, from a corner and the way to the opposite one."""
        x, y = complex(size.real), complex(0, size.imag)
        self.polygon(corner, corner + x, corner + x + y, corner + y, **look)

    def circle(self, center: complex, radius: float, **look: Any) -> None:
        """A circle, with the look of a polygon."""
        self.polygon(*arc_points(center, radius, 0, 360)[:-1], **look)

    def dot(self, center: complex, color: Color | None = None, radius: float = 4.5) -> None:
        """A filled point."""
        color = color or self.style.ink
        self.circle(center, radius, fill=color, color=color, width=0.4)

    def arrow(self, tail: complex, tip: complex, **look: Any) -> None:
        """A line with a filled head at its tip."""
        along = 13 * (tip - tail) / abs(tip - tail)
        color = look.get("color") or self.style.ink
        self.line(tail, tip - along / 2, **look)
        barbs = tip - along + 0.45j * along, tip - along - 0.45j * along
        self.polygon(tip, *barbs, fill=color, color=color, width=0.4)

    def label(
        self,
        text: str,
        at: complex,
        toward: complex = 0j,
        size: float = 22,
        color: Color | None = None,
        has_plate: bool = False,
    ) -> None:
        """A text in the middle of a place, or next to it in a direction.

        Beside a line, in the direction that is normal to it, the text just clears it.
        """
        width, height = self._half_extent(text, size)
        if toward:
            toward /= abs(toward)
            at += toward * (_GAP + abs(toward.real) * width + abs(toward.imag) * height)
        box = (
            *(floor(at.real - width + 1e-6), floor(at.imag - height + 1e-6)),
            *(ceil(at.real + width - 1e-6), ceil(at.imag + height - 1e-6)),
        )
        plate = self.style.background if has_plate else None
        self.labels.append(Label(text, box, self._zoom * size, color or self.style.ink, plate))

    def name(self, text: str, point: complex, **look: Any) -> None:
        """A label on that side of a point where it is clear of all that is drawn so far."""
        for eighth in self.rng.sample(range(8), 8):
            self.label(text, point, 1j ** (eighth / 2), **look)
            if self.is_clear():
                return
            self.labels.pop()
        self.label(text, point, 1, **look)

    def side(self, start: complex, end: complex, text: str, inside: complex, **look: Any) -> None:
        """A label at the middle of a line, on the other side than a point."""
        normal = 1j * (end - start)
        middle = (start + end) / 2
        is_inward = ((middle - inside) * normal.conjugate()).real < 0
        self.label(text, middle, -normal if is_inward else normal, **look)

    def angle(
        self, first: complex, vertex: complex, last: complex, text: str, color: Color | None = None
    ) -> None:
        """The angle below 180 degrees between two arms: an arc, and its label between the arms."""
        arms = [(end - vertex) / abs(end - vertex) for end in (first, last)]
        turn = cmath.phase(arms[1] / arms[0])
        bisector = arms[0] * cmath.rect(1, turn / 2)
        width, height = self._half_extent(text, 20)

        def reach(direction: complex) -> float:
            return abs(direction.real) * width + abs(direction.imag) * height

        clear = max(reach(1j * arm) + _GAP for arm in arms) / max(sin(abs(turn) / 2), 0.05)
        radius = max(16.0, min(30.0, clear - reach(bisector) - _GAP))
        distance = max(clear, radius + reach(bisector) + 3)
        start = -degrees(cmath.phase(arms[0]))
        self._add(arc_points(vertex, radius, start, -degrees(turn)), color or self.style.ink, 0.8)
        self.label(text, vertex + distance * bisector, size=20, color=color)

    def right_angle(self, first: complex, vertex: complex, last: complex, size: float = 15) -> None:
        """The small square of a right angle."""
        a, b = (size * (end - vertex) / abs(end - vertex) for end in (first, last))
        self.line(vertex + a, vertex + a + b, vertex + b, width=0.7)

    def chevron(self, start: complex, end: complex) -> None:
        """The mark of a line that is parallel to others with one."""
        along, tip = (end - start) / abs(end - start), start + 0.75 * (end - start)
        self.line(tip - (9 + 6j) * along, tip, tip - (9 - 6j) * along, width=0.8)

    def is_clear(self) -> bool:
        """True if nothing leaves the picture, and no label touches another or a stroke."""
        boxes = np.array([label.box for label in self.labels], float).reshape(-1, 4)
        points = [(p.real, p.imag) for stroke in self.strokes for p in stroke.points]
        places = np.array(points, float).reshape(-1, 2)
        size = np.array([WIDTH, self.height])
        is_outside = any(
            (some < edge).any() or (some[:, -2:] > size - edge).any()
            for some, edge in ((boxes, _EDGE), (places, 1))
        )
        touching = _overlap(boxes + np.array([-2, -2, 2, 2]), boxes)
        if is_outside or touching.sum() > len(boxes):  # each touches itself
            return False
        bare = boxes[[label.plate is None for label in self.labels]]
        return not _crossings(self.strokes, bare).any()

    def pixels(self, size: int) -> np.ndarray:
        """The picture as an array [height, size, 3] of uint8, RGB, for a width in pixels."""
        scale = _SUPERSAMPLING * size / WIDTH
        shape = size * _SUPERSAMPLING, round(self.height * size / WIDTH) * _SUPERSAMPLING
        image = Image.new("RGB", shape, self.style.background)
        draw = ImageDraw.Draw(image)
        for stroke in (stroke for stroke in self.strokes if stroke.is_ground):
            _paint(draw, stroke, scale)
        for label in self.labels:
            if label.plate:
                draw.rectangle([scale * edge for edge in label.box], fill=label.plate)
        for stroke in (stroke for stroke in self.strokes if not stroke.is_ground):
            _paint(draw, stroke, scale)
        image = image.reduce(_SUPERSAMPLING)
        for label in self.labels:
            self._write(ImageDraw.Draw(image), label, size / WIDTH)
        return np.asarray(image)

    def _write(self, draw: ImageDraw.ImageDraw, label: Label, scale: float) -> None:
        left, top, right, bottom = (scale * edge for edge in label.box)
        pixels = label.size * FACES[self.style.face] * scale
        _, above, below = extent(label.text, self.style.face)
        place = (left + right) / 2, (top + bottom) / 2 + (above - below) / 2 * pixels
        face = font(self.style.face, max(6, round(pixels)))
        draw.text(place, label.text, fill=label.color, font=face, anchor="ms")

    def _half_extent(self, text: str, size: float) -> tuple[float, float]:
        width, above, below = extent(text, self.style.face)
        half = self._zoom * size * FACES[self.style.face] / 2
        return half * width, half * (above + below)

    def _add(
        self,
        points: Sequence[complex],
        color: Color | None,
        width: float,
        fill: Color | None = None,
        **kind: bool,
    ) -> None:
        places = tuple(complex(_snap(point.real), _snap(point.imag)) for point in points)
        self.strokes.append(Stroke(places, color, width * self.style.stroke, fill, **kind))


def _paint(draw: ImageDraw.ImageDraw, stroke: Stroke, scale: float) -> None:
    points = [(scale * p.real, scale * p.imag) for p in stroke.points]
    if stroke.fill:
        draw.polygon(points, fill=stroke.fill)
    if stroke.color:
        # Twice its first corners join the last side of a polygon to the first one.
        ends = points[:2] if stroke.is_closed else []
        joint = "curve" if len(points) < 16 else None
        width = max(1, round(scale * stroke.width))
        draw.line(points + ends, fill=stroke.color, width=width, joint=joint)


def arc_points(center: complex, radius: float, start: float, extent: float) -> list[complex]:
    """Points of an arc, some 5 degrees apart; angles in degrees against the clock."""
    steps = max(2, ceil(abs(extent) / 5))
    angles = (-radians(start + extent * step / steps) for step in range(steps + 1))
    return [center + cmath.rect(radius, angle) for angle in angles]


def signed(number: object) -> str:
    """A number with a minus sign as it is printed, not a hyphen."""
    return str(number).replace("-", "−")


def _overlap(ones: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Pairs of n and of m boxes that have more than an edge in common: a mask [n, m]."""
    ends = ones[:, None, 2:] > others[:, :2]
    return np.all(ends & (ones[:, None, :2] < others[:, 2:]), axis=-1)


def _crossings(strokes: Sequence[Stroke], boxes: np.ndarray) -> np.ndarray:
    """Lines that labels keep clear of and that pass through each of m boxes: a mask [n, m].

    Exact, since places are multiples of 1/16: a line misses a box just if their projections on an
    axis or on the normal of the line are apart.
    """
    ends = [
        (start.real, start.imag, end.real, end.imag)
        for stroke in strokes
        if stroke.color and not stroke.is_ground
        for start, end in pairwise(stroke.corners)
    ]
    lines = np.array(ends, float).reshape(-1, 4)
    starts, steps = lines[:, :2], lines[:, 2:] - lines[:, :2]
    around = np.hstack((np.minimum(starts, lines[:, 2:]), np.maximum(starts, lines[:, 2:])))
    corners = boxes[:, [[0, 1], [2, 1], [2, 3], [0, 3]]] - starts[:, None, None]
    sides = steps[:, 0, None, None] * corners[..., 1] - steps[:, 1, None, None] * corners[..., 0]
    return _overlap(around, boxes) & (sides.min(-1) < 0) & (sides.max(-1) > 0)


def _snap(value: float) -> float:
    # A value in the middle of two is rounded up, even where it is the sum of inexact ones.
    return floor(16 * value + 0.5 + 1e-6) / 16


def _dashes(points: Sequence[complex]) -> Iterator[tuple[complex, complex]]:
    for start, end in pairwise(points):
        count = max(1, round(abs(end - start) / 7)) // 2 * 2 + 1
        step = (end - start) / count
        for dash in range(0, count, 2):
            yield start + dash * step, start + (dash + 1) * step
