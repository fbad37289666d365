"""What environments that are drawn by program have in common."""

from collections import Counter

import numpy as np
import pytest

from reasonenv.envs import figures, word_problems

MODULES = {"figures-v2": figures, "word-problems-v0": word_problems}
LEVELS = [(module, level) for module in MODULES.values() for level in module.LEVELS]


def content(problem):
    """All of a problem in a form that compares."""
    fields = problem.question, problem.answer, problem.options, problem.solution
    return problem.id, *fields, dict(problem.metadata), [i.tobytes() for i in problem.images]


@pytest.mark.parametrize(("module", "level"), LEVELS)
def test_a_problem_is_a_pure_function_of_its_index(module, level):
    posed = module.problems(level=level)
    forwards = [content(posed[index]) for index in range(20)]
    again = module.problems(level=level)
    assert [content(again[index]) for index in reversed(range(20))] == forwards[::-1]
    assert [content(problem) for problem in posed[:20]] == forwards
    assert len({problem_id for problem_id, *_ in forwards}) == 20


@pytest.mark.parametrize(("version", "module"), MODULES.items())
def test_an_index_beyond_the_length_is_a_problem_and_a_negative_one_is_not(version, module):
    posed = module.problems(level=1)
    assert len(posed) == 1_000_000
    assert posed[np.int64(10**9)].id == f"{version}/1/train/0/1000000000"
    with pytest.raises(IndexError, match=f"problem -1 of {type(posed).__name__}: indices start at"):
        posed[-1]


@pytest.mark.parametrize("module", MODULES.values())
def test_the_arguments_that_choose_problems_are_in_their_ids(module):
    level = min(module.LEVELS)
    variants = {"level": 3}, {"split": "test"}, {"problem_seed": 1}, {"families": ["sum"]}, {}
    assert len({module.problems(**{"level": level, **each})[5].id for each in variants}) == 5
    whole = module.problems(level=level)
    names = [family.name for family in whole.families]
    assert module.problems(level=level, families=names)[5].id == whole[5].id


@pytest.mark.parametrize(("module", "level"), LEVELS)
def test_a_level_poses_its_families_equally_often(module, level):
    posed = module.problems(level=level)[:600]
    counts = Counter(problem.metadata["family"] for problem in posed)
    assert set(counts) == {family.name for family in module.problems(level=level).families}
    assert min(counts.values()) > 0.5 * 600 / len(counts)
    assert {problem.metadata["level"] for problem in posed} == {level}


@pytest.mark.parametrize("module", MODULES.values())
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "val"}, "split 'val' of {name} is unknown: take one of train, test, heldout"),
        ({"level": 5}, "level 5 of {name} is unknown: take one of 1, 2"),
        ({"families": ["x"], "level": 1}, "family 'x' is not in level 1 of {name}: take of sum, "),
        ({"families": []}, "families is empty: name at least one"),
        ({"families": "sum"}, "families is 'sum': give a list of names"),
    ],
)
def test_a_bad_argument_is_one_clear_line(module, arguments, message):
    with pytest.raises(
        ValueError, match=message.replace("{name}", module.ENVIRONMENT.id)
    ) as raised:
        module.problems(**arguments)
    assert "\n" not in str(raised.value)
