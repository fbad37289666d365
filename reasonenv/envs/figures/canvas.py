"""A sheet of 28x28-pixel tiles and the few strokes that figures are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image, ImageDraw

TILE = 28
"""Pixels along a tile's side: one visual token of Qwen2.5-VL (patches of 14, merged two by two)."""

Color = tuple[int, int, int]
Point = tuple[float, float]

BLACK: Color = (0, 0, 0)
RED: Color = (220, 20, 20)
GREEN: Color = (20, 140, 40)
BLUE: Color = (30, 60, 220)

# A face of our own, since one rendered by a font library changes with its version.
_FACE = """
0123456789
.###.  ..#..  .###.  .###.  ...#.  #####  .###.  #####  .###.  .###.
#...#  .##..  #...#  #...#  ..##.  #....  #....  ....#  #...#  #...#
#...#  ..#..  ....#  ....#  .#.#.  ####.  #....  ...#.  #...#  #...#
#...#  ..#..  ..##.  ..##.  #..#.  ....#  ####.  ...#.  .###.  .####
#...#  ..#..  .#...  ....#  #####  ....#  #...#  ..#..  #...#  ....#
#...#  ..#..  #....  #...#  ...#.  #...#  #...#  ..#..  #...#  ....#
.###.  .###.  #####  .###.  ...#.  .###.  .###.  ..#..  .###.  .###.

+=?KLMN
.....  .....  .###.  #...#  #....  #...#  #...#
..#..  .....  #...#  #..#.  #....  ##.##  #...#
..#..  #####  ....#  #.#..  #....  #.#.#  ##..#
#####  .....  ..##.  ##...  #....  #.#.#  #.#.#
..#..  #####  ..#..  #.#..  #....  #...#  #..##
..#..  .....  .....  #..#.  #....  #...#  #...#
.....  .....  ..#..  #...#  #####  #...#  #...#
"""


@dataclass(frozen=True)
class Style:
    """Style of a figure, which does not change its problem."""

    background: Color
    ink: Color = BLACK
    shift: tuple[int, int] = (0, 0)
    """Shift of the drawing in pixels to the right and down."""


class Canvas:
    """A light sheet of columns x rows tiles, drawn on in pixels, labelled in tiles."""

    def __init__(self, columns: int, rows: int, style: Style):
        self.style = style
        self._image = Image.new("RGB", (columns * TILE, rows * TILE), style.background)
        self._draw = ImageDraw.Draw(self._image)

    def text(self, column: float, row: float, characters: str) -> None:
        """One or two characters in the middle of a tile, always at the same pixels of it."""
        mask = glyphs(characters)
        right, down = self.style.shift
        x = round(column * TILE + (TILE - mask.width) / 2) + right
        y = round(row * TILE + (TILE - mask.height) / 2) + down
        self._draw.bitmap((x, y), mask, fill=self.style.ink)

    def number(self, last: float, row: float, number: int) -> None:
        """A number with a tile for each digit, that of the ones at the column `last`."""
        for place, digit in enumerate(reversed(str(number))):
            self.text(last - place, row, digit)

    def line(self, *points: Point, width: int = 2, color: Color | None = None) -> None:
        """A broken line through the points."""
        self._draw.line(self._shift(*points), fill=color or self.style.ink, width=width)

    def circle(self, center: Point, radius: float) -> None:
        """An outline of the ink's color."""
        box = self._shift(*_around(center, radius))
        self._draw.ellipse(box, outline=self.style.ink, width=2)

    def disc(self, center: Point, radius: float, color: Color | None = None) -> None:
        """A filled circle without an outline."""
        self._draw.ellipse(self._shift(*_around(center, radius)), fill=color or self.style.ink)

    def box(self, corner: Point, end: Point, fill: Color | None = None, width: int = 2) -> None:
        """An upright rectangle, its first corner at the top left."""
        box = self._shift(corner, end)
        self._draw.rectangle(box, fill=fill, outline=self.style.ink, width=width)

    def polygon(self, *points: Point, color: Color | None = None) -> None:
        """A filled polygon."""
        self._draw.polygon(self._shift(*points), fill=color or self.style.ink)

    def pixels(self, scale: int = 1) -> np.ndarray:
        """The sheet as an array [28 rows scale, 28 columns scale, 3] of uint8."""
        pixels = np.array(self._image)
        return pixels if scale == 1 else pixels.repeat(scale, axis=0).repeat(scale, axis=1)

    def _shift(self, *points: Point) -> list[Point]:
        right, down = self.style.shift
        return [(x + right, y + down) for x, y in points]


def middle(column: float, row: float) -> Point:
    """The pixel in the middle of a tile."""
    return (column + 0.5) * TILE, (row + 0.5) * TILE


def _around(center: Point, radius: float) -> Sequence[Point]:
    x, y = center
    return (x - radius, y - radius), (x + radius, y + radius)


@cache
def _bitmaps() -> dict[str, np.ndarray]:
    """The face as one 7x5 array of 0 and 255 for each character."""
    bitmaps = {}
    for block in _FACE.strip().split("\n\n"):
        characters, *rows = block.splitlines()
        columns = zip(*(row.split() for row in rows), strict=True)
        for character, strokes in zip(characters, columns, strict=True):
            ink = [[255 * (pixel == "#") for pixel in stroke] for stroke in strokes]
            bitmaps[character] = np.array(ink, np.uint8)
    return bitmaps


@cache
def glyphs(characters: str) -> Image.Image:
    """The characters as a mask: strokes of 3 pixels, of 2 x 3 where two share a tile."""
    stroke = 3 if len(characters) == 1 else 2
    gap = np.zeros((7, 2), np.uint8)
    pieces = [piece for character in characters for piece in (gap, _bitmaps()[character])][1:]
    return Image.fromarray(np.hstack(pieces).repeat(3, axis=0).repeat(stroke, axis=1))
