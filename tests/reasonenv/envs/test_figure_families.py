import random
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from reasonenv.envs import figures
from reasonenv.envs.figures.canvas import BLUE, RED, Style
from reasonenv.envs.figures.family import draw_operands

STYLE = Style((250, 250, 250))
POSED = [
    (family, level)
    for family in figures.FAMILIES.values()
    for level in figures.LEVELS[family.level - 1 :]
]
by_family_and_level = pytest.mark.parametrize(
    ("family", "level"), POSED, ids=[f"{family.name}-{level}" for family, level in POSED]
)


def values_of(heights, bars):
    *_, unit, first, second, third, fourth = heights
    named = {"K": first, "L": second, "M": third, "N": fourth}
    return [unit * named[bar] for bar in bars]


def distance(per_tile, red, blue):
    return abs(red[0] - blue[0]) + abs(red[1] - blue[1])


def height_at(values, x):
    per_tile, *heights = values
    return heights[x // per_tile]


# Each answer by another way than the family's steps.
ANSWERS = {
    "sum": lambda *numbers: sum(numbers),
    "perimeter": lambda width, height: width + height + width + height,
    "clock": lambda hour, later: (hour + later - 1) % 12 + 1,
    "number_line": lambda start, distance, marked: start + distance * marked,
    "angle": lambda left, right: 180 - left - right,
    "missing": lambda first, second: second,
    "area": lambda width, height: sum(width for _ in range(height)),
    "dots": lambda columns, rows, chosen: len(set(chosen)),
    "dice": lambda *pips: sum(pips),
    "fraction": lambda columns, rows, chosen: Fraction(len(set(chosen)), columns * rows),
    "bar": lambda heights, bar: values_of(heights, bar)[0],
    "minutes": lambda hour, minute: hour * 60 + minute,
    "side": lambda width, height: height,
    "shapes": lambda asked, table: sum(kind == asked for kind in table),
    "difference": lambda heights, *bars: (
        max(values_of(heights, bars)) - min(values_of(heights, bars))
    ),
    "slope": lambda x, y, right, end: Fraction(end - y, right - x),
    "coordinates": distance,
    "graph": height_at,
}


class Single(type(figures.FAMILIES["sum"])):
    name = "single"

    def sample(self, rng, level):
        return 1, 1


def operands_of(family, level, count):
    rng = random.Random(0)
    return [family.sample(rng, level) for _ in range(count)]


@by_family_and_level
def test_answers_are_exact(family, level):
    for problem in figures.problems(level=level, families=[family.name])[:40]:
        answer = ANSWERS[family.name](*problem.metadata["operands"])
        answers = {"ABCD"[place]: text for place, text in enumerate(problem.options)}
        assert answers.get(problem.answer, problem.answer) == str(answer)


@by_family_and_level
def test_figure_and_question_determine_the_answer_and_the_question_alone_does_not(family, level):
    by_question, by_both, by_operands = (defaultdict(set) for _ in range(3))
    for operands in operands_of(family, level, 200):
        question, answer = family.ask(operands), ANSWERS[family.name](*operands)
        pixels = family.draw(operands, STYLE).pixels().tobytes()
        by_question[question].add(answer)
        by_both[question, pixels].add(answer)
        by_operands[family.canonical(operands)].add(answer)
    assert all(len(answers) == 1 for answers in by_both.values())
    # Number lines are held out with all their marks, and missing numbers in either order.
    if family.name not in ("number_line", "missing"):
        assert all(len(answers) == 1 for answers in by_operands.values())
    assert any(len(answers) > 1 for answers in by_question.values())


@pytest.mark.parametrize("per_tile", [1, 2])
def test_charts_are_drawn_at_the_middles_of_tiles(per_tile):
    def center(pixels, color):
        rows, columns = np.nonzero((pixels == color).all(axis=-1))
        return columns.mean(), rows.mean()

    for red, blue in [((0, 0), (3, 5)), ((6, 1), (2, 6)), ((4, 4), (0, 2))]:
        family = figures.FAMILIES["coordinates"]
        pixels = family.draw((per_tile, red, blue), STYLE).pixels()
        for (x, y), color in ((red, RED), (blue, BLUE)):
            place = 42 + 28 / per_tile * x, 28 * 6.5 - 28 / per_tile * y
            assert center(pixels, color) == pytest.approx(place, abs=0.5)
    heights = 5, 2, 6, 3
    pixels = figures.FAMILIES["bar"].draw(((per_tile, 1, *heights), "K"), STYLE).pixels()
    bars = (pixels == BLUE).all(axis=-1)[:, 70:182:28].sum(axis=0)
    assert (bars / 28 * per_tile).round().tolist() == list(heights)


def test_digits_have_tiles_of_their_own():
    tiles = figures.FAMILIES["sum"].draw((45, 7), STYLE).pixels().reshape(28, 5, 28, 3)
    is_inked = [(tiles[:, column] != 250).any() for column in range(5)]
    assert is_inked == [True, True, True, False, True]
    other = figures.FAMILIES["missing"].draw((7, 41), STYLE).pixels().reshape(28, 8, 28, 3)
    np.testing.assert_array_equal(tiles[:, 4], other[:, 1])
    np.testing.assert_array_equal(tiles[:, 0], other[:, 6])


def test_a_family_without_operands_for_a_split_is_said_so():
    with pytest.raises(ValueError, match="family 'single' has too few operands for a split"):
        draw_operands(Single(), "heldout", 1, random.Random(0))


@by_family_and_level
def test_nothing_touches_the_edge_even_when_shifted(family, level):
    for operands in operands_of(family, level, 20):
        still = family.draw(operands, STYLE).pixels()
        for edge in (still[0], still[-1], still[:, 0], still[:, -1]):
            assert (edge == STYLE.background).all()
        moved = family.draw(operands, Style(STYLE.background, shift=(1, -1))).pixels()
        np.testing.assert_array_equal(moved[:-1, 1:], still[1:, :-1])
