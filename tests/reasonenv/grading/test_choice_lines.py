"""Choices on the last line of an answer, in several boxes, and names with an initial."""

import pytest

from reasonenv.grading import grade

CHOSEN = [
    ("The lines never meet.\nTherefore they are parallel.\nA. Yes", "A", ["Yes", "No"]),
    ("Some reasons are given here.\nB. No", "B", ["Yes", "No"]),
    ("It is clear from the figure.\n(C) 12 cm", "C", ["3 cm", "5 cm", "12 cm"]),
    ("由图可知两直线平行。\nA. 正确", "A", ["正确", "错误"]),
    ("B \\text{ only}", "B", []),
    ("\\boxed{B \\text{ only}}", "B", []),
    ("B only", "B", ["x", "y", "z"]),
]
NOT_CHOSEN = [
    ("\\boxed{A} or \\boxed{C}", "AC", []),
    ("\\boxed{A} or \\boxed{C}", "A", []),
    ("\\boxed{A} or \\boxed{C}", "C", []),
    ("\\boxed{A}\\boxed{B}", "B", []),
    ("\\boxed{A}\\boxed{B}", "A", []),
    ("\\boxed{A} \\boxed{B}", "B", []),
    ("J. Smith", "J", []),
    ("J", "J. Smith", []),
    ("A. Yes\nB. Never", "B", ["Yes", "Never"]),
    ("The options are:\nA. Yes\nB. Never", "B", ["Yes", "Never"]),
    ("The answer is B.\nA. Yes", "A", ["Yes", "No"]),
    ("This one is wrong:\nA. Yes", "A", ["Yes", "No"]),
    ("Reason.\nA. No", "A", ["Yes", "No"]),
    ("A \\text{ or } B", "B", []),
    ("B \\text{ is wrong}", "B", []),
    ("\\text{not } B", "B", []),
]


@pytest.mark.parametrize(("response", "reference", "options"), CHOSEN)
def test_a_choice_is_right(response, reference, options):
    assert grade(response, reference, options).correct


@pytest.mark.parametrize(("response", "reference", "options"), NOT_CHOSEN)
def test_other_choices_are_wrong(response, reference, options):
    assert not grade(response, reference, options).correct
