import time

import pytest
from helpers.verdicts import accepted, correct, rows
from hypothesis import given
from hypothesis import strategies as st

from reasonenv.grading.words.text import (
    has_date,
    is_prose,
    is_text,
    normalized_words,
    same_words,
    split_at_verb,
    without_spaces,
)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("$ 9 $", "9"),
        ("( 2 , 3 )", "(2,3)"),
        (r"\left( 2, 3 \right)", "(2,3)"),
        ("x +  1", "x+1"),
        ("x\n+ 1", "x+1"),
        (r"\dfrac{2}{7}", r"\frac{2}{7}"),
        ("９", "9"),
        ("9.", "9"),
    ],
)
def test_texts_that_differ_in_layout_are_equal(left, right):
    assert without_spaces(left) == without_spaces(right)


@pytest.mark.parametrize(
    ("left", "right"), [("2 1/2", "21/2"), ("1 2", "12"), ("5", "-5"), ("ab", "AB"), ("2.5", "25")]
)
def test_texts_that_differ_in_meaning_are_different(left, right):
    assert without_spaces(left) != without_spaces(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The Parallelogram.", "parallelogram"),
        (r"\text{no solution}", "No solution"),
        ("“true”", "true"),
        ("right-angled triangle", "Right angled  triangle"),
        ("an ellipse", "ellipse"),
        ("**Tuesday**", "tuesday"),
    ],
)
def test_words_have_no_case_article_or_punctuation(left, right):
    assert normalized_words(left) == normalized_words(right)


@pytest.mark.parametrize(("left", "right"), [("dog", "god"), ("x", "X"), ("not true", "true")])
def test_words_keep_their_letters_and_their_order(left, right):
    assert normalized_words(left) != normalized_words(right)


@pytest.mark.parametrize(
    "text", ["no", "Yes", "decreasing", "no solution", "平行四边形", r"\text{odd}"]
)
def test_words_alone_are_text(text):
    assert is_text(text)


@pytest.mark.parametrize(
    "text", ["x", "ab", "x+1", "12", "ABC", "f(x)", r"\frac{a}{b}", "", "x_1", "a=b"]
)
def test_formulas_are_no_text(text):
    assert not is_text(text)


@pytest.mark.parametrize("text", ["the area is 7", r"x > 0 \text{ always}", "面积是 7"])
def test_words_with_a_formula_are_prose(text):
    assert is_prose(text)


@pytest.mark.parametrize("text", ["x+1", r"\frac{1}{2}", r"\sin x", "ab", "12 cm", r"\alpha"])
def test_a_formula_is_no_prose(text):
    assert not is_prose(text)


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("The figure is a rhombus", " a rhombus"),
        ("It was said that the colours are red", " red"),
        ("Answer: red", " red"),
        ("图形是菱形", "菱形"),
        ("red", "red"),
    ],
)
def test_the_last_clause_follows_the_verb(text, clause):
    head, tail = split_at_verb(text)
    assert tail == clause
    assert head + tail == text


def test_a_date_is_no_difference_and_no_quotient():
    assert has_date("2024-05-17")
    assert has_date("5/17/2024")
    assert not has_date("24-5")
    assert not has_date("5/17")
    assert accepted("2024-05-17", "2024-05-17")
    assert not accepted("2002", "2024-05-17")


EQUAL = {
    "text": [
        ("Yes", "yes"),
        ("yes.", "Yes"),
        (r"\text{Yes}", "yes"),
        ("a rhombus", "Rhombus"),
        ("A rhombus", "rhombus"),
        ("The figure is a rhombus.", "rhombus"),
        ("the quadrilateral ABCD is a rhombus", "rhombus"),
        ("Wednesday", r"\text{Wednesday}"),
        ("no solution", r"\text{No solution}"),
        ("菱形", "菱形"),
        ("图形是菱形。", "菱形"),
        ("**decreasing**", "decreasing"),
        ("right-angled", "right angled"),
    ],
    "prose around a value": [
        ("It takes 45 minutes", "45 minutes"),
        ("The area is 12 cm^2.", r"12\text{ cm}^2"),
        ("She has 15 apples left", "15"),
        (r"The value is $\frac{1}{2}$.", "0.5"),
        ("15 apples", "15"),
        ("15", "15 apples"),
        ("The total = 15 apples", "15"),
        ("45 minutes are needed", "45 minutes"),
    ],
}
DIFFERENT = {
    "text": [
        ("yes", "no"),
        ("not a rhombus", "rhombus"),
        ("rhombus or rectangle", "rhombus"),
        ("the figure is no rhombus", "rhombus"),
        ("it is not decreasing", "decreasing"),
        ("increasing", "decreasing"),
        ("yes or no", "yes"),
        ("yes, no", "yes"),
        ("dog", "god"),
        ("菱形", "矩形"),
        ("不是菱形", "菱形"),
        ("这不可能是菱形", "菱形"),
        ("It cannot be a rhombus", "rhombus"),
        ("It isn't a rhombus", "rhombus"),
        ("None of them is a rhombus", "rhombus"),
        ("It is false that it is a rhombus", "rhombus"),
        ("if it is a rhombus", "rhombus"),
        ("Is it a rhombus? No, it is a kite", "rhombus"),
        ("rhombus", "12"),
        ("12", "rhombus"),
        ("five", "6"),
        ("fifth", "5"),
        ("Wednesday", "W"),
    ],
    "prose around a value": [
        ("It does not take 45 minutes", "45 minutes"),
        ("at least 45 minutes", "45 minutes"),
        ("45 or 50 minutes", "45 minutes"),
        ("15 apples", "15 pears"),
        ("between 10 and 15", "15"),
        ("either 15 or 16", "15"),
        ("15 apples and 3 pears", "15"),
        ("half of 15", "15"),
    ],
}


@pytest.mark.parametrize(("answer", "reference"), rows(EQUAL))
def test_equal_texts_are_correct(answer, reference):
    assert accepted(answer, reference)
    assert correct(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), rows(DIFFERENT))
def test_different_texts_are_wrong(answer, reference):
    assert not accepted(answer, reference)
    assert not correct(answer, reference)


@given(st.text())
def test_text_functions_raise_on_no_text(text):
    assert without_spaces(without_spaces(text)) is not None
    assert isinstance(normalized_words(text), str)
    assert is_text(text) in (True, False)
    assert is_prose(text) in (True, False)
    split_at_verb(text)
    has_date(text)


@pytest.mark.parametrize(
    "piece", [" ", "a", "1", "is", "{", r"\text{", "1-1-", "1/", ":", "\\", "是"]
)
def test_text_functions_take_linear_time(piece):
    text = piece * (10**6 // len(piece))
    start = time.process_time()
    for function in (
        without_spaces,
        normalized_words,
        is_text,
        is_prose,
        split_at_verb,
        has_date,
    ):
        function(text)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("circles", "circle"),
        ("No solutions", "no solution"),
        ("North-East", "northeast"),
        ("Tom and Jerry", "Jerry and Tom"),
    ],
)
def test_words_are_equal_joined_or_not_singular_or_plural(text, other):
    assert same_words(text, other)


@pytest.mark.parametrize(
    ("text", "other"),
    [("Tom", "Tom and Jerry"), ("Tom, Jerry", "Jerry, Tom"), ("pas", "pass"), ("odd", "not odd")],
)
def test_other_words_are_different(text, other):
    assert not same_words(text, other)
