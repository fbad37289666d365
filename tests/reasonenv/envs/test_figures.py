import math
import random
import re
import zlib
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from reasonenv.envs import figures
from reasonenv.envs.figures import LEVELS, REWARDS, SPLITS
from reasonenv.envs.figures.__main__ import contact_sheet
from reasonenv.envs.figures.canvas import TILE
from reasonenv.envs.figures.family import Steps, draw_operands
from reasonenv.grading import grade
from reasonenv.rewards import maximum, total


def content(problem):
    """All of a problem in a form that compares."""
    fields = problem.question, problem.answer, problem.options, problem.solution
    return problem.id, *fields, dict(problem.metadata), problem.images[0].tobytes()


def lines_of(problem):
    return re.fullmatch(r"<think>(.*)</think><answer>.*", problem.solution, re.DOTALL)[1].split(
        "\n"
    )


@pytest.mark.parametrize("level", LEVELS)
def test_splits_share_no_image_and_held_out_operands_occur_in_no_other_split(level):
    images, operands = defaultdict(set), defaultdict(set)
    for split in SPLITS:
        for problem in figures.problems(split, level)[:500]:
            images[split].add(problem.images[0].tobytes())
            family = figures.FAMILIES[problem.metadata["family"]]
            operands[split].add((family.name, family.canonical(problem.metadata["operands"])))
    assert not images["train"] & images["test"]
    assert not images["heldout"] & (images["train"] | images["test"])
    assert not operands["heldout"] & (operands["train"] | operands["test"])
    assert operands["train"] & operands["test"]


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
def test_each_line_of_a_careful_solution_is_true_and_it_earns_the_maximum(level):
    for problem in figures.problems(level=level)[:150]:
        for expression, value in values_of(lines_of(problem)):
            assert truth_of(expression) in (None, Fraction(value)), problem.solution
        verdict = grade(problem.solution, problem.answer, problem.options)
        assert total(REWARDS, problem.solution, problem, verdict)[0] == maximum(REWARDS)


@pytest.mark.parametrize("level", LEVELS)
def test_a_slip_is_in_one_line_and_one_too_small_and_the_rest_follows_from_it(level):
    careful, sloppy = figures.problems(level=level), figures.problems(level=level, slip=1.0)
    for index in range(150):
        assert content(careful[index])[:4] == content(sloppy[index])[:4]
        assert content(careful[index])[5:] == content(sloppy[index])[5:]
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


def test_a_teacher_who_slips_may_end_at_a_wrong_answer():
    names = ["sum", "perimeter", "clock", "number_line"]
    for problem in figures.problems(level=1, families=names, slip=1.0)[:100]:
        assert not grade(problem.solution, problem.answer).correct


def test_a_solution_slips_as_often_as_asked_for_however_many_lines_it_has():
    for name in ("graph", "dice"):
        careful, sloppy = (figures.problems(families=[name], slip=slip) for slip in (0.0, 0.6))
        slips = [careful[i].solution != sloppy[i].solution for i in range(500)]
        assert sum(slips) / 500 == pytest.approx(0.6, abs=0.08)


@pytest.mark.parametrize("scale", [1, 3])
def test_images_are_at_most_64_whole_tiles_of_bytes_at_any_scale(scale):
    small, large = figures.problems(level=3), figures.problems(level=3, scale=scale)
    for index in range(60):
        assert small[index].images[0].size <= 3 * 64 * TILE**2
        image = large[index].images[0]
        assert image.dtype == np.uint8
        assert image.shape[0] % (TILE * scale) == image.shape[1] % (TILE * scale) == 0
        assert image.shape[2] == 3
        np.testing.assert_array_equal(image[::scale, ::scale], small[index].images[0])


def test_a_multiple_choice_has_one_right_letter_among_four_different_options():
    posed = figures.problems(level=3)[:900]
    choices = [problem for problem in posed if problem.options]
    open_alone = {"fraction", "side", "slope"}
    families = [problem.metadata["family"] for problem in choices]
    assert {*families} == {*figures.FAMILIES} - open_alone
    with_choices = [problem for problem in posed if problem.metadata["family"] not in open_alone]
    assert len(choices) / len(with_choices) == pytest.approx(1 / 3, abs=0.06)
    assert {problem.answer for problem in choices} == set("ABCD")
    for problem in choices:
        assert len(set(problem.options)) == 4
        lettered = [f"({a}) {b}" for a, b in zip("ABCD", problem.options, strict=True)]
        assert problem.question.endswith("? " + " ".join(lettered))


# Those of levels 1 and 2 are Figures-v1's, on which the tiny model of `agents` learned to read.
CHECKSUMS = {1: (2299448856, 1633954006), 2: (3254263770, 3581024547), 3: (1036839391, 428494848)}


@pytest.mark.parametrize("level", LEVELS)
def test_a_version_means_these_problems_solutions_and_pictures(level):
    words = pixels = 0
    for split in SPLITS:
        for arguments in ({}, {"slip": 0.7, "problem_seed": 1}):
            for problem in figures.problems(split, level, **arguments)[:40]:
                _, *fields, metadata, image = content(problem)
                words = zlib.crc32(repr((fields, sorted(metadata.items()))).encode(), words)
                pixels = zlib.crc32(image, pixels)
    assert words == CHECKSUMS[level][0], "other problems need another version"
    assert pixels == CHECKSUMS[level][1], "Pillow, or another version, draws other pictures"


def number_of(num_columns, num_rows):
    """Tables with some of their places chosen, neither none nor all."""
    return 2 ** (num_columns * num_rows) - 2


def pairs_of(count):
    """Unordered pairs, those of equals included."""
    return count * (count + 1) // 2


def tables_of_shapes():
    """Tables of 12 shapes: up to six of the kind that is asked for, of the others three kinds."""
    return 9 * sum(
        math.comb(12, count)
        * (
            math.comb(8, 1)
            + math.comb(8, 2) * (2**rest - 2)
            + math.comb(8, 3) * (3**rest - 3 * 2**rest + 3)
        )
        for count in range(1, 7)
        for rest in [12 - count]
    )


COMBINATIONS = {
    "sum": pairs_of(99),
    "perimeter": pairs_of(48),
    "clock": 12 * 99,
    "number_line": sum(100 - distance for distance in range(1, 13)),
    "angle": pairs_of(70),
    "missing": pairs_of(99),
    "area": 130 * 8,
    "dots": number_of(6, 2),
    "dice": sum(math.comb(count + 5, 5) for count in range(3, 8)),
    "fraction": sum(number_of(columns, 2) for columns in range(3, 7)),
    "bar": 6**4 * 4,
    "coordinates": math.comb(49, 2),
    "graph": 7**5 * 5,
    "minutes": 11 * 12,
    "side": 48 * 48,
    "shapes": tables_of_shapes(),
    "difference": 2 * math.comb(4, 2) * 12**3 * 11,
    "slope": sum(11 - left for left in range(11)) * 13 * 13,
}


def test_the_table_of_the_page_counts_the_combinations_of_each_family():
    table = re.findall(r"^ {4}[123] +(\w+) .* ([\d,]+)$", figures.__doc__, re.MULTILINE)
    assert {name: int(count.replace(",", "")) for name, count in table} == COMBINATIONS


def test_every_family_of_the_default_level_has_a_thousand_combinations_and_holds_out_a_hundred():
    for family in (family for family in figures.FAMILIES.values() if family.level <= 2):
        rng = random.Random(0)
        seen = {family.canonical(family.sample(rng, 2)) for _ in range(8000)}
        assert 1000 <= len(seen) <= COMBINATIONS[family.name], family.name
        draws = (draw_operands(family, "heldout", 2, rng) for _ in range(800))
        assert len({family.canonical(operands) for operands in draws}) >= 100, family.name


def lines_of_draws(family, split, count):
    """Equations of the solutions of a family at the default level."""
    rng, equations = random.Random(0), set()
    for _ in range(count):
        steps = Steps()
        family.solve(draw_operands(family, split, 2, rng), steps)
        equations |= {line for line in steps.lines if "=" in line}
    return equations


@pytest.mark.slow(reason="hundreds of thousands of draws")
def test_of_the_lines_of_held_out_solutions_training_lacks_those_of_number_lines_alone():
    families = [family for family in figures.FAMILIES.values() if family.level <= 2]
    training = set().union(*(lines_of_draws(family, "train", 30_000) for family in families))
    lacking = {f.name for f in families if lines_of_draws(f, "heldout", 2000) - training}
    assert lacking == {"number_line"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"slip": 1.5}, r"slip is 1.5: give a probability in \[0, 1\]"),
        ({"scale": 0}, "scale is 0: give a whole number >= 1"),
        ({"scale": 1.5}, "scale is 1.5: give a whole number >= 1"),
    ],
)
def test_a_bad_slip_or_scale_is_one_clear_line(arguments, message):
    with pytest.raises(ValueError, match=message) as raised:
        figures.problems(**arguments)
    assert "\n" not in str(raised.value)


def test_a_contact_sheet_shows_every_problem():
    sheet = np.array(contact_sheet(figures.problems(level=3)[:7], columns=3))
    rows = np.split(sheet, 3)
    cells = [cell for row in rows for cell in np.split(row, 3, axis=1)]
    assert [len(np.unique(cell)) > 2 for cell in cells] == [True] * 7 + [False] * 2
