import random
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from reasonenv.envs.figures import FAMILIES, problems
from reasonenv.envs.figures.canvas import BLUE, RED, Style
from reasonenv.envs.figures.family import draw_operands

LEVELS = (1, 2, 3)
STYLE = Style((250, 250, 250))
POSED = [(family, level) for family in FAMILIES.values() for level in LEVELS[family.level - 1 :]]
by_family_and_level = pytest.mark.parametrize(
    ("family", "level"), POSED, ids=[f"{family.name}-{level}" for family, level in POSED]
)


def values_of(heights, bars):
    return [heights[0] * heights["KLMN".index(bar) + 1] for bar in bars]


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
    "coordinates": lambda x, y: x + y,
    "graph": lambda values, x: dict(zip(range(0, 9, 2), values, strict=True))[x],
    "minutes": lambda hour, minute: hour * 60 + minute,
    "side": lambda width, height: height,
    "shapes": lambda asked, table: sum(kind == asked for kind in table),
    "difference": lambda heights, *bars: (
        max(values_of(heights, bars)) - min(values_of(heights, bars))
    ),
    "slope": lambda x, y, right, end: Fraction(end - y, right - x),
}


class Single(type(FAMILIES["sum"])):
    name = "single"

    def sample(self, rng, level):
        return 1, 1


def operands_of(family, level, count):
    rng = random.Random(0)
    return [family.sample(rng, level) for _ in range(count)]


@by_family_and_level
def test_every_family_holds_out_at_least_three_combinations(family, level):
    rng = random.Random(0)
    draws = (draw_operands(family, "heldout", level, rng) for _ in range(100))
    assert len({family.canonical(operands) for operands in draws}) >= 3


@by_family_and_level
def test_answers_are_exact(family, level):
    for problem in problems(level=level, families=[family.name])[:40]:
        answer = ANSWERS[family.name](*problem.metadata["operands"])
        answers = {"ABCD"[place]: text for place, text in enumerate(problem.options)}
        assert answers.get(problem.answer, problem.answer) == str(answer)


@by_family_and_level
def test_figure_and_question_determine_the_answer_and_the_question_alone_does_not(family, level):
    by_question, by_both = defaultdict(set), defaultdict(set)
    for operands in operands_of(family, level, 300):
        question, answer = family.ask(operands), ANSWERS[family.name](*operands)
        pixels = family.draw(operands, STYLE).pixels().tobytes()
        by_question[question].add(answer)
        by_both[question, pixels].add(answer)
    assert all(len(answers) == 1 for answers in by_both.values())
    assert any(len(answers) > 1 for answers in by_question.values())


def test_what_is_drawn_is_what_the_operands_say():
    def figure(name, *operands):
        return FAMILIES[name].draw(operands, STYLE).pixels()

    def center(pixels, color):
        rows, columns = np.nonzero((pixels == color).all(axis=-1))
        return columns.mean(), rows.mean()

    for x, y in [(0, 0), (3, 7), (8, 1)]:
        assert center(figure("coordinates", x, y), RED) == (42 + 14 * x, 126 - 14 * y)
    for marked in (2, 3, 4):
        assert center(figure("number_line", 1, 2, marked), RED)[0] == 14 + 28 * marked
    dots = figure("dots", 8, 2, (0, 3, 8, 15))[14::28, 14::28, 0] == 0
    assert np.flatnonzero(dots).tolist() == [0, 3, 8, 15]
    bars = (figure("bar", (1, 5, 2, 8, 3), "K") == BLUE).all(axis=-1)[:, 70::28].sum(axis=0)
    assert (bars / 14).round().tolist() == [5, 2, 8, 3]


def test_a_family_without_operands_for_a_split_is_said_so():
    with pytest.raises(ValueError, match="family 'single' has too few operands for a split"):
        draw_operands(Single(), "heldout", 1, random.Random(0))


@by_family_and_level
def test_operands_with_one_canonical_form_have_one_answer(family, level):
    answers = defaultdict(set)
    for operands in operands_of(family, level, 500):
        answers[family.canonical(operands)].add(ANSWERS[family.name](*operands))
    assert all(len(values) == 1 for values in answers.values())


@by_family_and_level
def test_nothing_touches_the_edge_even_when_shifted(family, level):
    for operands in operands_of(family, level, 20):
        still = family.draw(operands, STYLE).pixels()
        for edge in (still[0], still[-1], still[:, 0], still[:, -1]):
            assert (edge == STYLE.background).all()
        moved = family.draw(operands, Style(STYLE.background, shift=(1, -1))).pixels()
        np.testing.assert_array_equal(moved[:-1, 1:], still[1:, :-1])
