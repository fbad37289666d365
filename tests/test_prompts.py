import pytest

from reasonenv.answers import final_answer
from reasonenv.prompts import PROMPTS, instruction


@pytest.mark.parametrize(
    "element",
    [
        "Solve the question",
        "think",
        "latex format",
        "$...$",
        r"\boxed{}",
        "<think> </think>",
        "<answer> </answer>",
        "$1+1=2$",
        r"<answer>The answer is $\boxed{2}$ </answer>",
        "start with <answer>",
        "end with </answer>",
    ],
)
def test_the_cpgd_prompt_has_every_element_of_table_3(element):
    assert element in instruction("cpgd").system


def test_the_cpgd_prompt_puts_the_question_alone_into_the_users_words():
    assert instruction("cpgd").user("How many?") == "How many?"


def test_the_example_of_the_cpgd_prompt_is_read_as_its_own_answer():
    assert final_answer(instruction("cpgd").system.partition("which means")[0]) == "2"


def test_the_dapo_prompt_asks_for_a_last_line_with_the_answer():
    words = instruction("dapo").user("How many?")
    assert "How many?" in words
    assert "Answer: $Answer (without quotes)" in words
    assert "{question}" not in words


def test_the_plain_prompt_adds_nothing():
    assert instruction("plain").system == ""
    assert instruction("plain").user("How many?") == "How many?"


@pytest.mark.parametrize("name", PROMPTS)
def test_braces_in_a_question_mean_nothing(name):
    question = r"\frac{1}{2} {question} {0} {"
    assert question in instruction(name).user(question)


def test_an_unknown_prompt_is_told_with_those_that_there_are():
    with pytest.raises(ValueError, match="no prompt is called 'cpg': there are cpgd, dapo, plain"):
        instruction("cpg")
