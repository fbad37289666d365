"""A contact sheet: python -m reasonenv.envs.diagrams --level 3 --output diagrams.png."""

import argparse
import textwrap
from collections.abc import Sequence

from PIL import Image, ImageDraw

from reasonenv.envs.diagrams import BUILT_IN, problems
from reasonenv.envs.diagrams.style import font
from reasonenv.problem import Problem


def contact_sheet(figures: Sequence[Problem], columns: int = 6) -> Image.Image:
    """Figures of one width with their questions and answers, in rows."""
    width = figures[0].images[0].shape[1]
    letter = max(8, width // 28)
    across, down = width + letter, width + 8 * letter
    sheet = Image.new("RGB", (columns * across, -(-len(figures) // columns) * down), "white")
    for place, problem in enumerate(figures):
        corner = place % columns * across + letter // 2, place // columns * down + letter // 2
        figure = Image.fromarray(problem.images[0])
        sheet.paste(figure, corner)
        texts = f"{problem.metadata['family']}: {problem.question}", f"Answer: {problem.answer}"
        words = "\n".join(textwrap.fill(text, round(1.75 * width / letter)) for text in texts)
        below = corner[0], corner[1] + figure.height + 4
        ImageDraw.Draw(sheet).text(below, words, fill="black", font=font("DejaVuSans", letter))
    return sheet


def main() -> None:
    """Draw the sheet that the command line asks for: one problem of each family."""
    parser = argparse.ArgumentParser(prog="python -m reasonenv.envs.diagrams", description=__doc__)
    parser.add_argument("--split", default="train")
    parser.add_argument("--level", type=int, default=3)
    parser.add_argument("--problem-seed", type=int, default=0)
    parser.add_argument("--families", nargs="*", default=BUILT_IN)
    parser.add_argument("--size", type=int, default=448)
    parser.add_argument("--multiple-choice", action="store_true")
    parser.add_argument("--output", default="diagrams.png")
    options = vars(parser.parse_args())
    names, output = options.pop("families"), options.pop("output")
    sheet = contact_sheet([problems(families=[name], **options)[0] for name in names])
    sheet.quantize(64).save(output, optimize=True)


if __name__ == "__main__":
    main()
