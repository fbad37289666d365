"""Styles of figures: colors, faces and the width of strokes; and the extent of texts."""

import random
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from PIL import ImageFont

Color = tuple[int, int, int]

COLORS: dict[str, Color] = {
    **{"red": (205, 45, 45), "blue": (40, 95, 200), "green": (30, 135, 70)},
    **{"orange": (225, 125, 20), "purple": (125, 60, 165), "brown": (125, 80, 45)},
    **{"pink": (220, 100, 160), "gray": (115, 120, 125)},
}
"""Colors that a question may name; a dark background lightens them."""
_PAPERS: tuple[Color, ...] = ((255, 255, 255), (250, 246, 235), (240, 245, 250), (245, 245, 245))
_BOARDS: tuple[Color, ...] = ((30, 52, 44), (24, 36, 66))
_INKS: tuple[Color, ...] = ((15, 15, 20), (25, 35, 90), (70, 35, 25))
_CHALK: Color = (238, 238, 228)
# The last factor makes letters of equal size look so: those of STIX are small.
FACES = {"DejaVuSans": 1.0, "DejaVuSerif": 1.0, "STIXGeneral": 1.15}
"""Files of fonts that come with matplotlib, and the factor of their size."""
_BELOW = frozenset("gjpqyQ,;()[]{}|/")
"""Characters that reach below the line."""


@dataclass(frozen=True)
class Style:
    """The style of a figure, which does not change its problem.

    Args:
        background: Of the whole picture.
        ink: Of outlines and labels.
        accents: The named colors in another order for each figure.
        face: A key of `FACES`.
        stroke: Width of a line in points, of which a picture is 448 wide.
    """

    background: Color
    ink: Color
    accents: tuple[str, ...]
    face: str
    stroke: float

    def color(self, name: str) -> Color:
        """A named color on this background."""
        return mix(COLORS[name], _CHALK, 0.4) if self.ink == _CHALK else COLORS[name]

    def tint(self, name: str) -> Color:
        """A named color so pale that labels can stand on it."""
        return mix(self.color(name), self.background, 0.7)


def mix(first: Color, second: Color, share: float) -> Color:
    """A color between two, with this share in [0, 1] of the second."""
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(first, second, strict=True))
    return red, green, blue


def draw_style(split: str, rng: random.Random) -> Style:
    """A style: ink on paper; of held-out problems chalk on a board."""
    is_board = split == "heldout"
    return Style(
        background=rng.choice(_BOARDS if is_board else _PAPERS),
        ink=_CHALK if is_board else rng.choice(_INKS),
        accents=tuple(rng.sample(list(COLORS), len(COLORS))),
        face=rng.choice(list(FACES)),
        stroke=rng.choice((1.6, 2.0, 2.4)),
    )


@cache
def font(face: str, pixels: int) -> ImageFont.FreeTypeFont:
    """A face at a size in pixels, without the layout of Raqm, which not every machine has."""
    spec = find_spec("matplotlib")
    file = Path((spec and spec.origin) or "").parent / f"mpl-data/fonts/ttf/{face}.ttf"
    return ImageFont.truetype(str(file), pixels, layout_engine=ImageFont.Layout.BASIC)


@cache
def extent(text: str, face: str) -> tuple[float, float, float]:
    """Width of a text, its height above the line and its depth below it, by the size of the font.

    The sum of the advances in the font's own units, which no hinting changes: the same on every
    machine.
    """
    units = 1000 if face.startswith("STIX") else 2048
    width = sum(font(face, units).getlength(character) for character in text) / units
    return width, 0.74, 0.22 if _BELOW & set(text) else 0.0
