import pytest

from reasonenv.grading import Grade
from reasonenv.problem import Problem
from reasonenv.rewards import accuracy, maximum, think_answer_format, total

PROBLEM = Problem(id="a", question="1+1?", answer="2")
RIGHT, WRONG = Grade(True, "2", "ok"), Grade(False, "3", "ok")


def format_of(response: str) -> float:
    return think_answer_format(response, PROBLEM, WRONG)


@pytest.mark.parametrize(
    "response",
    [
        "<think>a</think><answer>b</answer>",
        "<think>a\nb</think>\n\n \t<answer>\nb\n</answer>",
        "before <think>a</think><answer>b</answer> after",
    ],
)
def test_one_think_block_and_one_answer_block_are_the_format(response):
    assert format_of(response) == 1.0


@pytest.mark.parametrize(
    "response",
    [
        "",
        "2",
        "<think></think><answer>b</answer>",
        "<think>a</think><answer> \n</answer>",
        "<think>a</think> so <answer>b</answer>",
        "<answer>b</answer><think>a</think>",
        "<think>a<think>b</think><answer>b</answer>",
        "<think>a</think><answer>b</answer><answer>b</answer>",
        "<think>a</think><answer>b",
        "<think>a<answer></think>b</answer>",
        "<Think>a</Think><answer>b</answer>",
    ],
)
def test_anything_else_is_not_the_format(response):
    assert format_of(response) == 0.0


def test_accuracy_is_the_verdict():
    assert accuracy("", PROBLEM, RIGHT) == 1.0
    assert accuracy("", PROBLEM, WRONG) == 0.0


def test_the_total_is_the_weighted_sum_and_the_components_are_not_weighted():
    rewards = {"accuracy": (1.0, accuracy), "format": (0.5, think_answer_format)}
    reward, components = total(rewards, "<think>a</think><answer>2</answer>", PROBLEM, RIGHT)
    assert reward == 1.5
    assert components == {"accuracy": 1.0, "format": 1.0}
    assert maximum(rewards) == 1.5


def test_accuracy_and_format_are_told_even_where_they_are_not_paid():
    reward, components = total({"brief": (2.0, lambda *_: 0.25)}, "2", PROBLEM, RIGHT)
    assert reward == 0.5
    assert components == {"accuracy": 1.0, "format": 0.0, "brief": 0.25}
