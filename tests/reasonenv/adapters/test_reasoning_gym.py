import functools
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import reasonenv
from reasonenv.adapters.reasoning_gym import TaskProblem, TaskProblems, score
from reasonenv.errors import UsageError
from reasonenv.grading import Grade
from reasonenv.testing import check_env

reasoning_gym = pytest.importorskip("reasoning_gym", reason="needs reasoning-gym")

ROOT = Path(__file__).parents[3]
NO_ANSWER = Grade(False, None, "no_answer")


def problem(task: str, **settings) -> TaskProblem:
    return TaskProblems(task, "train", settings)[3]


def answered(answer: str, task: str, **settings) -> float:
    return score(f"<answer>{answer}</answer>", problem(task, **settings), NO_ANSWER)


def test_a_task_is_an_environment_with_the_librarys_problems_and_scores():
    envs = reasonenv.make(
        "reasoning_gym/chain_sum", num_envs=4, group_size=4, seed=5, min_terms=3, max_terms=3
    )
    observations, infos = envs.reset(options={"indices": [2]})
    entry = reasoning_gym.create_dataset("chain_sum", seed=5, size=9, min_terms=3, max_terms=3)[2]
    assert observations["question"][0] == entry["question"]
    assert infos["problem_id"][0] == "chain_sum-7"
    right = entry["answer"]
    responses = [
        f"<think>so</think><answer>{right}</answer>",
        rf"It is \boxed{{{right}}}",
        f"<answer>{right}0</answer>",
        "",
    ]
    _, rewards, *_, infos = envs.step(responses)
    assert rewards[:2].tolist() == [1, 1]
    assert 0 < rewards[2] < 1
    assert rewards[3] == 0
    assert infos["accuracy"].tolist() == [1, 1, 0, 0]
    assert infos["format"].tolist() == [1, 0, 0, 0]
    envs.close()


def test_a_task_keeps_the_contract_of_environments():
    check_env(functools.partial(reasonenv.make, "reasoning_gym/gcd"))


def test_our_verdict_can_be_the_reward():
    env = reasonenv.make("reasoning_gym/chain_sum", rewards={"accuracy": 1.0})
    env.reset(seed=0)
    _, reward, _, _, infos = env.step("<answer>half</answer>")
    assert reward == infos["accuracy"] == 0
    env.close()


def test_splits_share_no_seed():
    train, test = (TaskProblems("gcd", split, {"size": 20}) for split in ("train", "test"))
    assert len({problem.id for problem in (*train, *test)}) == 40


def test_problems_are_pickled_as_arguments():
    problems = TaskProblems("gcd", "test", {"size": 20})
    again = pickle.loads(pickle.dumps(problems))
    assert len(pickle.dumps(problems)) < 500
    assert [each.question for each in again] == [each.question for each in problems]


@pytest.mark.parametrize(
    ("id", "options", "line"),
    [
        ("chainsum", {}, "reasoning_gym has no task 'chainsum': did you mean chain_sum"),
        ("chain_sum", {"min_term": 3}, "takes no argument 'min_term': did you mean 'min_terms'?"),
        ("chain_sum", {"min_terms": -3}, "reasoning_gym/chain_sum: min_terms must be positive"),
        ("chain_sum", {"size": 0}, "size=0: give an integer in [1, 1000000000)"),
        ("chain_sum", {"seed": 10**9}, "seed=1000000000: give an integer in [0, 1000000000)"),
        ("chain_sum", {"split": "dev"}, "has no split 'dev': there are train, test"),
        ("composite", {}, "reasoning_gym/composite: Must specify at least one dataset"),
    ],
)
def test_an_argument_that_does_not_fit_is_one_line(id, options, line):
    with pytest.raises(UsageError, match=re.escape(line)):
        reasonenv.make(f"reasoning_gym/{id}", **options)


def test_a_problem_of_another_environment_has_no_score():
    other = reasonenv.Problem(id="a", question="?", answer="1")
    with pytest.raises(UsageError, match="problem 'a' is of no task of reasoning-gym"):
        score("1", other, NO_ANSWER)


@pytest.mark.parametrize(
    "task", ["string_insertion", "spiral_matrix", "binary_matrix", "n_queens", "countdown"]
)
@pytest.mark.parametrize("code", ["[open({!r}, 'w')]", "sin(__builtins__['open']({!r}, 'w'))"])
def test_an_answer_is_not_run(task, code, tmp_path):
    trace = tmp_path / "trace"
    assert answered(code.format(str(trace)), task) < 0.1
    assert not trace.exists()


@pytest.mark.parametrize(
    ("answer", "task"),
    [
        ("preview(x)", "simple_integration"),
        ("lambdify(x, x)", "simple_integration"),
        ("S(x)", "intermediate_integration"),
        ("x.__class__", "polynomial_multiplication"),
        ("sin('x')", "polynomial_multiplication"),
        ("?", "prime_factorization"),
        ("9" * 10_001, "chain_sum"),
    ],
)
def test_an_answer_that_is_no_formula_scores_nothing(answer, task):
    assert answered(answer, task) == 0


@pytest.mark.slow(reason="an answer that runs into its limit of CPU seconds")
def test_an_answer_that_takes_too_long_scores_nothing_and_the_next_is_scored():
    assert answered("9**9**9**9", "countdown") == 0
    right = problem("countdown")
    assert answered(right.answer, "countdown") == 1


def test_lists_are_read_as_the_library_reads_them():
    right = problem("spiral_matrix").answer
    assert answered(f"[{', '.join(right.split())}]", "spiral_matrix") == pytest.approx(0.1)


# Their answer is None: any that fits is right.
OPEN = {"boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour", "composite"}


@pytest.mark.filterwarnings("ignore:unclosed file")  # of what the library imports
@pytest.mark.slow(reason="all tasks of a library, some of which take a second to set up")
def test_the_answer_of_each_task_is_right():
    from reasoning_gym.factory import DATASETS

    tasks = sorted(set(DATASETS) - OPEN)
    assert len(tasks) > 90
    wrong = [task for task in tasks if answered(problem(task, size=9).answer, task, size=9) != 1]
    assert wrong == []


def test_the_program_of_the_page_runs(tmp_path):
    page = (ROOT / "docs" / "howto" / "reasoning-gym.md").read_text()
    code = page.split('```python title="chain_sum.py"\n')[1].split("```")[0]
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True)
    assert done.stdout.startswith("State the final answer")
