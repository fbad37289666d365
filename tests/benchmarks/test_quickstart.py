from pathlib import Path

import pytest

from benchmarks.quickstart.families import accuracy, by_family, kind_of_error, problem_of
from reasonenv.envs import figures
from reasonenv.scoring.statistics import wilson

HERE = Path(__file__).parents[2] / "benchmarks" / "quickstart"


@pytest.mark.parametrize(
    "options",
    [{}, {"level": 1}, {"families": ["clock", "bar"]}, {"split": "heldout", "problem_seed": 3}],
)
def test_a_problem_is_found_by_its_id(options):
    problem = figures.problems(**options)[17]
    again = problem_of(problem.id)
    assert (again.id, again.question, again.solution) == (
        problem.id,
        problem.question,
        problem.solution,
    )


def row_of(problem, correct, response=""):
    return {"id": problem.id, "correct": correct, "response": response}


def test_an_accuracy_has_an_interval_by_combination():
    few = accuracy([("a", True)] * 50 + [("b", False)] * 50)
    many = accuracy([(number, number % 2 == 0) for number in range(100)])
    assert few["accuracy"] == many["accuracy"] == 0.5
    assert (few["num_combinations"], many["num_combinations"]) == (2, 100)
    assert few["interval"] == pytest.approx([0.0, 1.0], abs=0.002)
    assert 0.38 < many["interval"][0] < 0.42
    assert 0.58 < many["interval"][1] < 0.62


def test_a_family_without_an_error_has_an_interval_with_a_width():
    always = accuracy([(number // 2, True) for number in range(90)])
    assert always["interval"] == [round(end, 4) for end in wilson(45, 45)]


def test_families_are_counted_apart():
    problems = figures.problems(level=1)[:60]
    rows = [row_of(p, p.metadata["family"] == "sum", "<think></think>") for p in problems]
    result = by_family(rows)
    assert result["num_problems"] == 60
    assert result["families"]["sum"]["accuracy"] == 1
    assert {v["accuracy"] for name, v in result["families"].items() if name != "sum"} == {0}
    assert sum(v["num_problems"] for v in result["families"].values()) == 60


def written(*lines):
    return "<think>" + "\n".join(lines) + "</think><answer>\\boxed{1}</answer>"


def a_sum():
    """45+27 by its columns."""
    problems = figures.problems(families=["sum"])
    return next(p for p in problems if p.solution.count("\n") == 2)


def test_an_error_has_the_kind_of_its_first_difference():
    problem = a_sum()
    ones, tens, total = problem.solution.split("<think>")[1].split("</think>")[0].split("\n")
    expression, value = ones.split("=")
    kinds = {
        "slip": written(f"{expression}={int(value) - 1}", tens, total),
        "arithmetic": written(f"{expression}={int(value) + 3}", tens, total),
        "misread": written("88+888=3", tens, total),
        "copy": written(ones, tens, total + "0"),
        "form": "no steps",
    }
    for kind, response in kinds.items():
        assert kind_of_error(problem, response) == kind
    bar = figures.problems(families=["bar"])[0]
    name, height = bar.solution.split("<think>")[1].split("</think>")[0].split("=")
    assert kind_of_error(bar, written(f"{name}={int(height) + 1}")) == "misread"
    assert kind_of_error(bar, written(f"{name}={int(height) - 1}")) == "slip"


def test_a_right_number_with_another_letter_is_a_letter():
    problem = next(p for p in figures.problems(level=3) if p.options)
    lines = problem.solution.split("<think>")[1].split("</think>")[0].split("\n")
    assert kind_of_error(problem, written(*lines)) == "letter"
