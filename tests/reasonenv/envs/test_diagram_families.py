"""Every family of Diagrams-v0 at every level, by one table of second solvers."""

import random
import re
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
import sympy
from PIL import Image, ImageDraw
from sympy.parsing.sympy_parser import parse_expr

pytest.importorskip("matplotlib", reason="needs the extra diagrams")
pytest.importorskip("networkx", reason="comes with torch")
from helpers.diagram_solvers import SOLVERS

from benchmarks.blind import blind, wording
from reasonenv.envs import diagrams
from reasonenv.envs.diagrams import BUILT_IN, FAMILIES, LEVELS
from reasonenv.envs.diagrams.family import text_of
from reasonenv.envs.diagrams.scene import WIDTH
from reasonenv.envs.diagrams.style import draw_style
from reasonenv.grading import grade
from reasonenv.rewards import maximum, total

POSED = [(name, level) for name in BUILT_IN for level in LEVELS]
by_family_and_level = pytest.mark.parametrize(("name", "level"), POSED)
by_family = pytest.mark.parametrize("name", BUILT_IN)


def drawn(name, level, count, split="train"):
    rng = random.Random(0)
    return [FAMILIES[name].draw(split, level, rng) for _ in range(count)]


def key_of(exercise):
    return repr(exercise.operands if exercise.key is None else exercise.key)


def same(answer, other):
    """True for equal numbers and texts, and for the text of an equation of this function."""
    if isinstance(answer, str) and answer.startswith("y = "):
        text = re.sub(r"\|(.*)\|", r"Abs(\1)", answer[4:]).replace("²", "**2")
        return sympy.expand(parse_expr(text, transformations="all") - other) == 0
    is_number = isinstance(answer, int | Fraction)
    return answer == Fraction(str(other)) if is_number else answer == str(other)


def read(text):
    """The number of a text; the text itself where it is none."""
    try:
        return Fraction(text)
    except ValueError:
        return text


def test_every_family_has_a_second_solver():
    assert set(SOLVERS) == set(BUILT_IN)


def check_answers(name, level, count):
    for exercise in drawn(name, level, count):
        assert same(exercise.answer, SOLVERS[name](*exercise.operands)), exercise.operands


@by_family_and_level
def test_a_second_solver_gives_the_same_answer(name, level):
    check_answers(name, level, 8)


@by_family_and_level
def test_a_worked_solution_earns_the_maximum_and_names_its_answer(name, level):
    for exercise in drawn(name, level, 4):
        text = text_of(exercise.answer)
        response = f"<think>{exercise.steps}</think><answer>\\boxed{{{text}}}</answer>"
        assert grade(response, text).correct, response
        assert text in exercise.steps, response


def check_labels(name, level, count):
    rng, family = random.Random(1), FAMILIES[name]
    for exercise in drawn(name, level, count):
        scene = family.scene(exercise, draw_style("train", rng), rng)
        space = np.zeros((family.height, WIDTH), int)
        for left, top, right, bottom in (label.box for label in scene.labels):
            assert 0 <= left < right <= WIDTH
            assert 0 <= top < bottom <= family.height
            space[top:bottom, left:right] += 1
        assert space.max() <= 1, exercise.operands


@by_family_and_level
def test_labels_stay_apart_and_within_the_picture(name, level):
    check_labels(name, level, 8)


@by_family
def test_labels_are_clear_of_the_pixels_of_lines(name):
    rng, family = random.Random(1), FAMILIES[name]
    for exercise in drawn(name, 3, 4):
        scene = family.scene(exercise, draw_style("train", rng), rng)
        image = Image.new("L", (WIDTH, family.height))
        for stroke in scene.strokes:
            if stroke.color and not stroke.is_ground:
                points = [(point.real, point.imag) for point in stroke.corners]
                ImageDraw.Draw(image).line(points, fill=255)
        lines = np.asarray(image)
        for label in scene.labels:
            left, top, right, bottom = label.box
            # Lines may touch the edge of a box, and Pillow rounds their places to whole pixels.
            inner = lines[top + 1 : bottom - 1, left + 1 : right - 1]
            assert label.plate or not inner.any(), (label.text, exercise.operands)


@pytest.mark.slow(reason="hundreds of draws of every family and level")
@by_family
def test_so_do_answers_and_labels_of_many_draws(name):
    for level in LEVELS:
        check_answers(name, level, 500)
        check_labels(name, level, 50)


@by_family
def test_equal_figures_have_equal_answers_and_equal_questions_have_several(name):
    family = FAMILIES[name]
    by_question, by_both, by_key = (defaultdict(set) for _ in range(3))
    for exercise in drawn(name, 3, 60):
        rng = random.Random(0)
        scene = family.scene(exercise, draw_style("train", rng), rng)
        by_question[wording(name, exercise)].add(exercise.answer)
        figure = exercise.words, tuple(scene.strokes), tuple(scene.labels)
        by_both[figure].add(exercise.answer)
        by_key[key_of(exercise)].add(exercise.answer)
    assert max(map(len, by_both.values())) == max(map(len, by_key.values())) == 1
    assert max(map(len, by_question.values())) > 1


@by_family_and_level
def test_a_blind_guess_is_seldom_right(name, level):
    if not FAMILIES[name].needs_options:
        assert blind(name, level) < 0.15


@by_family_and_level
def test_splits_have_many_operands_each_and_none_in_common(name, level):
    family, rng = FAMILIES[name], random.Random(2)
    assert len({key_of(family.sample(rng, level)) for _ in range(600)}) >= 40
    keys = {split: {*map(key_of, drawn(name, level, 40, split))} for split in diagrams.SPLITS}
    assert min(map(len, keys.values())) >= 3
    assert sum(map(len, keys.values())) == len(set().union(*keys.values()))


MIRRORED = {
    "polygon_angles": lambda x, *others: (x, min(others, others[::-1])),
    "parallels": lambda here, there, *terms: (min((here, there), (here ^ 1, there ^ 1)), terms),
    "pythagoras": lambda place, a, b, c: ((a, b, c)[place], min(a, b), max(a, b)),
    "crossing_chords": lambda a, b, c, x: (min(a, b), max(a, b), c, x),
}
"""What a family's figures and their mirror images have in common: a figure may be either."""


@pytest.mark.parametrize("name", MIRRORED)
def test_a_figure_is_in_the_split_of_its_mirror_image(name):
    rng, splits, forms = random.Random(3), defaultdict(set), defaultdict(set)
    for _ in range(3000):
        exercise = FAMILIES[name].sample(rng, 2)
        key = MIRRORED[name](*exercise.operands)
        splits[key].add(FAMILIES[name].split_of(exercise))
        forms[key].add(exercise.operands)
    assert max(map(len, splits.values())) == 1
    assert max(map(len, forms.values())) > 1


def test_the_wording_of_a_choice_does_not_tell_the_answer():
    family, rng = FAMILIES["growing_pattern"], random.Random(4)
    counts = Counter((each.words, each.answer) for each in drawn(family.name, 5, 4000))
    right = 0
    for _ in range(150):
        exercise, options = family.choice("train", 5, rng)
        guess = max(options, key=lambda answer: counts[exercise.words, answer])
        right += guess == exercise.answer
    assert right / 150 < 0.4  # four standard deviations above chance


@by_family
def test_a_multiple_choice_has_four_options_one_of_them_right(name):
    for problem in diagrams.problems(families=[name], multiple_choice=True)[:3]:
        right = problem.options["ABCD".index(problem.answer)]
        if not FAMILIES[name].needs_options:
            assert same(read(right), SOLVERS[name](*problem.metadata["operands"]))
        assert len(set(problem.options)) == 4


@pytest.mark.parametrize("split", diagrams.SPLITS)
@by_family
def test_a_drawn_problem_has_its_size_and_its_solution_earns_the_maximum(name, split):
    for problem in diagrams.problems(split, level=(1, 3, 5), families=[name], size=224)[:7]:
        assert problem.images[0].shape == (FAMILIES[name].height // 2, 224, 3)
        assert len(np.unique(problem.images[0])) > 2
        if not problem.options:
            answer = SOLVERS[name](*problem.metadata["operands"])
            assert same(read(problem.answer), answer), problem.question
        verdict = grade(problem.solution, problem.answer, problem.options)
        earned = total(diagrams.REWARDS, problem.solution, problem, verdict)[0]
        assert earned == maximum(diagrams.REWARDS)
