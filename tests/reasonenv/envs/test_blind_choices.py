"""Policies that see no figure and read no question, on every multiple choice that is drawn."""

import math
from collections import Counter

import pytest

from reasonenv.envs import figures, word_problems

CHOICES = [
    (module, level)
    for module in (figures, word_problems)
    for level in module.LEVELS
    if any(problem.options for problem in module.problems(level=level)[:30])
]
"""Environments whose problems are drawn by program, and their levels with a multiple choice."""


def answer(problem):
    return problem.options["ABCD".index(problem.answer)]


def most(counts):
    """The option that is counted most often."""
    return lambda problem: max(problem.options, key=lambda text: counts[text])


def policies(seen):
    """Choices by rank, letter and length, and by how often a text is right or offered in `seen`."""
    right = Counter(map(answer, seen))
    offered = Counter(text for problem in seen for text in problem.options)
    wrong = {text: right[text] / offered[text] for text in offered}
    by_rank = {f"rank {k}": lambda p, k=k: sorted(p.options, key=int)[k] for k in range(4)}
    by_letter = {f"letter {k}": lambda p, k=k: p.options[k] for k in range(4)}
    return (
        by_rank
        | by_letter
        | {
            "longest": lambda p: max(p.options, key=len),
            "shortest": lambda p: min(p.options, key=len),
            "most often right": most(right),
            "most often offered": most(offered),
            "highest rate": most(Counter(wrong)),
        }
    )


def assert_at_chance(choices):
    """Fits policies to half of some problems and tests them on the others, to 4 standard errors."""
    seen, posed = choices[::2], choices[1::2]
    chance = sum(1 / len(problem.options) for problem in posed) / len(posed)
    margin = 4 * math.sqrt(chance * (1 - chance) / len(posed))
    for name, policy in policies(seen).items():
        accuracy = sum(policy(problem) == answer(problem) for problem in posed) / len(posed)
        assert abs(accuracy - chance) < margin, f"{name}: {accuracy:.3f} of {len(posed)}"


def choices_of(module, count, **arguments):
    return [problem for problem in module.problems(**arguments)[:count] if problem.options]


@pytest.mark.parametrize(("module", "level"), CHOICES)
def test_a_blind_policy_is_at_chance(module, level):
    assert_at_chance(choices_of(module, 1200, level=level))


@pytest.mark.slow(reason="a thousand choices of each family")
@pytest.mark.parametrize(
    ("module", "level", "family"),
    [(module, level, name) for module, level in CHOICES for name in module.FAMILIES],
)
def test_a_blind_policy_is_at_chance_in_each_family(module, level, family):
    choices = choices_of(module, 3000, level=level, families=[family])
    assert_at_chance(choices or pytest.skip("the family has none"))


def test_figures_have_multiple_choices():
    assert [(module.__name__, level) for module, level in CHOICES] == [
        ("reasonenv.envs.figures", 3)
    ]
