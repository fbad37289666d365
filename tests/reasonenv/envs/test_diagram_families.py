"""Every family of Diagrams-v0 at every level, by one table of second solvers."""

import random
import re
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
import sympy
from helpers.diagram_solvers import SOLVERS
from sympy.parsing.sympy_parser import parse_expr

pytest.importorskip("matplotlib", reason="needs the extra diagrams")

from reasonenv.envs import diagrams
from reasonenv.envs.diagrams import BUILT_IN, FAMILIES, LEVELS
from reasonenv.envs.diagrams.family import compose, draw_operands, split_of, text_of
from reasonenv.envs.diagrams.scene import WIDTH
from reasonenv.envs.diagrams.style import draw_style
from reasonenv.grading import grade
from reasonenv.rewards import maximum, total

POSED = [(name, level) for name in BUILT_IN for level in LEVELS]
by_family_and_level = pytest.mark.parametrize(("name", "level"), POSED)
by_family = pytest.mark.parametrize("name", BUILT_IN)


def operands_of(name, level, count, split="train"):
    rng = random.Random(0)
    return [draw_operands(FAMILIES[name], split, level, rng) for _ in range(count)]


def same(answer, other):
    """True for equal numbers and texts, and for the text of an equation of this function."""
    if isinstance(answer, str) and answer.startswith("y = "):
        text = re.sub(r"\|(.*)\|", r"Abs(\1)", answer[4:]).replace("²", "**2")
        return sympy.expand(parse_expr(text, transformations="all") - other) == 0
    is_number = isinstance(answer, int | Fraction)
    return answer == Fraction(str(other)) if is_number else answer == str(other)


def test_every_family_has_a_second_solver():
    assert set(SOLVERS) == set(BUILT_IN)


@by_family_and_level
def test_a_second_solver_gives_the_same_answer(name, level):
    for operands in operands_of(name, level, 30):
        answer = FAMILIES[name].solve(operands).answer
        assert same(answer, SOLVERS[name](*operands)), operands


@by_family_and_level
def test_a_worked_solution_earns_the_maximum_and_names_its_answer(name, level):
    for operands in operands_of(name, level, 4):
        answer, steps = FAMILIES[name].solve(operands)
        text = text_of(answer)
        response = f"<think>{steps}</think><answer>\\boxed{{{text}}}</answer>"
        assert grade(response, text).correct, response
        assert text in steps, response


@by_family_and_level
def test_labels_stay_apart_and_within_the_picture(name, level):
    rng, family = random.Random(1), FAMILIES[name]
    for operands in operands_of(name, level, 6):
        scene = compose(family, operands, draw_style("train", rng), rng)
        space = np.zeros((family.height, WIDTH), int)
        for left, top, right, bottom in (label.box for label in scene.labels):
            assert 0 <= left < right <= WIDTH
            assert 0 <= top < bottom <= family.height
            space[top:bottom, left:right] += 1
        assert space.max() <= 1, operands


@by_family
def test_the_figure_determines_the_answer_and_the_question_alone_does_not(name):
    family = FAMILIES[name]
    by_question, by_both, by_canonical = (defaultdict(set) for _ in range(3))
    for operands in operands_of(name, 3, 200):
        question = wording(family, operands)
        rng = random.Random(0)
        scene = compose(family, operands, draw_style("train", rng), rng)
        answer = family.solve(operands).answer
        by_question[question].add(answer)
        by_both[family.words(operands), tuple(scene.strokes), tuple(scene.labels)].add(answer)
        by_canonical[family.canonical(operands)].add(answer)
    assert max(map(len, by_both.values())) == max(map(len, by_canonical.values())) == 1
    assert max(map(len, by_question.values())) > 1


def wording(family, operands):
    """The question, in which the numbers of labels that it names are all the same."""
    return re.sub(r"\d+", "0", family.questions[0].format(*family.words(operands)))


def blind_accuracy(name, level, count=400):
    """Accuracy of the most frequent answer to the same wording, fitted to other draws."""
    family, kinds = FAMILIES[name], defaultdict(Counter)
    drawn = operands_of(name, level, 2 * count)
    pairs = [(wording(family, each), family.solve(each).answer) for each in drawn]
    for question, answer in pairs[:count]:
        kinds[question][answer] += 1
    guesses = {question: counts.most_common(1)[0][0] for question, counts in kinds.items()}
    return sum(guesses.get(question) == answer for question, answer in pairs[count:]) / count


@by_family_and_level
def test_a_blind_guess_is_seldom_right(name, level):
    if not FAMILIES[name].needs_options:
        assert blind_accuracy(name, level) < 0.15


@by_family_and_level
def test_splits_have_many_operands_each_and_none_in_common(name, level):
    family, rng = FAMILIES[name], random.Random(2)
    sampled = {family.canonical(family.sample(rng, level)): None for _ in range(600)}
    assert len(sampled) >= 40
    for split in diagrams.SPLITS:
        assert len({family.canonical(each) for each in operands_of(name, level, 60, split)}) >= 3
        assert all(split_of(family, each) == split for each in operands_of(name, level, 20, split))


@by_family
def test_a_multiple_choice_has_four_options_one_of_them_right(name):
    for problem in diagrams.problems(families=[name], multiple_choice=True)[:3]:
        answer = FAMILIES[name].solve(problem.metadata["operands"]).answer
        assert problem.options["ABCD".index(problem.answer)] == text_of(answer)
        assert len(set(problem.options)) == 4


@by_family
def test_a_problem_is_drawn_at_its_size_and_earns_the_maximum_by_its_solution(name):
    problem = diagrams.problems(families=[name], level=3, size=224)[0]
    assert problem.images[0].shape == (FAMILIES[name].height // 2, 224, 3)
    assert len(np.unique(problem.images[0])) > 2
    verdict = grade(problem.solution, problem.answer, problem.options)
    assert total(diagrams.REWARDS, problem.solution, problem, verdict)[0] == maximum(
        diagrams.REWARDS
    )
