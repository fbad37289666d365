import json
import math
import random
import sys
import zlib
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("matplotlib", reason="needs the extra diagrams")

import reasonenv
from reasonenv.envs import diagrams
from reasonenv.envs.diagrams import BUILT_IN, FAMILIES, LEVELS, SPLITS, Exercise, family
from reasonenv.envs.diagrams.__main__ import contact_sheet
from reasonenv.testing import check_env

FEW = ["slope", "ruler", "zeros", "cuboid"]
RECORDED = Path(__file__).with_name("diagrams.json")
"""Checksums of words and of boxes, and a thumbnail, of each family: see `record`."""


def content(problem):
    fields = problem.question, problem.answer, problem.options, problem.solution
    return problem.id, *fields, dict(problem.metadata), problem.images[0].tobytes()


def test_a_problem_is_a_pure_function_of_its_id():
    posed = diagrams.problems(families=FEW)
    forwards = [content(posed[index]) for index in range(8)]
    again = diagrams.problems(families=FEW)
    assert [content(again[index]) for index in reversed(range(8))] == forwards[::-1]
    larger = diagrams.problems(families=FEW, size=896)[0]
    assert content(larger)[:6] == forwards[0][:6]
    assert larger.images[0].shape[1] == 896
    with pytest.raises(IndexError, match="problem -1 of Diagrams: indices start at 0"):
        posed[-1]


def test_what_chooses_problems_is_in_their_ids():
    variants = [
        *({}, {"level": 1}, {"split": "test"}, {"problem_seed": 1}, {"families": FEW}),
        *({"families": {"slope": 2, "ruler": 1}}, {"multiple_choice": True}),
        {"families": dict.fromkeys(BUILT_IN, 1) | {"slope": 2}},
    ]
    ids = [diagrams.problems(**each).make(7, True).id for each in variants]
    assert ids[0] == "diagrams-v0/3/train/0/7"
    assert ids[5] == "diagrams-v0/3:2*slope+ruler/train/0/7"
    assert len({*ids}) == len(ids)
    assert diagrams.problems(families=BUILT_IN, size=224)[7].id == ids[0]


def families_of(count, **arguments):
    posed = diagrams.problems(size=224, **arguments)
    return Counter(posed.compose(f"{posed.source}/{i}")[0].metadata["family"] for i in range(count))


def test_families_are_posed_as_often_as_their_weights_say():
    counts = families_of(400, families={"slope": 3, "ruler": 1})
    assert counts["slope"] / 400 == pytest.approx(0.75, abs=0.09)
    counts = families_of(300, families=FEW)
    assert set(counts) == set(FEW)
    assert min(counts.values()) > 45


def test_several_levels_are_posed_in_turn_with_the_ids_of_each():
    posed = diagrams.problems(level=LEVELS, families=FEW, size=224)
    assert [problem.metadata["level"] for problem in posed[:7]] == [1, 2, 3, 4, 5, 1, 2]
    assert content(posed[6]) == content(diagrams.problems(level=2, families=FEW, size=224)[1])
    assert len(posed) == 5_000_000


def test_held_out_problems_have_their_own_wordings_and_chalk_on_a_board():
    for name in FEW:
        *usual, own = (text.split("{")[0] for text in FAMILIES[name].questions)
        train, test, heldout = (
            diagrams.problems(split, families=[name], size=224)[0] for split in SPLITS
        )
        assert heldout.question.startswith(own)
        assert any(train.question.startswith(text) for text in usual)
        assert any(test.question.startswith(text) for text in usual)
        assert heldout.images[0][0, 0].sum() < 384 < train.images[0][0, 0].sum()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "val"}, "split 'val' of Diagrams-v0 is unknown: take one of train, test, held"),
        ({"level": 6}, "level 6 of Diagrams-v0 is unknown: take one of 1, 2, 3, 4, 5"),
        ({"level": (1, 9)}, "level 9 of Diagrams-v0 is unknown"),
        ({"level": ()}, "level is empty: give a number from 1 to 5, or several"),
        ({"families": ["x"]}, "family 'x' is not in level 3 of Diagrams-v0: take of "),
        ({"families": []}, "families is empty: name at least one"),
        ({"families": "slope"}, "families is 'slope': give a list of names"),
        ({"families": {"slope": 0}}, "the weight of 'slope' is 0: give a number above 0"),
        ({"families": {"slope": "1"}}, "the weight of 'slope' is '1': give a number above 0"),
        ({"size": 100}, "size is 100: give a whole number of pixels from 224 to 896"),
        ({"size": 448.0}, "size is 448.0: give a whole number of pixels from 224 to 896"),
    ],
)
def test_a_bad_argument_is_one_clear_line(arguments, message):
    with pytest.raises(ValueError, match=message) as raised:
        diagrams.problems(**arguments)
    assert "\n" not in str(raised.value)


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"fonts of matplotlib: run pip install 'reasonenv\[diag"):
        reasonenv.make("Diagrams-v0")


def test_it_is_an_environment_by_name():
    check_env(partial(reasonenv.make, "Diagrams-v0", families=FEW, size=224))


@pytest.mark.slow(reason="draws hundreds of problems of each family")
def test_options_are_at_chance_without_the_figure():
    posed = diagrams.problems(multiple_choice=True, size=224)
    problems = [posed.compose(f"{posed.source}/{i}")[0] for i in range(600)]
    assert all(len(problem.options) == 4 for problem in problems)

    def rank(problem):
        try:
            return sorted(map(float, problem.options)).index(float(right(problem)))
        except ValueError:
            return sorted(problem.options).index(right(problem))

    def right(problem):
        return problem.options["ABCD".index(problem.answer)]

    margin = 4 * math.sqrt(0.25 * 0.75 * 600)
    for counts in (Counter(problem.answer for problem in problems), Counter(map(rank, problems))):
        assert all(abs(counts[key] - 150) < margin for key in counts), counts


def record(name):
    """Checksums of words and boxes of five problems of a family, and a thumbnail of the first."""
    posed = diagrams.problems(families=[name], size=224)
    words = boxes = 0
    for index in range(5):
        problem, scene = posed.compose(f"{posed.source}/{index}")
        words = zlib.crc32(repr(content_without_image(problem)).encode(), words)
        boxes = zlib.crc32(
            repr([(label.text, label.box) for label in scene.labels]).encode(), boxes
        )
    image = Image.fromarray(posed[0].images[0]).convert("L").resize((8, 8), Image.Resampling.BOX)
    return {"words": words, "boxes": boxes, "thumbnail": np.asarray(image).tobytes().hex()}


def content_without_image(problem):
    return problem.id, problem.question, problem.answer, problem.solution, dict(problem.metadata)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_version_means_these_words_boxes_and_pictures(name):
    new, recorded = record(name), json.loads(RECORDED.read_text())[name]
    assert new["words"] == recorded["words"], "other problems need another version"
    assert new["boxes"] == recorded["boxes"], "other places of labels need another version"
    pixels = (np.frombuffer(bytes.fromhex(each["thumbnail"]), np.uint8) for each in (new, recorded))
    first, second = (each.astype(int) for each in pixels)
    # Another FreeType sets edges of letters a little otherwise.
    assert abs(first - second).mean() < 2


def test_a_family_of_ones_own_is_posed_by_name_and_not_by_default():
    wordings = ["What number?", "Which number is it?"]

    @family(questions=wordings, height=112)
    def single_number(rng, level):
        """A number; which it is."""
        number = rng.randint(1, 10**level)
        place = 224 + 56j
        steps = f"It is {number}."
        return Exercise((number,), number, steps, lambda scene: scene.label(str(number), place))

    try:
        problem = diagrams.problems(families=["single_number"], level=5, split="heldout")[0]
        assert problem.question == "Which number is it?"
        assert problem.answer == str(problem.metadata["operands"][0])
        assert problem.images[0].shape == (112, 448, 3)
        assert "single_number" not in families_of(200)
    finally:
        del FAMILIES["single_number"]


def test_a_family_without_operands_for_a_split_is_said_so():
    @family(questions=["?", "?"])
    def always_one(rng, level):
        return Exercise((1,), 1, "It is 1.", lambda scene: None)

    own, rng = FAMILIES.pop("always_one"), random.Random(0)
    other = next(split for split in SPLITS if split != own.split_of(always_one(rng, 1)))
    with pytest.raises(ValueError, match="'always_one' has too few operands for a split"):
        own.draw(other, 1, rng)


def test_a_contact_sheet_shows_every_problem():
    figures = diagrams.problems(families=FEW, size=224)[:7]
    sheet = np.asarray(contact_sheet(figures, columns=3))
    cells = [cell for row in np.split(sheet, 3) for cell in np.split(row, 3, axis=1)]
    assert [len(np.unique(cell)) > 2 for cell in cells] == [True] * 7 + [False] * 2


if __name__ == "__main__":
    lines = (f'"{name}": {json.dumps(record(name))}' for name in BUILT_IN)
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
