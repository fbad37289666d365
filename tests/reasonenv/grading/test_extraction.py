import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reasonenv.grading.extraction import (
    answer_section,
    final_answer,
    has_qualifier,
    last_boxes,
    prose_answer,
)
from reasonenv.grading.extraction.boxes import joins_answers

NEAR_LIMIT = 20_000


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        # Sections.
        (r"<think>\boxed{1}</think><answer>\boxed{2}</answer>", "2"),
        (r"<think>\boxed{1}</think><answer>2</answer>", "2"),
        (r"<think>a</think><answer>\boxed{1}</answer> or <answer>\boxed{2}</answer>", "2"),
        ("<answer>1</answer> text <answer>2", "2"),
        (r"<answer>\boxed{3}", "3"),
        ("<answer>\n  9\n</answer>", "9"),
        ("<answer>9</answer>", "9"),
        ("<answer>x = 1\ny = 2</answer>", "x = 1\ny = 2"),
        (r"<answer>9</answer> I also tried \boxed{8}.", "9"),
        (r"<think>\boxed{1}</think><answer></answer>", None),
        (r"<answer>5</answer><answer></answer>", None),
        # Reasoning never counts.
        (r"<think>\boxed{1}</think> The answer is 7.", "7"),
        (r"<think>\boxed{1}</think>", None),
        (r"<think>\boxed{1}", None),
        (r"\boxed{1} <think>\boxed{2}", "1"),
        (r"<think>a</think>\boxed{1}<think>\boxed{2}</think>\boxed{3}", "3"),
        ("<answer><think>5</think>6</answer>", "6"),
        ("<think><answer>5</answer></think>7", "7"),
        (r"<think>Not <answer>5</answer>.</think>\boxed{7}", "7"),
        ("<think>Maybe <answer>5</answer>, where", None),
        ("<think>a <think>b</think><answer>5</answer>", "5"),
        (r"<think>a</think><answer>5</answer></think>\boxed{7}", "5"),
        ("<think>a</think>The answer is 5</think>7", "7"),
        ("<answer>5</answer></think>7", "7"),
        ("<think>a</think><answer>8</answer><think>or <answer>9</answer>", "8"),
        ("<think>a</think><answer>8</answer><think>b</think>", "8"),
        # Boxes.
        (r"First \boxed{1}, then \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\frac{\sqrt{3}}{2^{n}}}", r"\frac{\sqrt{3}}{2^{n}}"),
        (r"\boxed{a}b}", "a"),
        (r"\boxed{1} and \boxed{2", "1"),
        (r"\boxed{\boxed{4}}", "4"),
        (r"\boxed {4}", "4"),
        (r"\fbox{4}", "4"),
        (r"so it is \boxed 4", "4"),
        (r"First $\boxed 5$, in the end $\boxed 7$.", "7"),
        (r"\boxed{3} and later \boxed 9", "9"),
        (r"\boxed{3}. It stands in a \boxed form.", "3"),
        (r"\boxed{4} is the answer is 5", "4"),
        (r"Answer: 5. Or rather $\boxed{4}$.", "4"),
        (r"\boxed{}", None),
        (r"\boxed{ }", None),
        # Boxes that are listed are one answer.
        (r"\boxed{1} and \boxed{2}", "1, 2"),
        (r"\boxed{1}, \boxed{2}, \boxed{3}", "1, 2, 3"),
        (r"$x=\boxed{1}$ or $x=\boxed{2}$", "1, 2"),
        (r"\boxed{1}、\boxed{2}", "1, 2"),
        (r"\boxed{1}. No, \boxed{2}", "2"),
        (r"\boxed{1}, which is wrong, so \boxed{2}", "2"),
        (r"\boxed{1}; but then \boxed{2}", "2"),
        (r"\boxed{1} \boxed{2}", "2"),
        (r"\boxed{9}. Hence \boxed{1} and \boxed{2}", "1, 2"),
        # Phrases.
        ("The answer is 3.\nWait.\nThe final answer is: 4.", "4"),
        ("So\n\nAnswer: 12", "12"),
        ("**Answer:** 12", "12"),
        ("**Answer**: 12", "12"),
        ("answer = 12", "12"),
        ("The answers are 3 and 4.", "3 and 4"),
        ("Answer:\n\n12\n\nThat was easy.", "12"),
        ("The answer is 2.5.", "2.5"),
        ("答案：5", "5"),
        ("答案是5。", "5"),
        ("所以答案为 x=5", "x=5"),
        ("The answer is 7. I hope it is correct.", "7"),
        # Nothing of these: the last line.
        ("I count them.\n17", "17"),
        ("17\n", "17"),
        ("17<|im_end|>", "17"),
        ("", None),
        ("  \n ", None),
    ],
)
def test_the_final_answer_is_found(response, answer):
    assert final_answer(response) == answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("7" * (NEAR_LIMIT + 1), None),
        ("a" * 2 * NEAR_LIMIT + r"\boxed{7}", "7"),
        (r"\boxed{7}" + "a" * 2 * NEAR_LIMIT, None),
        ("a" * 2 * NEAR_LIMIT + "The answer is 7.", None),
        ("<think>" + "a" * 2 * NEAR_LIMIT + "</think>The answer is 7.", "7"),
    ],
    ids=["digits", "box at the end", "box at the start", "phrase", "phrase after thoughts"],
)
def test_of_a_very_long_section_only_a_box_at_its_end_counts(response, answer):
    assert final_answer(response) == answer


@pytest.mark.parametrize(
    ("response", "text", "tagged"),
    [
        ("<think>a</think><answer>b</answer>c", "b", True),
        ("<think>a</think>b", "b", False),
        ("a", "a", False),
        ("<answer>a", "a", True),
        ("a</answer>", "a</answer>", False),
        ("<think>a", "", False),
        ("a<think>b", "a", False),
    ],
)
def test_a_section_is_what_may_hold_the_answer(response, text, tagged):
    assert answer_section(response) == (text, tagged)


@pytest.mark.parametrize(
    ("text", "boxes"),
    [
        (r"\boxed{1}", ["1"]),
        (r"\boxed{1}, \boxed{2} and \boxed{3}", ["1", "2", "3"]),
        (r"\boxed{1}: \boxed{2}", ["2"]),
        (r"\boxed{1, 2}", ["1, 2"]),
        (r"\boxed{\text{a \} b}}", [r"\text{a \} b}"]),
        (r"\boxed{", []),
        ("1", []),
    ],
)
def test_the_last_boxes_are_those_of_one_enumeration(text, boxes):
    assert last_boxes(text) == boxes


@pytest.mark.parametrize("gap", [" and ", ", ", " or ", "和", "; ", "$, and $x_2 = $", "、"])
def test_answers_are_listed_by_commas_and_conjunctions(gap):
    assert joins_answers(gap)


@pytest.mark.parametrize(
    "gap",
    ["", " ", ". ", " is not ", ", so ", ", wait, ", ", then ", "\n", ", " + "x" * 60, " 3, "],
)
def test_answers_are_not_listed_across_a_break(gap):
    assert not joins_answers(gap)


@pytest.mark.parametrize(
    ("prose", "statement"),
    [
        ("The train is 45 minutes late.", "45 minutes"),
        ("First 12, so in the end there are 30 apples", "30"),
        ("It follows that $x$ is $3$.", "3"),
        (r"We get \(x = 3\) here.", "x = 3"),
        ("That makes **18** in total, of 20", "18"),
        ("The roots are 4 and 9.", "4, 9"),
        ("The price is $1,250.75 in total", "$1,250.75"),
        ("The share is 3/4 of it.", "3/4"),
        ("The rise is 15%.", "15%"),
        ("The sum equals -12", "-12"),
        ("The answer is 7 or 8", "7, 8"),
        ("The length is 12 m", "12 m"),
        ("There are 12 in total", "12"),
        ("The area is $12$ cm$^2$.", "12 cm^2"),
        ("The point is (3, 4).", "(3, 4)"),
        ("The line is y = 2x + 1.", "y = 2x + 1"),
        ("It is approximately 0.25", "0.25"),
        ("The minimum is 12, attained at x = 3", "12"),
        ("The remainder is 5 when divided by 7.", "5"),
        ("There is nothing to say", None),
        # Words that make it something else.
        ("It is not 7", None),
        ("It is at least 7", None),
        ("It is more than 7", None),
        ("It is half of 7", None),
        ("It is 7 squared", None),
        ("It is the square root of 7", None),
        ("It is minus 7", None),
        ("It is 8, although many say 7", None),
        ("Is it 7?", None),
        ("the multiples of 7", None),
        ("It isn't 7", None),
        ("它不是 7", None),
        ("The line is not y = 2x + 1.", None),
        ("It is unlikely that it is (3, 4)", None),
        ("It is 12 when x = 3 but 5 otherwise", None),
    ],
)
def test_the_answer_in_prose_is_its_last_statement(prose, statement):
    assert prose_answer(prose) == statement


@pytest.mark.parametrize("words", ["not", "it isn't", "at most", "Less than", "twice", "不"])
def test_words_that_change_an_answer_are_qualifiers(words):
    assert has_qualifier(words)


@pytest.mark.parametrize("words", ["", "the area equals", "notation", "so there are", "a knot"])
def test_other_words_are_no_qualifiers(words):
    assert not has_qualifier(words)


TOKENS = [
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    r"\boxed{",
    "}",
    "{",
    "answer is ",
    "7",
    "\n",
]
RESPONSES = st.lists(st.one_of(st.sampled_from(TOKENS), st.text(max_size=3))).map("".join)


@given(RESPONSES)
@example("</think><answer>\\boxed{</think>\\boxed{")
def test_an_answer_is_never_blank_and_consists_of_the_response(response):
    answer = final_answer(response)
    assert answer is None or answer == answer.strip() != ""
    assert set(answer or "") <= {*response, ",", " "}


@given(RESPONSES, st.sampled_from(["42", r"\frac{1}{2}", "(1, 2)", "B"]))
def test_the_box_of_the_last_answer_section_is_the_answer_after_any_reasoning(response, answer):
    assert final_answer(rf"{response}</think><answer>\boxed{{{answer}}}</answer>") == answer
    assert final_answer(f"{response}</think><answer>\n{answer}\n</answer>") == answer


@given(RESPONSES)
@example("</think><answer>\\boxed{</think>\\boxed{")
def test_the_answer_is_never_in_the_reasoning(response):
    open_thoughts = response.replace("</think>", "")
    assert final_answer(f"<think>{open_thoughts}") is None
    assert final_answer(f"<think>{open_thoughts}</think>") is None
    thoughts = response.replace("<answer>", "")
    assert final_answer(f"<think>{thoughts}</think>") is None
    assert final_answer(f"{thoughts}</think>\nThe answer is 5.") == "5"


@pytest.mark.parametrize(
    "response",
    [
        "{" * 10**6,
        r"\boxed{" * 10**5,
        r"\boxed{" * 10**5 + "}",
        r"\boxed{1}, " * 10**5,
        "<answer>" * 10**5,
        "<think></think>" * 10**5,
        "answer is " * 10**5,
        "answer" + " " * 10**6,
        "<|" * 10**6,
        "a" * 10**6,
        " " * 10**6,
        "\\" * 10**6,
        "1, " * 10**5,
        "$" * 10**6,
        "**" * 10**5,
    ],
    ids=lambda response: ascii(response[:12]),
)
def test_extraction_takes_linear_time(response):
    start = time.process_time()
    final_answer(response)
    prose_answer(response)
    assert time.process_time() - start < 2
