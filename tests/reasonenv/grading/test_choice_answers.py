"""Answers to multiple-choice questions as models write them, in English and in Chinese."""

import re

import pytest
from helpers import choices_chinese, choices_english

from reasonenv.grading import grade

OPTIONS = {
    "-": (),
    "SHAPES": ("linear", "quadratic", "exponential", "logarithmic"),
    "LENGTHS": ("10 cm", "11 cm", "12 cm", "13 cm"),
    "NUMBERS": ("31", "32", "33", "34"),
    "STATEMENTS": ("①②", "①③", "②③", "①②③"),
    "TEN": ("2", "4", "6", "8", "10", "12", "14", "16", "18", "20"),
    "FORMULAS": ("$x^2+1$", "$\\frac{1}{2}$", "$\\sqrt{3}$", "$(1, 2)$"),
    "CELLS": ("细胞核", "线粒体", "叶绿体", "细胞膜"),
    "ENERGY": ("Solar energy", "Wind energy", "Both solar and wind energy", "None of the above"),
    "DEGREES": ("30°", "45°", "60°", "90°"),
    "BOTH": ("I only", "II only", "I and II", "neither I nor II"),
    "LETTERS": ("B", "A", "D", "C"),
    "SEGMENTS": ("AB", "AC", "BC", "CD"),
    "SIGNED": ("-2", "2", "-4", "4"),
    "SENTENCES": (
        "The line is parallel to AB",
        "The line through A and C is a diameter",
        "Neither is true",
        "Not enough information",
    ),
    "YESNO": ("Yes", "No"),
    "CHI": ("大于", "小于", "等于", "无法确定"),
    "SETS": ("$\\{1,2\\}$", "$[1,2]$", "$(1,2)$", "$\\varnothing$"),
    "POINTS": ("Point A", "Point B", "Point C", "Point D"),
    "TWINS": ("7", "7", "8", "9"),
    "PAIRS": ("1和2", "1和3", "2和4", "1和4"),
    "NAMES": ("Newton", "Einstein", "Bohr", "Curie"),
    "SPEEDS": ("5 m/s", "10 m/s", "15 m/s", "20 m/s"),
    "FOOD": ("caterpillar", "hawk", "grass", "mouse", "A and B both", "none of these"),
    "ANGLES": ("$\\frac{\\pi}{2}$", "$\\pi$", "$2\\pi$", "$4\\pi$"),
    "PROPOSITIONS": ("①②③", "①③④", "②④", "①④"),
    "TRUTHS": ("True", "False", "Uncertain"),
    "MATRICES": ("A is invertible", "A is singular", "A = I", "B = A"),
}
# Of options that no answer mentions.
UNRELATED = [OPTIONS["SHAPES"], OPTIONS["CHI"], ("x > 1", "x < 1", "x = 1", r"x \ge 1")]


def cases(*tables: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Answer, reference and options of each case in tables."""
    rows = [line.split(" | ") for table in tables for line in table.strip().splitlines()]
    return [(answer, row[0], OPTIONS[row[1]]) for row in rows for answer in row[2:]]


RIGHT = cases(choices_english.RIGHT, choices_chinese.RIGHT)
WRONG = cases(choices_english.WRONG, choices_chinese.WRONG)


@pytest.mark.parametrize(("answer", "reference", "options"), RIGHT)
def test_a_right_choice_is_accepted_as_people_write_it(answer, reference, options):
    assert grade(f"<answer>{answer}</answer>", reference, options).correct
    assert grade(answer, reference, options).correct


@pytest.mark.parametrize(("answer", "reference", "options"), WRONG)
def test_a_wrong_denied_or_open_choice_is_refused(answer, reference, options):
    assert not grade(f"<answer>{answer}</answer>", reference, options).correct
    assert not grade(answer, reference, options).correct


@pytest.mark.parametrize("options", UNRELATED, ids=lambda options: options[0])
def test_options_that_are_not_mentioned_change_no_verdict(options):
    changed = [
        (answer, reference)
        for right, rows in ((True, RIGHT), (False, WRONG))
        for answer, reference, own in rows
        if not own
        and set(reference) <= set("ABCD")
        and grade(f"<answer>{answer}</answer>", reference, options).correct != right
    ]
    assert changed == []


def shifted(text: str) -> str:
    """The text with each letter of an option one further on in the alphabet."""
    letters = str.maketrans("ABCDEFGHI", "BCDEFGHIJ")
    return re.sub("(?<![A-Za-z])[A-I]+(?![A-Za-z])", lambda run: run[0].translate(letters), text)


def test_letters_one_further_on_have_the_same_verdict():
    """Of answers without A, which is an article as well."""
    changed = [
        (answer, reference)
        for right, rows in ((True, RIGHT), (False, WRONG))
        for answer, reference, own in rows
        if not own
        and set(reference) <= set("BCD")
        and not set("AHI") & set(answer)
        and grade(f"<answer>{shifted(answer)}</answer>", shifted(reference)).correct
        != (right and shifted(answer) != answer)
    ]
    assert changed == []
