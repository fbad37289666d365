"""A contact sheet: python -m reasonenv.envs.figures --level 2 --output gallery.png."""

import argparse
import textwrap
from collections.abc import Sequence

from PIL import Image, ImageDraw

from reasonenv.envs.figures import problems
from reasonenv.problem import Problem

_CELL = (260, 270)
"""Pixels of one problem on the sheet: its figure above its words."""


def contact_sheet(figures: Sequence[Problem], columns: int = 6) -> Image.Image:
    """Figures with their questions, answers and solutions, in rows."""
    rows = -(-len(figures) // columns)
    sheet = Image.new("RGB", (columns * _CELL[0], rows * _CELL[1]), "white")
    for place, problem in enumerate(figures):
        cell = Image.new("RGB", _CELL, "gainsboro")
        figure = Image.fromarray(problem.images[0])
        cell.paste(figure, (6, 6))
        response = str(problem.solution).replace("\n", "  ")
        texts = problem.question, f"Answer: {problem.answer}", response
        words = "\n".join(line for text in texts for line in textwrap.wrap(text, 38))
        ImageDraw.Draw(cell).multiline_text((6, figure.height + 10), words, fill="black")
        row, column = divmod(place, columns)
        sheet.paste(cell, (column * _CELL[0], row * _CELL[1]))
    return sheet


def main() -> None:
    """Draw the sheet that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m reasonenv.envs.figures", description=__doc__)
    parser.add_argument("--split", default="train")
    parser.add_argument("--level", type=int, default=2)
    parser.add_argument("--problem-seed", type=int, default=0)
    parser.add_argument("--slip", type=float, default=0.0)
    parser.add_argument("--families", nargs="*")
    parser.add_argument("--num-problems", type=int, default=36)
    parser.add_argument("--output", default="gallery.png")
    options = vars(parser.parse_args())
    num_problems, output = options.pop("num_problems"), options.pop("output")
    contact_sheet(problems(**options)[:num_problems]).save(output)


if __name__ == "__main__":
    main()
