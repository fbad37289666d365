"""Frames of a problem, its response and the verdict; observations and infos in a few words."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from reasonenv.console import printable
from reasonenv.datasets.images import png_url
from reasonenv.grading import Grade
from reasonenv.problem import Problem

_WIDTH, _MARGIN, _FONT_SIZE = 480, 12, 14
_RED, _GREEN, _BLUE, _BLACK = (170, 20, 20), (10, 110, 40), (20, 50, 160), (0, 0, 0)
# Long responses are cut, and so are long sequences and texts of observations.
_CHARACTERS, _SHOWN, _LONGEST = 4000, 3, 60


Turns = Sequence[tuple[str, Mapping[str, Any]]]
"""Responses that call a tool, with the observations that reply to them."""


def ansi(problem: Problem, response: str | None, grade: Grade | None, turns: Turns = ()) -> str:
    """Problem, turns and, once it is answered, the verdict as text without control characters."""
    lines = [problem.question, *_sizes(problem.images)]
    for call, reply in turns:
        lines += ["", call, "", reply["question"], *_sizes(reply["images"])]
    if response is not None and grade is not None:
        lines += ["", response, "", _verdict_line(problem, grade)]
    return "\n".join(printable(line) for text in lines for line in text.split("\n"))


def rgb_array(
    problem: Problem, response: str | None, grade: Grade | None, turns: Turns = ()
) -> np.ndarray:
    """Images and question, below them turns, response and verdict: [height, width, 3] uint8."""
    parts = [*map(_resize, problem.images), _text_block(problem.question, _BLACK)]
    for call, reply in turns:
        parts.append(_text_block(call[:_CHARACTERS], _BLACK))
        parts += [*map(_resize, reply["images"]), _text_block(reply["question"], _BLUE)]
    if response is not None and grade is not None:
        parts.append(_text_block(response[:_CHARACTERS], _BLACK))
        color = _GREEN if grade.correct else _RED
        parts.append(_text_block(_verdict_line(problem, grade), color))
    height = sum(part.height + _MARGIN for part in parts) + _MARGIN
    canvas = Image.new("RGB", (_WIDTH, height), "white")
    y = _MARGIN
    for part in parts:
        canvas.paste(part, (_MARGIN, y))
        y += part.height + _MARGIN
    return np.array(canvas)


MODES = {"rgb_array": rgb_array, "ansi": ansi}
"""Render modes of an environment."""


def _sizes(images: Iterable[np.ndarray]) -> list[str]:
    return [f"<image {image.shape[1]}x{image.shape[0]}>" for image in images]


def _verdict_line(problem: Problem, grade: Grade) -> str:
    """One line with verdict, status, answer and reference."""
    word = "right" if grade.correct else "wrong"
    status = "" if grade.status == "ok" else f" ({grade.status})"
    return f"{word}{status}: answer {grade.answer!r}, reference {problem.answer!r}"


def _resize(image: np.ndarray) -> Image.Image:
    figure = Image.fromarray(image)
    # Small figures are enlarged by whole factors, which keeps them sharp.
    scale = (_WIDTH - 2 * _MARGIN) / figure.width
    scale = max(1, min(int(scale), 4)) if scale >= 1 else scale
    size = max(1, round(figure.width * scale)), max(1, round(figure.height * scale))
    return figure.resize(size, Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX)


def _text_block(text: str, color: tuple[int, int, int]) -> Image.Image:
    font = _font()
    # Surrogates cannot be drawn, and a tab has no glyph.
    printable = text.encode("utf-8", "replace").decode("utf-8").replace("\t", "    ")
    columns = int((_WIDTH - 2 * _MARGIN) / font.getlength("n"))
    lines = [row for line in printable.splitlines() for row in textwrap.wrap(line, columns) or [""]]
    line_height = _FONT_SIZE + 4
    block = Image.new("RGB", (_WIDTH - 2 * _MARGIN, max(1, line_height * len(lines))), "white")
    draw = ImageDraw.Draw(block)
    for row, line in enumerate(lines):
        draw.text((0, row * line_height), line, fill=color, font=font)
    return block


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """DejaVu Sans, which has ∠, √ and ≤, of the system or of matplotlib; else Pillow's own."""
    places = [Path("DejaVuSans.ttf")]
    if spec := find_spec("matplotlib"):
        folders = spec.submodule_search_locations or ()
        places += [Path(folder) / "mpl-data/fonts/ttf/DejaVuSans.ttf" for folder in folders]
    for place in places:
        try:
            return ImageFont.truetype(str(place), _FONT_SIZE)
        except OSError:
            continue
    return ImageFont.load_default(_FONT_SIZE)


class ShortDict(dict[str, Any]):
    """A dict whose `repr` is short, of any number of texts and images."""

    def __repr__(self) -> str:
        return brief(self)


class Observation(ShortDict):
    """An observation, or those of several sub-environments: `system`, `question`, `images`."""

    def _repr_html_(self) -> str:
        """The first problems as HTML: their figures and questions."""
        if isinstance(self["question"], str):
            return _html(self["images"], self["question"])
        pairs = list(dict(zip(self["question"], self["images"], strict=True)).items())
        first = "".join(_html(images, question) for question, images in pairs[:_SHOWN])
        return f"{first}<p>{len(self['question'])} observations of {len(pairs)} problems</p>"


def brief(value: Any) -> str:
    """A value as a short text: the first few elements of sequences, the size of images."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name!r}: {brief(each)}" for name, each in value.items()) + "}"
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return f"<array {'x'.join(map(str, value.shape))}>"
    if isinstance(value, np.ndarray | tuple | list):
        more = [f"... {len(value)} in all"] if len(value) > _SHOWN else []
        return "(" + ", ".join([*map(brief, value[:_SHOWN]), *more]) + ")"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def frames_html(frames: Iterable[np.ndarray]) -> str:
    """Frames of an environment as HTML."""
    return "".join(f'<img src="{png_url(frame)}">' for frame in frames)


def _html(images: Iterable[np.ndarray], question: str) -> str:
    return f'{frames_html(images)}<pre style="white-space: pre-wrap">{escape(question)}</pre>'
