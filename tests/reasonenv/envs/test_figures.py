import random
import re
import zlib
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from reasonenv.envs import figures, figures_v0
from reasonenv.envs.figures import REWARDS, SPLITS
from reasonenv.envs.figures.__main__ import contact_sheet
from reasonenv.envs.figures.canvas import TILE
from reasonenv.envs.figures.family import draw_operands
from reasonenv.grading import grade
from reasonenv.rewards import maximum, total

LEVELS = (1, 2, 3)
VERSIONS = {"v0": figures_v0, "v1": figures}


@pytest.fixture(params=VERSIONS)
def version(request):
    return VERSIONS[request.param]


def content(problem):
    """All of a problem in a form that compares."""
    fields = problem.question, problem.answer, problem.options, problem.solution
    return problem.id, *fields, dict(problem.metadata), problem.images[0].tobytes()


def lines_of(problem):
    return re.fullmatch(r"<think>(.*)</think><answer>.*", problem.solution, re.DOTALL)[1].split(
        "\n"
    )


@pytest.mark.parametrize("level", LEVELS)
def test_a_problem_is_a_pure_function_of_its_index(version, level):
    figures = version.problems(level=level)
    forwards = [content(figures[index]) for index in range(20)]
    again = version.problems(level=level)
    backwards = [content(again[index]) for index in reversed(range(20))]
    assert forwards == backwards[::-1]
    assert [content(problem) for problem in figures[:20]] == forwards
    assert len({problem_id for problem_id, *_ in forwards}) == 20


def test_an_index_beyond_the_length_is_a_problem_and_a_negative_one_is_not(version):
    figures = version.problems()
    assert len(figures) == 1_000_000
    assert figures[np.int64(10**9)].id.startswith(version.VERSION.prefix)
    assert figures[np.int64(10**9)].id.endswith("/train/0/1000000000")
    with pytest.raises(IndexError, match="problem -1 of Figures: indices start at 0"):
        figures[-1]


def test_the_arguments_that_choose_problems_are_in_their_ids(version):
    ids = {
        version.problems()[5].id,
        version.problems(level=3)[5].id,
        version.problems("test")[5].id,
        version.problems(problem_seed=1)[5].id,
        version.problems(families=["clock"])[5].id,
    }
    assert len(ids) == 5
    first = list(version.FAMILIES)[:5]
    assert version.problems(level=1, families=first)[5].id == version.problems(level=1)[5].id


@pytest.mark.parametrize("level", LEVELS)
def test_splits_share_no_image_and_held_out_operands_occur_in_no_other_split(version, level):
    images, operands = defaultdict(set), defaultdict(set)
    for split in SPLITS:
        for problem in version.problems(split, level)[:1500]:
            images[split].add(problem.images[0].tobytes())
            family = version.FAMILIES[problem.metadata["family"]]
            operands[split].add((family.name, family.canonical(problem.metadata["operands"])))
    assert not images["train"] & images["test"]
    assert not images["heldout"] & (images["train"] | images["test"])
    assert not operands["heldout"] & (operands["train"] | operands["test"])
    assert operands["train"] & operands["test"]


@pytest.mark.parametrize("level", LEVELS)
def test_the_careful_teacher_earns_the_maximum(version, level):
    for problem in version.problems(level=level)[:150]:
        verdict = grade(problem.solution, problem.answer, problem.options)
        assert verdict.correct, problem.solution
        assert total(REWARDS, problem.solution, problem, verdict)[0] == maximum(REWARDS)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("slip", [0, 1])
def test_each_step_of_version_0_is_true_or_with_certain_slips_one_too_small(level, slip):
    for problem in figures_v0.problems(level=level, slip=float(slip))[:200]:
        for line in lines_of(problem):
            computed = re.fullmatch(r"(-?\d+)([-+*/])(-?\d+)=(-?\d+(?:/\d+)?)", line)
            if not computed:  # read off the figure
                assert re.fullmatch(r"\w+=-?\d+", line)
                continue
            a, b, result = int(computed[1]), int(computed[3]), Fraction(computed[4])
            truths = {"+": a + b, "-": a - b, "*": a * b}
            truth = truths[computed[2]] if computed[2] in truths else Fraction(a, b)
            assert result == truth - slip * Fraction(1, Fraction(truth).denominator)


def values_of(lines):
    """Computed lines as pairs of an expression and a value; lines without one join digits."""
    return [tuple(line.split("=")) for line in lines if "=" in line]


def truth_of(expression):
    """The value of an expression; None for the name of something read off the figure."""
    if re.fullmatch(r"[a-z]\w*|[K-N]", expression):
        return None
    first, *others = re.findall(r"[-+*/]?\d+", expression)
    total = Fraction(first)
    for part in others:
        number = Fraction(part[1:])
        total = {
            "+": total + number,
            "-": total - number,
            "*": total * number,
            "/": total / number if number else None,
        }[part[0]]
    return total


@pytest.mark.parametrize("level", LEVELS)
def test_each_line_of_a_careful_solution_is_true(level):
    for problem in figures.problems(level=level)[:300]:
        for expression, value in values_of(lines_of(problem)):
            assert truth_of(expression) in (None, Fraction(value)), problem.solution


@pytest.mark.parametrize("level", LEVELS)
def test_a_slip_is_in_one_line_and_one_too_small_and_the_rest_follows_from_it(level):
    careful, sloppy = figures.problems(level=level), figures.problems(level=level, slip=1.0)
    for index in range(300):
        right, wrong = lines_of(careful[index]), lines_of(sloppy[index])
        first = next(
            i for i, pair in enumerate(zip(right, wrong, strict=False)) if len({*pair}) > 1
        )
        expression, value = right[first].split("=")
        slipped_expression, slipped = wrong[first].split("=")
        assert slipped_expression == expression
        error = Fraction(value) - Fraction(slipped)
        assert error == Fraction(1, Fraction(value).denominator) or (value == "0" and error == -1)
        for line, result in values_of(wrong[first + 1 :]):
            assert truth_of(line) in (None, Fraction(result)), wrong


def test_columns_join_to_the_number():
    for name in ("sum", "perimeter", "angle", "missing", "area"):
        for problem in figures.problems(families=[name])[:100]:
            lines = lines_of(problem)
            joined = [place for place, line in enumerate(lines) if "=" not in line]
            assert all(place > 0 for place in joined)
            assert all(lines[place].endswith(lines[0][-1]) for place in joined)


def test_a_column_of_a_subtraction_has_one_digit():
    for problem in figures.problems(families=["missing"])[:300]:
        assert int(lines_of(problem)[0].split("=")[1]) < 10


def test_slips_change_the_solution_and_nothing_else(version):
    for careful, sloppy in zip(
        version.problems()[:100], version.problems(slip=1.0)[:100], strict=True
    ):
        assert content(careful)[:4] == content(sloppy)[:4]
        assert careful.solution != sloppy.solution
        assert content(careful)[5:] == content(sloppy)[5:]


def test_a_teacher_who_slips_may_end_at_a_wrong_answer(version):
    names = ["sum", "perimeter", "clock", "number_line"]
    for problem in version.problems(level=1, families=names, slip=1.0)[:100]:
        assert not grade(problem.solution, problem.answer).correct


def test_slips_are_as_frequent_as_asked_for(version):
    careful = version.problems(level=2, families=["bar"])[:600]
    sloppy = version.problems(level=2, families=["bar"], slip=0.4)[:600]
    slips = [lines_of(a) != lines_of(b) for a, b in zip(careful, sloppy, strict=True)]
    assert sum(slips) / 600 == pytest.approx(0.4, abs=0.08)


def test_a_solution_slips_as_often_as_asked_for_however_many_lines_it_has():
    for name in ("graph", "dice"):
        careful, sloppy = (figures.problems(families=[name], slip=slip) for slip in (0.0, 0.6))
        slips = [careful[i].solution != sloppy[i].solution for i in range(500)]
        assert sum(slips) / 500 == pytest.approx(0.6, abs=0.08)


def test_solutions_of_the_default_level_are_short():
    assert max(len("\n".join(lines_of(problem))) for problem in figures.problems()[:2000]) <= 50


def test_every_family_of_the_default_level_has_a_thousand_combinations_and_holds_out_a_hundred():
    for family in figures.FAMILIES.values():
        if family.level <= 2:
            rng = random.Random(0)
            seen = {family.canonical(family.sample(rng, 2)) for _ in range(20_000)}
            held_out = {
                family.canonical(draw_operands(family, "heldout", 2, rng)) for _ in range(3000)
            }
            assert len(seen) >= 1000, family.name
            assert len(held_out) >= 100, family.name


def test_figures_of_the_default_level_fit_the_tiny_model():
    for problem in figures.problems()[:500]:
        rows, columns, _ = problem.images[0].shape
        assert rows * columns <= 64 * TILE**2


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_poses_its_families_equally_often(version, level):
    counts = defaultdict(int)
    for problem in version.problems(level=level)[:2000]:
        counts[problem.metadata["family"]] += 1
    known = {family.name for family in version.FAMILIES.values() if family.level <= level}
    assert set(counts) == known
    assert min(counts.values()) > 0.7 * 2000 / len(known)


@pytest.mark.parametrize("scale", [1, 3])
def test_images_are_whole_tiles_of_bytes_at_any_scale(version, scale):
    small, large = version.problems(level=3), version.problems(level=3, scale=scale)
    for index in range(60):
        image = large[index].images[0]
        assert image.dtype == np.uint8
        assert image.shape[0] % (TILE * scale) == image.shape[1] % (TILE * scale) == 0
        assert image.shape[2] == 3
        np.testing.assert_array_equal(image[::scale, ::scale], small[index].images[0])


@pytest.mark.parametrize(("version", "level"), [(figures_v0, 2), (figures_v0, 3), (figures, 3)])
def test_a_multiple_choice_has_one_right_letter_among_four_different_options(version, level):
    posed = version.problems(level=level)[:900]
    choices = [problem for problem in posed if problem.options]
    whole = [p for p in posed if p.options or re.fullmatch(r"\d+", p.answer)]
    assert len(choices) / len(whole) == pytest.approx(1 / 3, abs=0.06)
    assert {problem.answer for problem in choices} == set("ABCD")
    for problem in choices:
        assert len(set(problem.options)) == 4
        lettered = [f"({a}) {b}" for a, b in zip("ABCD", problem.options, strict=True)]
        assert problem.question.endswith("? " + " ".join(lettered))


@pytest.mark.parametrize(("version", "level"), [(figures_v0, 1), (figures, 1), (figures, 2)])
def test_the_first_levels_have_no_multiple_choice(version, level):
    assert not any(problem.options for problem in version.problems(level=level)[:300])


CHECKSUMS = {
    figures_v0: (3154615052, 2802810356, 289898148),
    figures: (2389396911, 4080068913, 2576010039),
}


@pytest.mark.parametrize("level", LEVELS)
def test_a_version_means_these_problems(version, level):
    words = [(problem.question, problem.answer) for problem in version.problems(level=level)[:200]]
    checksum = zlib.crc32(repr(words).encode())
    assert checksum == CHECKSUMS[version][level - 1], "other problems need another version"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"split": "val"},
            "split 'val' of {name} is unknown: take one of train, test, heldout",
        ),
        ({"level": 4}, "level 4 of {name} is unknown: take 1, 2 or 3"),
        ({"slip": 1.5}, r"slip is 1.5: give a probability in \[0, 1\]"),
        ({"scale": 0}, "scale is 0: give a whole number >= 1"),
        ({"scale": 1.5}, "scale is 1.5: give a whole number >= 1"),
        (
            {"families": ["bar"], "level": 1},
            "family 'bar' is not in level 1 of {name}: take of sum, ",
        ),
        ({"families": []}, "families is empty: name at least one"),
        ({"families": "clock"}, "families is 'clock': give a list of names"),
    ],
)
def test_a_bad_argument_is_one_clear_line(version, arguments, message):
    with pytest.raises(ValueError, match=message.replace("{name}", version.VERSION.name)) as raised:
        version.problems(**arguments)
    assert "\n" not in str(raised.value)


def test_a_contact_sheet_shows_every_problem(version):
    sheet = np.array(contact_sheet(version.problems(level=3)[:7], columns=3))
    rows = np.split(sheet, 3)
    cells = [cell for row in rows for cell in np.split(row, 3, axis=1)]
    assert [len(np.unique(cell)) > 2 for cell in cells] == [True] * 7 + [False] * 2
