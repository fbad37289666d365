"""Answers after a marker that a later sentence takes back, confirms or leaves alone."""

import pytest

from reasonenv.grading import grade

TAKEN_BACK = [
    ("The answer is 12. Hmm, let me double check: 3 × 5 = 15. So it is 15.", "12", "15"),
    ("The answer is 12. Hold on, I forgot a row, so it is 15.", "12", "15"),
    ("The answer is 12. Wait, let me check: 3 × 5 = 15. So it is 15.", "12", "15"),
    ("The answer is 12. Hmm, I should recompute: 5 × 3 = 15. It is 15.", "12", "15"),
    ("Answer: 12\n\nHold on, I misread: there are 5 rows of 3.\n\nIt should be 15.", "12", "15"),
    ("Answer: 12\n\nOne moment, I used the wrong rate. The right value is 15.", "12", "15"),
    ("Answer: 12\n\nHmm, that is not right. It should be 15.", "12", "15"),
    ("**Answer:** 12\n\nOn reflection, it is 15.", "12", "15"),
    ("答案是12。等一下，我漏了一个，应该是15。", "12", "15"),
    ("答案是12。让我再检查一下：3×5=15，所以是15。", "12", "15"),
    ("Answer: 12\n\nHowever, the right value is 15.", "12", "15"),
    ("Answer: 12 (hold on, it is 15)", "12", "15"),
    ("最终答案：12。其实是15。", "12", "15"),
    ("The answer is B. Hold on, I misread the graph, so it is C.", "B", "C"),
]


@pytest.mark.parametrize(("response", "first", "last"), TAKEN_BACK)
def test_the_claim_after_a_retraction_counts(response, first, last):
    assert not grade(response, first).correct
    assert grade(response, last).correct


@pytest.mark.parametrize(
    "response",
    [
        "The answer is 12. Hold on, that cannot be.",
        "The answer is 12. Hold on, there are 5 rows, or 6, so maybe 15.",
        "Some people say the answer is 12. In fact it is 15.",
        "Most students would think that the answer is 12. In reality it is 15.",
    ],
)
def test_what_is_taken_back_or_reported_is_no_answer(response):
    assert not grade(response, "12").correct


@pytest.mark.parametrize(
    "response",
    [
        "The answer is 12.\n\nTo check: 3 × 4 = 12.",
        "The answer is 12. Let me double check: 3 × 4 = 12. Yes.",
        "The answer is 12. Let me verify: 15 - 3 = 12, so it is 12.",
        "The answer is 12. In fact, this is the number of edges of a cube.",
        "The answer is 12. Let me know if you have 2 more questions.",
        "The answer is 12. Let me check: 15 - 3 = 12, so it works.",
        "The answer is 12. Let me check: 8 + 2 = 10, so it works.",
        "The answer is 12. In fact, it is 12 of the 20 that he had.",
        "The answer is 12. Wait, let me verify: 12/4 = 3. Correct!",
        "The answer is 12. However, the number before the sale was 15.",
        "I think the answer is 12.",
        "答案是12。验证：3×4=12。",
    ],
)
def test_a_check_that_agrees_leaves_the_answer(response):
    assert grade(response, "12").correct


ASIDES = [
    ("**Answer:** 20\n\nLet's verify: 20 × 4 = 80. So the perimeter is 80.", "20", "80"),
    ("The answer is 20. Let me verify: 20 × 4 = 80. So the total is 80.", "20", "80"),
    ("The answer is 24. In fact, there are 2 ways to see this.", "24", "2"),
    ("The answer is 12. In reality there are 20 seats, so 8 are free.", "12", "8"),
    ("The answer is 40. But that is for 3 days.", "40", "3"),
    ("The answer is 12. However, there are 3 cases.", "12", "3"),
    ("The answer is 15. In fact, this is the 5th triangular number.", "15", "5"),
    ("The answer is 40. In fact, this is twice 20.", "40", "20"),
    ("答案是7。实际上有3种解法，所以是3种。", "7", "3"),
]


@pytest.mark.parametrize(("response", "answer", "number"), ASIDES)
def test_a_number_of_an_aside_is_no_answer(response, answer, number):
    assert grade(response, answer).correct
    assert not grade(response, number).correct


@pytest.mark.parametrize(
    ("response", "number"),
    [
        ("The answer is 12. Hold on, let me check the condition. It holds for n = 3.", "3"),
        ("答案是7。漏掉一种情况就会得到6。", "6"),
        ("答案是7。等等，验证一下：7×3=21，符合题意。", "21"),
        ("The answer is C. However, if friction is present it is A.", "A"),
    ],
)
def test_a_number_of_a_check_is_never_paid(response, number):
    assert not grade(response, number).correct


def test_words_about_other_options_take_nothing_back():
    response = (
        "The answer is B.\n\nA doubles the radius. This is wrong, since D is 4.\n\nC: it is off."
    )
    assert grade(response, "B").correct
