"""Axes: a coordinate system in a part of a scene, for graphs and charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reasonenv.envs.diagrams.scene import Scene, signed

Span = tuple[float, float]


@dataclass(frozen=True)
class Axes:
    """Numbers along x and y, and their places.

    Args:
        scene: What it is drawn in.
        x: Smallest and largest number along x.
        y: Along y, which goes up.
        corner: Place of the top left corner.
        size: Width and height, as x and y of a complex number.
    """

    scene: Scene
    x: Span
    y: Span
    corner: complex = 40 + 30j
    size: complex = 378 + 378j

    def at(self, x: float, y: float) -> complex:
        """The place of a point."""
        right = (x - self.x[0]) / (self.x[1] - self.x[0]) * self.size.real
        down = (self.y[1] - y) / (self.y[1] - self.y[0]) * self.size.imag
        return self.corner + complex(right, down)

    def bar(self, start: Span, end: Span, **look: Any) -> None:
        """An upright rectangle between two points, the second to the right and above."""
        corner = self.at(start[0], end[1])
        self.scene.rectangle(corner, self.at(end[0], start[1]) - corner, **look)

    def grid(self, xs: Sequence[float], ys: Sequence[float], **look: Any) -> None:
        """Lines through the whole, pale ones that labels may lie on unless a look is given."""
        look = look or {"color": self.scene.pale, "width": 0.5, "is_ground": True}
        for x in xs:
            self.scene.line(self.at(x, self.y[0]), self.at(x, self.y[1]), **look)
        for y in ys:
            self.scene.line(self.at(self.x[0], y), self.at(self.x[1], y), **look)

    def cross(self, step: int = 1) -> None:
        """A grid, and axes through the origin with a number every `step`."""
        xs, ys = (range(round(span[0]), round(span[1]) + 1) for span in (self.x, self.y))
        self.grid(xs, ys)
        look = {"width": 0.8, "is_ground": True}
        self.scene.arrow(self.at(self.x[0], 0), self.at(self.x[1], 0) + 16, **look)
        self.scene.arrow(self.at(0, self.y[0]), self.at(0, self.y[1]) - 16j, **look)
        plate = {"size": 15, "has_plate": True}
        self.scene.label("x", self.at(self.x[1], 0) + 12, -1j, **plate)
        self.scene.label("y", self.at(0, self.y[1]) - 10j, 1, **plate)
        for x in xs:
            if x and x % step == 0:
                self.scene.label(signed(x), self.at(x, 0), 1j, **plate)
        for y in ys:
            if y and y % step == 0:
                self.scene.label(signed(y), self.at(0, y), -1, **plate)

    def frame(self, ys: Sequence[float]) -> None:
        """The axes of a chart, on the left and below, and pale lines with numbers along y."""
        self.grid((), ys)
        self.grid(self.x[:1], self.y[:1], width=1.0)
        for y in ys:
            self.scene.label(signed(y), self.at(self.x[0], y), -1, size=17)
