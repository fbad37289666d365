"""Axes: a coordinate system in a part of a scene, for graphs and charts."""

from collections.abc import Sequence
from typing import Any

from reasonenv.envs.diagrams.scene import Scene, signed

Span = tuple[float, float]


class Axes:
    """Numbers along x and y, and their places.

    Args:
        scene: What it is drawn in.
        x: Smallest and largest number along x.
        y: Along y, which goes up.
        corner: Place of the top left corner.
        size: Width and height, as x and y of a complex number.
    """

    def __init__(
        self,
        scene: Scene,
        x: Span,
        y: Span,
        corner: complex = 40 + 30j,
        size: complex = 378 + 378j,
    ):
        self.scene, self.x, self.y = scene, x, y
        self._corner, self._size = corner, size

    def at(self, x: float, y: float) -> complex:
        """The place of a point."""
        right = (x - self.x[0]) / (self.x[1] - self.x[0]) * self._size.real
        down = (self.y[1] - y) / (self.y[1] - self.y[0]) * self._size.imag
        return self._corner + complex(right, down)

    def vertical(self, x: float, **look: Any) -> None:
        """A line through all of y."""
        self.scene.line(self.at(x, self.y[0]), self.at(x, self.y[1]), **look)

    def horizontal(self, y: float, **look: Any) -> None:
        """A line through all of x."""
        self.scene.line(self.at(self.x[0], y), self.at(self.x[1], y), **look)

    def grid(self, xs: Sequence[float], ys: Sequence[float]) -> None:
        """Pale lines that labels may lie on."""
        pale = {"color": self.scene.pale, "width": 0.5, "is_ground": True}
        for x in xs:
            self.vertical(x, **pale)
        for y in ys:
            self.horizontal(y, **pale)

    def cross(self, step: int = 1, size: float = 15) -> None:
        """A grid, and axes through the origin with a number every `step`."""
        xs, ys = (range(round(span[0]), round(span[1]) + 1) for span in (self.x, self.y))
        self.grid(xs, ys)
        look = {"width": 0.8, "is_ground": True}
        self.scene.arrow(self.at(self.x[0], 0), self.at(self.x[1], 0) + 16, **look)
        self.scene.arrow(self.at(0, self.y[0]), self.at(0, self.y[1]) - 16j, **look)
        plate = {"size": size, "has_plate": True}
        self.scene.label("x", self.at(self.x[1], 0) + 12, -1j, **plate)
        self.scene.label("y", self.at(0, self.y[1]) - 10j, 1, **plate)
        for x in xs:
            if x and x % step == 0:
                self.scene.label(signed(x), self.at(x, 0), 1j, **plate)
        for y in ys:
            if y and y % step == 0:
                self.scene.label(signed(y), self.at(0, y), -1, **plate)

    def frame(self, ys: Sequence[float], size: float = 17) -> None:
        """The axes of a chart, on the left and below, and pale lines with numbers along y."""
        self.grid((), ys)
        self.horizontal(self.y[0])
        self.vertical(self.x[0])
        for y in ys:
            self.scene.label(signed(y), self.at(self.x[0], y), -1, size=size)
