import re
import zlib
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from reasonenv.envs.figures import FAMILIES, REWARDS, SPLITS, problems
from reasonenv.envs.figures.__main__ import contact_sheet
from reasonenv.envs.figures.canvas import TILE
from reasonenv.grading import grade
from reasonenv.rewards import maximum, total

LEVELS = (1, 2, 3)


def content(problem):
    """All of a problem in a form that compares."""
    fields = problem.question, problem.answer, problem.options, problem.solution
    return problem.id, *fields, dict(problem.metadata), problem.images[0].tobytes()


def lines_of(problem):
    return re.fullmatch(r"<think>(.*)</think><answer>.*", problem.solution, re.DOTALL)[1].split(
        "\n"
    )


@pytest.mark.parametrize("level", LEVELS)
def test_a_problem_is_a_pure_function_of_its_index(level):
    figures = problems(level=level)
    forwards = [content(figures[index]) for index in range(20)]
    again = problems(level=level)
    backwards = [content(again[index]) for index in reversed(range(20))]
    assert forwards == backwards[::-1]
    assert [content(problem) for problem in figures[:20]] == forwards
    assert len({problem_id for problem_id, *_ in forwards}) == 20


def test_an_index_beyond_the_length_is_a_problem_and_a_negative_one_is_not():
    figures = problems()
    assert len(figures) == 1_000_000
    assert figures[np.int64(10**9)].id == "figures/1/train/0/1000000000"
    with pytest.raises(IndexError, match="problem -1 of Figures: indices start at 0"):
        figures[-1]


def test_the_arguments_that_choose_problems_are_in_their_ids():
    ids = {
        problems()[5].id,
        problems(level=2)[5].id,
        problems("test")[5].id,
        problems(problem_seed=1)[5].id,
        problems(families=["clock"])[5].id,
    }
    assert len(ids) == 5
    assert problems(families=list(FAMILIES)[:5])[5].id == problems()[5].id


@pytest.mark.parametrize("level", LEVELS)
def test_splits_share_no_image_and_held_out_operands_occur_in_no_other_split(level):
    images, operands = defaultdict(set), defaultdict(set)
    for split in SPLITS:
        for problem in problems(split, level)[:1500]:
            images[split].add(problem.images[0].tobytes())
            family = FAMILIES[problem.metadata["family"]]
            operands[split].add((family.name, family.canonical(problem.metadata["operands"])))
    assert not images["train"] & images["test"]
    assert not images["heldout"] & (images["train"] | images["test"])
    assert not operands["heldout"] & (operands["train"] | operands["test"])
    assert operands["train"] & operands["test"]


@pytest.mark.parametrize("level", LEVELS)
def test_the_careful_teacher_earns_the_maximum(level):
    for problem in problems(level=level)[:150]:
        verdict = grade(problem.solution, problem.answer, problem.options)
        assert verdict.correct, problem.solution
        assert total(REWARDS, problem.solution, problem, verdict)[0] == maximum(REWARDS)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("slip", [0, 1])
def test_each_step_is_true_or_with_certain_slips_one_too_small(level, slip):
    for problem in problems(level=level, slip=float(slip))[:200]:
        for line in lines_of(problem):
            computed = re.fullmatch(r"(-?\d+)([-+*/])(-?\d+)=(-?\d+(?:/\d+)?)", line)
            if not computed:  # read off the figure
                assert re.fullmatch(r"\w+=-?\d+", line)
                continue
            a, b, result = int(computed[1]), int(computed[3]), Fraction(computed[4])
            truths = {"+": a + b, "-": a - b, "*": a * b}
            truth = truths[computed[2]] if computed[2] in truths else Fraction(a, b)
            assert result == truth - slip * Fraction(1, Fraction(truth).denominator)


def test_slips_change_the_solution_and_nothing_else():
    for careful, sloppy in zip(problems()[:100], problems(slip=1.0)[:100], strict=True):
        assert content(careful)[:4] == content(sloppy)[:4]
        assert careful.solution != sloppy.solution
        assert content(careful)[5:] == content(sloppy)[5:]


def test_a_teacher_who_slips_may_end_at_a_wrong_answer():
    for problem in problems(families=["sum", "perimeter", "clock", "number_line"], slip=1.0)[:100]:
        assert not grade(problem.solution, problem.answer).correct


def test_slips_are_as_frequent_as_asked_for():
    careful = problems(level=2, families=["area"])[:600]
    sloppy = problems(level=2, families=["area"], slip=0.4)[:600]
    slips = [lines_of(a) != lines_of(b) for a, b in zip(careful, sloppy, strict=True)]
    assert sum(slips) / 600 == pytest.approx(0.4, abs=0.08)


def test_solutions_of_the_first_level_are_short():
    assert max(len("\n".join(lines_of(problem))) for problem in problems()[:2000]) <= 40


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_poses_its_families_equally_often(level):
    counts = defaultdict(int)
    for problem in problems(level=level)[:2000]:
        counts[problem.metadata["family"]] += 1
    known = {family.name for family in FAMILIES.values() if family.level <= level}
    assert set(counts) == known
    assert min(counts.values()) > 0.7 * 2000 / len(known)


@pytest.mark.parametrize("scale", [1, 3])
def test_images_are_whole_tiles_of_bytes_at_any_scale(scale):
    small, large = problems(level=3), problems(level=3, scale=scale)
    for index in range(60):
        image = large[index].images[0]
        assert image.dtype == np.uint8
        assert image.shape[0] % (TILE * scale) == image.shape[1] % (TILE * scale) == 0
        assert image.shape[2] == 3
        np.testing.assert_array_equal(image[::scale, ::scale], small[index].images[0])


@pytest.mark.parametrize("level", [2, 3])
def test_a_multiple_choice_has_one_right_letter_among_four_different_options(level):
    posed = problems(level=level)[:900]
    choices = [problem for problem in posed if problem.options]
    whole = [p for p in posed if p.options or re.fullmatch(r"\d+", p.answer)]
    assert len(choices) / len(whole) == pytest.approx(1 / 3, abs=0.06)
    assert {problem.answer for problem in choices} == set("ABCD")
    for problem in choices:
        assert len(set(problem.options)) == 4
        lettered = [f"({a}) {b}" for a, b in zip("ABCD", problem.options, strict=True)]
        assert problem.question.endswith("? " + " ".join(lettered))


def test_the_first_level_has_no_multiple_choice():
    assert not any(problem.options for problem in problems()[:300])


@pytest.mark.parametrize(("level", "checksum"), [(1, 3154615052), (2, 2802810356), (3, 289898148)])
def test_version_0_means_these_problems(level, checksum):
    words = [(problem.question, problem.answer) for problem in problems(level=level)[:200]]
    assert zlib.crc32(repr(words).encode()) == checksum, "other problems need another version"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"split": "val"},
            "split 'val' of Figures-v0 is unknown: take one of train, test, heldout",
        ),
        ({"level": 4}, "level 4 of Figures-v0 is unknown: take 1, 2 or 3"),
        ({"slip": 1.5}, r"slip is 1.5: give a probability in \[0, 1\]"),
        ({"scale": 0}, "scale is 0: give a whole number >= 1"),
        ({"scale": 1.5}, "scale is 1.5: give a whole number >= 1"),
        ({"families": ["bar"]}, "family 'bar' is not in level 1 of Figures-v0: take of sum, "),
        ({"families": []}, "families is empty: name at least one"),
        ({"families": "clock"}, "families is 'clock': give a list of names"),
    ],
)
def test_a_bad_argument_is_one_clear_line(arguments, message):
    with pytest.raises(ValueError, match=message) as raised:
        problems(**arguments)
    assert "\n" not in str(raised.value)


def test_a_contact_sheet_shows_every_problem():
    sheet = np.array(contact_sheet(problems(level=3)[:7], columns=3))
    rows = np.split(sheet, 3)
    cells = [cell for row in rows for cell in np.split(row, 3, axis=1)]
    assert [len(np.unique(cell)) > 2 for cell in cells] == [True] * 7 + [False] * 2
