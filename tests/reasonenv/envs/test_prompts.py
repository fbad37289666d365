from dataclasses import replace

import pytest

import reasonenv
from reasonenv.grading.reading import final_answer
from reasonenv.problem import Problem
from reasonenv.prompts import PROMPTS, find_prompt

ELEMENTS = (
    *("Solve the question", "think", "latex format", "$...$", r"\boxed{}", "<think> </think>"),
    *("<answer> </answer>", "$1+1=2$", r"<answer>The answer is $\boxed{2}$ </answer>"),
    *("start with <answer>", "end with </answer>"),
)


def test_the_cpgd_prompt_has_every_element_of_table_3():
    assert not [element for element in ELEMENTS if element not in find_prompt("cpgd").system]


@pytest.mark.parametrize("name", ["cpgd", "mm_eureka"])
def test_the_example_of_a_system_text_is_read_as_its_own_answer(name):
    system = find_prompt(name).system
    assert final_answer(system.partition("which means")[0]) == "2"
    assert ("<think>" in system) == (name == "cpgd")


def test_the_dapo_prompt_asks_for_a_last_line_with_the_answer():
    assert "Answer: $Answer (without quotes)" in find_prompt("dapo").user("How many?")


@pytest.mark.parametrize("name", PROMPTS)
def test_braces_in_a_question_mean_nothing(name):
    question = r"\frac{1}{2} {question} {0} {"
    assert question in find_prompt(name).user(question)


def test_an_unknown_prompt_is_told_with_those_that_there_are():
    for name in ("cpg", "cpg:user", "cpgd:", "cpgd:system", ":user", "cpgd:user:user"):
        message = f"no prompt is called '{name}': there are cpgd, dapo, plain"
        with pytest.raises(ValueError, match=message):
            find_prompt(name)


ASKED = Problem(id="1", question="How many?", answer="7", query="Count, please: how many?")


@pytest.mark.parametrize(
    ("name", "system", "words"),
    [
        ("official", "", "Count, please: how many?"),
        ("mm_eureka", find_prompt("mm_eureka").system, "Count, please: how many?"),
        ("cpgd", find_prompt("cpgd").system, "How many?"),
        ("plain", "", "How many?"),
    ],
)
def test_the_benchmarks_own_words_are_used_where_they_are_asked_for(name, system, words):
    assert find_prompt(name).ask(ASKED) == (system, words)
    without = replace(ASKED, query=None)
    assert find_prompt(name).ask(without) == (system, "How many?")


@pytest.mark.parametrize("name", PROMPTS)
def test_a_system_text_may_stand_in_front_of_the_user_text(name):
    system, words = find_prompt(name).ask(ASKED)
    expected = f"{system}\n\n{words}" if system else words
    assert find_prompt(f"{name}:user").ask(ASKED) == ("", expected)


def test_the_official_prompt_is_what_the_environment_calls_so(shared):
    options = {"data": shared / "data", "prompt": "official", "num_workers": 1}
    words = {}
    for name in ("MMK12-v0", "MathVista-v0", "GSM8K-v0", "DAPOMath17k-v0"):
        env = reasonenv.make(name, **options)
        words[name] = env.reset(seed=0)[0]
        env.close()
    assert words["MMK12-v0"]["system"] == find_prompt("mm_eureka").system
    assert words["MathVista-v0"]["question"].startswith("Hint: Please answer the question")
    assert words["GSM8K-v0"]["question"].endswith(r"your final answer within \boxed{}.")
    assert 'on its own line after "Answer:".' in words["DAPOMath17k-v0"]["question"]


def test_the_official_prompt_may_have_its_system_text_in_the_user_text(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"question": "How many?", "answer": "#### 7"}\n')
    env = reasonenv.make("GSM8K-v0", data=tmp_path, prompt="official:user", num_workers=1)
    assert env.get_wrapper_attr("instruction") == find_prompt("boxed:user")
    env.close()


def test_an_environment_without_an_official_prompt_says_so():
    with pytest.raises(ValueError, match="Figures-v2 has no official prompt: take cpgd, plain"):
        reasonenv.make("Figures-v2", prompt="official")
