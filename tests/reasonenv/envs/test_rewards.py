import json
import math
from pathlib import Path

import numpy as np
import pytest
from helpers import toy
from hypothesis import given
from hypothesis import strategies as st

import reasonenv
from reasonenv.adapters.trl import AccuracyReward
from reasonenv.adapters.verl import compute_score
from reasonenv.env import ReasonEnv
from reasonenv.errors import RewardError, UsageError
from reasonenv.grading import Grade
from reasonenv.mm_eureka import mm_eureka
from reasonenv.problem import Problem
from reasonenv.rewards import (
    Penalty,
    accuracy,
    by_name,
    maximum,
    overlong,
    overlong_penalty,
    repetition,
    repetition_penalty,
    think_answer_format,
    total,
    totals,
    unjudged,
)
from reasonenv.vector import ReasonVectorEnv

PROBLEM = Problem(id="a", question="1+1?", answer="2")
RIGHT, WRONG = Grade(True, "2", "ok"), Grade(False, "3", "ok")


def format_of(response: str) -> float:
    return think_answer_format(response, PROBLEM, WRONG)


IN_FORMAT = (
    "<think>a</think><answer>b</answer>",
    "<think>a\nb</think>\n\n \t<answer>\nb\n</answer>",
    "before <think>a</think><answer>b</answer> after",
)
NOT_IN_FORMAT = (
    *("", "2", "<think></think><answer>b</answer>", "<think>a</think><answer> \n</answer>"),
    *("<think>a</think> so <answer>b</answer>", "<answer>b</answer><think>a</think>"),
    "<think>a<think>b</think><answer>b</answer>",
    "<think>a</think><answer>b</answer><answer>b</answer>",
    *("<think>a</think><answer>b", "<think>a<answer></think>b</answer>"),
    "<Think>a</Think><answer>b</answer>",
)


@pytest.mark.parametrize("response", [*IN_FORMAT, *NOT_IN_FORMAT])
def test_one_think_block_and_one_answer_block_are_the_format(response):
    assert format_of(response) == (response in IN_FORMAT)


def test_accuracy_is_the_verdict():
    assert accuracy("", PROBLEM, RIGHT) == 1.0
    assert accuracy("", PROBLEM, WRONG) == 0.0


@pytest.mark.parametrize(
    ("status", "paid"),
    [("ok", 0), ("no_answer", 0), ("unparseable", 1), ("timeout", 1), ("memory", 1), ("error", 1)],
)
def test_only_an_answer_without_a_verdict_is_unjudged(status, paid):
    assert unjudged("", PROBLEM, Grade(False, "x", status)) == paid


# DAPO's own numbers: 16384 is expected, 20480 the limit; and those of its scripts for 7B models.
@pytest.mark.parametrize(
    ("length", "max_length", "buffer", "penalty"),
    [
        (0, 2048, 512, 0.0),
        (1536, 2048, 512, 0.0),
        (1537, 2048, 512, -1 / 512),
        (1792, 2048, 512, -0.5),
        (2048, 2048, 512, -1.0),
        (9999, 2048, 512, -1.0),
        (18432, 20480, 4096, -0.5),
        (1, 2, 2, -0.5),
    ],
)
def test_overlong_responses_are_punished_along_a_line(length, max_length, buffer, penalty):
    assert overlong_penalty(length, max_length, buffer) == penalty


def test_overlong_counts_characters_unless_it_is_told_how_to_count():
    response = "four words stand here"
    assert overlong(22, 4)(response, PROBLEM, WRONG) == -0.75
    words = overlong(5, 2, length=lambda text: len(text.split()))
    assert words(response, PROBLEM, WRONG) == -0.5


@pytest.mark.parametrize(
    ("text", "n", "penalty"),
    [
        ("", 3, 0.0),
        ("one two", 3, 0.0),
        ("one two three four", 2, 0.0),
        ("a a a a a", 2, -0.75),  # one bigram of four
        ("a b a b a", 2, -0.5),
        ("a b c a b c", 3, -0.25),
        ("因为因为因为", 2, -0.6),  # every character a word: two bigrams of five
        ("so\nso  so\tso", 1, -0.75),
    ],
)
def test_repetition_is_the_part_of_ngrams_that_occurred_before(text, n, penalty):
    assert repetition_penalty(text, n) == pytest.approx(penalty)
    assert repetition(n, max_penalty=-0.5)(text, PROBLEM, WRONG) == pytest.approx(penalty / 2)


words = st.lists(st.sampled_from(["so", "x", "=", "2", "因", "hence"]), max_size=40)


@given(words, st.integers(1, 6), st.floats(-3, 0))
def test_repetition_lies_between_its_bounds(said, n, max_penalty):
    assert max_penalty <= repetition_penalty(" ".join(said), n, max_penalty) <= 0


@given(words, st.integers(1, 6), st.integers(2, 5))
def test_who_says_it_once_more_is_punished_no_less(said, n, times):
    passage = [*said, *["end"] * n]  # at least n words, so that a copy brings no new n-gram
    less, more = (" ".join(passage * count) for count in (times, times + 1))
    assert repetition_penalty(more, n) <= repetition_penalty(less, n)


@given(words, st.integers(1, 6))
def test_words_that_all_differ_are_not_punished(said, n):
    different = [f"{word}{position}" for position, word in enumerate(said) if word.isascii()]
    assert repetition_penalty(" ".join(different), n) == 0


def test_accuracy_and_format_are_told_even_where_they_are_not_paid():
    reward, components = total({"brief": (2.0, lambda *_: 0.25)}, "2", PROBLEM, RIGHT)
    assert reward == 0.5
    assert components == {"accuracy": 1.0, "format": 0.0, "brief": 0.25}


@given(
    st.dictionaries(
        st.sampled_from(["accuracy", "format", "unjudged", "repetition"]),
        st.floats(0, 10),
        min_size=1,
    ),
    st.sampled_from(["<think>a a a a</think><answer>2</answer>", "", "2 2 2 2 2"]),
    st.sampled_from([RIGHT, WRONG, Grade(False, "x", "timeout")]),
)
def test_the_total_of_named_rewards_is_the_sum_of_weights_and_components(weights, response, grade):
    rewards = by_name(weights)
    reward, components = total(rewards, response, PROBLEM, grade)
    each = [weight * components[name] for name, weight in weights.items()]
    assert reward == pytest.approx(math.fsum(each))
    one_by_one = [total({name: rewards[name]}, response, PROBLEM, grade)[0] for name in rewards]
    assert reward == pytest.approx(math.fsum(one_by_one))


def test_a_right_answer_earns_the_maximum_where_penalties_and_unjudged_have_weights():
    rewards = by_name({"accuracy": 1, "format": 0.5, "repetition": 0.1, "unjudged": 0.3})
    response = "<think>a</think><answer>2</answer>"
    assert total(rewards, response, PROBLEM, RIGHT)[0] == maximum(rewards) == 1.5


def test_a_reward_is_named_with_its_weight_or_with_its_arguments_too():
    rewards = by_name(
        {
            "accuracy": 1,
            "overlong": {"weight": 0.5, "max_length": 10, "buffer": 5},
            "repetition": {"n": 1},
        }
    )
    assert rewards["accuracy"] == (1.0, accuracy)
    assert {name: weight for name, (weight, _) in rewards.items()} == {
        "accuracy": 1.0,
        "overlong": 0.5,
        "repetition": 1.0,
    }
    components = total(rewards, "no no no no", PROBLEM, WRONG)[1]
    assert components["overlong"] == -1.0
    assert components["repetition"] == -0.75


@pytest.mark.parametrize(
    ("reward", "arguments", "message"),
    [
        *((overlong, (2, n), rf"buffer={n} is not in \(0, max_length=2\]") for n in (0, -1, 3)),
        (repetition, (0, -1.0), "n=0, max_penalty=-1.0: at least 1"),
        (repetition, (3, 0.1), "n=3, max_penalty=0.1: at least 1"),
    ],
)
def test_arguments_out_of_range_are_told_at_once(reward, arguments, message):
    with pytest.raises(ValueError, match=message):
        reward(*arguments)


def test_the_names_of_an_environment_go_before_those_known_here():
    own = {"accuracy": (1.0, lambda *_: 0.5), "brief": (1.0, lambda *_: 0.25)}
    rewards = by_name({"accuracy": 2, "brief": 4, "unjudged": -1}, own)
    assert total(rewards, "", PROBLEM, RIGHT)[0] == 2 * 0.5 + 4 * 0.25


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({}, r"rewards={}: give names and weights, such as {'accuracy': 1.0}"),
        (["accuracy"], r"rewards=\['accuracy'\]: give names and weights"),
        ({"accurate": 1}, "no reward is called 'accurate': did you mean 'accuracy'?"),
        ({"zzz": 1}, "no reward is called 'zzz': there are accuracy, format, mm_eureka, overlong"),
        ({"accuracy": "1"}, "reward 'accuracy' has weight '1': a finite number is needed"),
        ({"accuracy": True}, "reward 'accuracy' has weight True: a finite number is needed"),
        ({"accuracy": math.nan}, "reward 'accuracy' has weight nan: a finite number is needed"),
        ({"accuracy": {"n": 1}}, "reward 'accuracy' takes no argument 'n'"),
        ({"overlong": 1}, "reward 'overlong': missing a required argument: 'max_length'"),
        ({"repetition": {"m": 1}}, "reward 'repetition': got an unexpected keyword argument 'm'"),
        ({"repetition": -0.1}, "reward 'repetition' is 0 or less: weight -0.1 would pay for it"),
    ],
)
def test_a_choice_of_rewards_that_does_not_fit_is_told_in_one_line(choice, message):
    with pytest.raises(ValueError, match=f"^{message}.*$"):
        by_name(choice)


# Measured with the logic of the released file under math-verify 0.9.
RELEASED = list(
    map(json.loads, Path(__file__).with_name("mm_eureka.jsonl").read_text().splitlines())
)


@pytest.mark.parametrize("row", RELEASED, ids=lambda row: row["answer"])
def test_mm_eureka_pays_as_the_released_reward_does(row):
    problem = Problem(id="a", question="", answer=row["reference"])
    assert mm_eureka(row["answer"], problem, RIGHT) == row["reward"]


@pytest.mark.slow(reason="waits for the limit of two seconds")
def test_mm_eureka_pays_nothing_for_an_answer_that_it_cannot_read_in_time():
    assert mm_eureka("<answer>$9^{9^{9^9}}$</answer>", Problem("a", "", "3"), RIGHT) == 0


def test_mm_eureka_and_the_format_agree_with_the_released_file_on_real_responses(shared):
    path = shared / "data" / "model_outputs" / "r1v_geoqa_grpo.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(rows) == 754
    for row in rows:
        problem = Problem(id="a", question="", answer=row["ground_truth"])
        response = row["model_output"]
        assert mm_eureka(response, problem, WRONG) == row["mm_eureka_accuracy"], response
        assert format_of(response) * 0.5 == row["mm_eureka_format"], response


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module with rewards of a user's own."""
    (tmp_path / "mine.py").write_text(
        "WEIGHT = 1\ndef brief(response, problem, grade):\n    return float(len(response) < 9)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


def test_a_function_of_a_module_is_a_reward_by_its_own_name(mine):
    data = [{"question": "1 + 1?", "answer": 2}]
    envs = reasonenv.make("file", data=data, num_envs=1, rewards={"accuracy": 1, "mine:brief": 2})
    envs.reset(seed=0)
    _, rewards, _, _, infos = envs.step(["It is 2."])
    assert (rewards[0], infos["brief"][0]) == (3, 1)
    envs.close()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere:brief", "no module is called 'nowhere'"),
        ("mine.inner:brief", "no module is called 'mine.inner'"),
        (":brief", "no module is called ''"),
        (".mine:brief", "no module is called '.mine'"),
        ("mine:long", "has no function 'long'"),
        ("mine:WEIGHT", "has no function 'WEIGHT'"),
    ],
)
def test_a_function_that_is_not_there_is_one_line(mine, name, message):
    with pytest.raises(UsageError, match=rf"^reward '{name}': [^\n]*{message}[^\n]*$"):
        by_name({name: 1.0})


def test_two_functions_of_one_name_are_refused(mine):
    with pytest.raises(UsageError, match="give functions different names"):
        by_name({"brief": (1.0, accuracy), "mine:brief": 1.0})


def gives(value):
    return {"mine": (1.0, lambda *_: value)}


@pytest.mark.parametrize(
    "value", [math.nan, -math.inf, 1e300, pytest.param(10**5000, id="huge"), "1", [1.0, 2.0]]
)
def test_a_reward_that_is_no_finite_number_names_itself_and_the_problem(value):
    with pytest.raises(
        RewardError, match=r"^reward 'mine' of problem 'a' is [^\n]*: give a finite"
    ):
        total(gives(value), "2", PROBLEM, RIGHT)
    with pytest.raises(RewardError, match=r"^reward 'mine' of problem '7' is "):
        compute_score("source", "2", "2", {"id": "7"}, rewards=gives(value))
    for kind, answer in ((ReasonEnv, "2"), (ReasonVectorEnv, ["2"])):
        env = kind(toy.problems(), gives(value))
        _, infos = env.reset(seed=0)
        (id,) = np.atleast_1d(infos["problem_id"])
        with pytest.raises(RewardError, match=f"^reward 'mine' of problem '{id}' is "):
            env.step(answer)
        env.close()


def test_a_reward_that_does_not_apply_is_left_out_of_the_sum_and_nan_in_infos():
    rewards = {"accuracy": (1.0, accuracy)} | gives(None)
    reward, parts = total(rewards, "2", PROBLEM, RIGHT)
    assert reward == 1
    assert math.isnan(parts["mine"])
    assert total(gives(None), "2", PROBLEM, RIGHT)[0] == 0
    assert compute_score("source", "2", "2", rewards=rewards)["score"] == 1
    envs = ReasonVectorEnv(toy.problems(), rewards, num_envs=2)
    envs.reset(seed=0)
    _, rewards, _, _, infos = envs.step(["", ""])
    envs.close()
    assert rewards.tolist() == [0, 0]
    assert np.isnan(infos["mine"]).all()
    with pytest.raises(RewardError, match="reward 'accuracy' of problem 'a' is None"):
        total({"accuracy": (1.0, lambda *_: None)}, "2", PROBLEM, RIGHT)


def test_a_reward_outside_its_bounds_warns_once(caplog, monkeypatch):
    monkeypatch.setattr("reasonenv.rewards._WARNED", set())
    wide = Penalty(lambda _: -3.0)
    quiet = {"wide": (1.0, wide), "rounded": (1.0, lambda *_: 1 + 1e-9)}
    total(quiet, "2", PROBLEM, RIGHT)
    assert not caplog.records
    for _ in range(3):
        total(gives(2), "2", PROBLEM, RIGHT)
        total({"penalty": (1.0, Penalty(lambda _: 1.0))}, "2", PROBLEM, RIGHT)
    assert [record.getMessage() for record in caplog.records] == [
        "reward 'mine' of problem 'a' is 2, which is not in [0, 1], its `bounds`",
        "reward 'penalty' of problem 'a' is 1, which is not in [-inf, 0], its `bounds`",
    ]


def test_a_mixture_sums_rewards_without_a_warning(caplog, monkeypatch):
    monkeypatch.setattr("reasonenv.rewards._WARNED", set())
    env = reasonenv.make(["Figures-v2", "WordProblems-v0"])
    env.reset(seed=0)
    reference = env.unwrapped._episode.problem.answer
    reward = env.step(f"<think>so</think><answer>{reference}</answer>")[1]
    env.close()
    assert reward >= 1
    assert not caplog.records


def longer(completions, answer, subject=None, **columns):
    """A reward in TRL's form that compares the responses of a step."""
    lengths = [len(completion[0]["content"]) for completion in completions]
    return [
        None if text == "0" else n / max(lengths) for n, text in zip(lengths, answer, strict=False)
    ]


PROBLEMS = [Problem("a", "1+1?", "2", metadata={"subject": "sums"}), Problem("b", "0?", "0")]


def test_a_reward_in_trls_form_reads_all_responses_of_a_step():
    envs = ReasonVectorEnv(
        PROBLEMS, {"accuracy": 1.0, "long": (0.5, longer)}, num_envs=4, group_size=2
    )
    envs.reset(options={"indices": [0, 1]})
    _, rewards, *_, infos = envs.step(["2", "no, 2 4", "0", "1"])
    assert rewards.tolist() == [1 + 0.5 / 7, 0.5, 1, 0]
    assert infos["long"][:2].tolist() == [1 / 7, 1]
    assert np.isnan(infos["long"][2:]).all()
    envs.close()


@pytest.mark.parametrize("kind", [ReasonEnv, ReasonVectorEnv])
def test_classes_and_make_take_the_same_forms_of_rewards(kind, mine):
    forms = {"accuracy": 1.0, "mine:brief": 0.5, "long": (1.0, longer), "own": (1.0, accuracy)}
    env = kind(PROBLEMS, forms, num_workers=1)
    made = reasonenv.make("file", data=[{"question": "1+1?", "answer": 2}], rewards=forms)
    assert list(env.rewards) == list(made.unwrapped.rewards) == ["accuracy", "brief", "long", "own"]
    env.close()
    made.close()


def test_columns_of_a_reward_in_trls_form():
    columns = {}
    reward = by_name({"all": (1.0, lambda completions, **rest: columns.update(rest) or [1, 1])})
    totals(reward, [(problem, "2", RIGHT) for problem in PROBLEMS])
    assert columns.pop("prompts") == [[{"role": "user", "content": p.question}] for p in PROBLEMS]
    assert columns == {
        "subject": ["sums", None],
        "answer": ["2", "0"],
        "solution": ["2", "0"],
        "options": [[], []],
        "kind": [None, None],
        "problem_id": ["a", "b"],
    }


def named(completions, answer, difficulty):
    return [1.0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (named, "reward 'named' needs the column 'difficulty': there are .*prompts.*answer"),
        (lambda completions: [1, 2], r"gave \[1, 2\]: give a list of 1 numbers"),
        (lambda completions: 1.0, "gave 1.0: give a list of 1 numbers"),
        (lambda completions: ["x"], "'mine' of problem 'a' is 'x': give a finite number"),
        (lambda response, problem: 1.0, "'mine': too many positional arguments: give"),
        (3, "'mine': 3 is not .*: give a function"),
    ],
)
def test_a_function_in_neither_form_is_one_line(function, message):
    with pytest.raises((UsageError, RewardError), match=rf"^[^\n]*{message}[^\n]*$"):
        totals(by_name({"mine": (1.0, function)}), [(PROBLEMS[0], "2", RIGHT)])


def test_trls_own_accuracy_of_this_library_is_a_reward():
    rewards = by_name({"verdict": (1.0, AccuracyReward(reference="answer"))})
    answered = [(PROBLEMS[0], text, RIGHT) for text in (r"\boxed{2}", r"\boxed{3}")]
    assert [sum for sum, _ in totals(rewards, answered)] == [1.0, 0.0]
