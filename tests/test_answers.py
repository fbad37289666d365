import time

import pytest

from reasonenv.answers import final_answer, normal


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (r"<think>\boxed{1}</think><answer>\boxed{2}</answer>", "2"),
        (r"<think>\boxed{1}</think><answer>2</answer>", "2"),
        (r"<think>a</think><answer>\boxed{1}</answer> or <answer>\boxed{2}</answer>", "2"),
        (r"<think>\boxed{1}</think> The answer is 7.", "7"),
        (r"<think>\boxed{1}</think><answer></answer>", None),
        (r"<think>\boxed{1}</think>", None),
        (r"<answer>\boxed{3}", "3"),
        (r"First \boxed{1}, then \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{a}b}", "a"),
        (r"\boxed{1} and \boxed{2", "1"),
        (r"\boxed{\boxed{4}}", "4"),
        (r"\boxed{}", None),
        ("The answer is 3.\nWait.\nThe final answer is: 4.", "4"),
        ("So\n\nAnswer: 12", "12"),
        ("**Answer:** 12", "12"),
        ("I count them.\n17", "17"),
        ("答案：5", "5"),
        ("", None),
        ("  \n ", None),
    ],
)
def test_the_final_answer_is_found(response, answer):
    assert final_answer(response) == answer


@pytest.mark.parametrize(
    "response",
    [
        "{" * 10**6,
        r"\boxed{" * 10**5,
        r"\boxed{" * 10**5 + "}",
        "<answer>" * 10**5,
        "answer is " * 10**5,
        "a" * 10**6,
        " " * 10**6,
        "\\" * 10**6,
    ],
)
def test_finding_takes_time_in_proportion_to_the_length(response):
    start = time.process_time()
    final_answer(response)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("$5$", "5"),
        ("$$5$$", "5"),
        (r"\(5\)", "5"),
        (r"\dfrac{1}{2}", r"\frac{1}{2}"),
        (r"\text{B}", "B"),
        (r"\left( 1, 2 \right)", "(1,2)"),
        (r"50^\circ", "50°"),
        ("−5.", "-5"),
        ("（1，2）", "(1,2)"),
        ("12{,}500", "12,500"),
        ("**7**", "7"),
    ],
)
def test_looks_alone_do_not_tell_answers_apart(left, right):
    assert normal(left) == normal(right)


@pytest.mark.parametrize(("left", "right"), [("2 1/2", "21/2"), ("5", "-5"), ("ab", "AB")])
def test_what_matters_stays_in_the_normal_form(left, right):
    assert normal(left) != normal(right)
