import pytest
from helpers.verdicts import boxed
from hypothesis import given
from hypothesis import strategies as st

from reasonenv.grading import grade
from reasonenv.grading.choice.multiple_choice import answer_letters, option_text, reference_letters

OPTIONS = ("10 cm", "11 cm", "12 cm", "13 cm")


@pytest.mark.parametrize(
    ("reference", "letters"),
    [
        ("C", "C"),
        ("(C)", "C"),
        ("C.", "C"),
        ("$C$", "C"),
        (r"\text{C}", "C"),
        ("BD", "BD"),
        ("ABCD", "ABCD"),
    ],
)
def test_a_reference_of_capitals_is_a_choice(reference, letters):
    assert reference_letters(reference) == frozenset(letters)


@pytest.mark.parametrize("reference", ["c", "K", "DB", "AA", "12", "", "AX", "A+B", "A, 12", "Abe"])
def test_any_other_reference_is_no_choice(reference):
    assert reference_letters(reference) is None


@pytest.mark.parametrize(
    ("answer", "letters"),
    [
        ("C", "C"),
        ("c", "C"),
        ("(C)", "C"),
        ("(c)", "C"),
        ("C)", "C"),
        ("C.", "C"),
        ("C:", "C"),
        ("**C**", "C"),
        ("$C$", "C"),
        (r"\text{C}", "C"),
        (r"\mathbf{(C)}", "C"),
        (r"\textbf{(C)}\ 12", "C"),
        ("C. 12 cm", "C"),
        ("{C}", "C"),
        ("Both A and C", "AC"),
        ("(C) 12 cm", "C"),
        ("C、12 cm", "C"),
        ("Option C", "C"),
        ("option (C)", "C"),
        ("choice C is right", "C"),
        ("选C", "C"),
        ("选项C", "C"),
        ("C选项", "C"),
        ("C项", "C"),
        ("The answer is C", "C"),
        ("C, since 12 is right", "C"),
        ("C, it cannot be A or B", "C"),
        ("not A but C", "C"),
        ("Ｃ", "C"),
        ("[C]", "C"),
        ('"C"', "C"),
        ("故选：C", "C"),
        ("正确答案是C", "C"),
        ("The correct answer is (C) 12", "C"),
        ("A triangle, so C", "C"),
        ("A, C", "AC"),
        ("A and C", "AC"),
        ("AC", "AC"),
        ("A、C", "AC"),
        ("A, B, C, D", "ABCD"),
    ],
)
def test_letters_are_recognized_in_every_form(answer, letters):
    assert answer_letters(answer) == frozenset(letters)


@pytest.mark.parametrize(
    "answer", ["12 cm", "", "x", "a triangle", "A triangle", "I think so", "K"]
)
def test_an_answer_without_a_letter_is_no_choice(answer):
    assert answer_letters(answer) is None


@pytest.mark.parametrize("answer", ["A or C", "B or maybe C", "A或C", "C还是A", "B? C?", "A / C?"])
def test_alternatives_choose_nothing(answer):
    assert not answer_letters(answer)
    assert not grade(f"<answer>{answer}</answer>", "AC").correct


@pytest.mark.parametrize(
    "dress", ["{}", "({})", "{}.", "**{}**", "option {}", "{}. it", r"\text{{{}}}"]
)
@pytest.mark.parametrize("letter", "ABCDEFGHIJ")
def test_every_letter_is_recognized_in_every_form(letter, dress):
    assert answer_letters(dress.format(letter)) == {letter}


@pytest.mark.parametrize(
    "answer",
    [
        "C",
        "(C)",
        "c",
        "C.",
        r"\text{C}",
        "**C**",
        "C. 12 cm",
        "option C",
        "(C) 12 cm",
        "12 cm",
        "12",
    ],
)
def test_the_letter_and_the_text_of_the_right_option_are_both_right(answer):
    assert grade(f"<answer>{answer}</answer>", "C", OPTIONS).correct
    assert grade(boxed(answer), "C", OPTIONS).correct
    assert not grade(f"<answer>{answer}</answer>", "D", OPTIONS).correct


@pytest.mark.parametrize(
    "answer", ["11 cm", "B", "12 kg", "C. 12 cm or D. 13 cm", "12, 13", "not C"]
)
def test_another_option_is_wrong_by_letter_and_by_text(answer):
    assert not grade(f"<answer>{answer}</answer>", "C", OPTIONS).correct


def test_the_text_of_an_option_is_compared_as_an_answer_is():
    options = (r"\frac{1}{2}", "x+1", r"\{1, 2\}")
    assert grade(boxed("0.5"), "A", options).correct
    assert grade(boxed("1+x"), "B", options).correct
    assert grade(boxed("2, 1"), "C", options).correct
    assert not grade(boxed("x"), "B", options).correct


def test_without_options_a_text_is_not_the_letter():
    assert not grade(boxed("12 cm"), "C").correct


@pytest.mark.parametrize("answer", ["A or B or C or D", "A, B, C, D", "A, B", "ABCD", "BC", "A/B"])
def test_an_answer_with_every_letter_is_wrong(answer):
    assert not grade(f"<answer>{answer}</answer>", "A", ("1", "2", "3", "4")).correct
    assert not grade(f"<answer>{answer}</answer>", "A").correct


@pytest.mark.parametrize(
    ("answer", "right"), [("ABD", 1), ("A, B, D", 1), ("D, B and A", 1), ("AB", 0)]
)
def test_all_of_several_right_options_are_required(answer, right):
    assert grade(boxed(answer), "ABD").correct == bool(right)


def test_a_lower_case_reference_is_a_quantity_and_no_choice():
    assert not grade("<answer>H</answer>", "h").correct
    assert grade("<answer>h</answer>", "h").correct


def test_a_reference_may_name_its_option():
    assert grade(boxed("B"), "B. a rhombus").correct
    assert not grade(boxed("C"), "B. a rhombus").correct
    assert grade(boxed("B"), "(B) rhombus").correct


@pytest.mark.parametrize("reference", ["A triangle", "I think", "A"])
def test_an_article_names_no_option(reference):
    assert grade(boxed("A"), reference).correct == (reference == "A")


def test_the_option_text_is_that_of_one_existing_option():
    assert option_text(frozenset("B"), OPTIONS) == "11 cm"
    assert option_text(frozenset("F"), OPTIONS) is None
    assert option_text(frozenset("AB"), OPTIONS) is None
    assert option_text(frozenset("A"), ()) is None


@given(st.sets(st.sampled_from("ABCDEFGHIJ"), min_size=1), st.randoms(use_true_random=False))
def test_the_order_of_letters_never_matters(letters, rng):
    ordered = "".join(sorted(letters))
    shuffled = rng.sample(ordered, len(ordered))
    assert reference_letters(ordered) == letters
    for joint in (", ", " and ", "、", " "):
        assert answer_letters(joint.join(shuffled)) == letters


@given(st.text())
def test_choices_raise_on_no_text(text):
    letters = answer_letters(text)
    assert letters is None or letters <= set("ABCDEFGHIJ")
    reference_letters(text)
