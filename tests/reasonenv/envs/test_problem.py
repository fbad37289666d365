import functools
import re

import numpy as np
import pytest
from helpers import toy
from PIL import Image

from reasonenv.errors import DataError
from reasonenv.pixels import MAX_RATIO, rgb
from reasonenv.problem import LONGEST, Problem
from reasonenv.prompts import PromptTemplate
from reasonenv.testing import check_env
from reasonenv.vector import ReasonVectorEnv

LEVELS = np.random.default_rng(0).integers(0, 256, (20, 30, 3)).astype(np.uint8)
GREY = LEVELS[..., 0]


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (Image.fromarray(LEVELS), LEVELS),
        (LEVELS.astype(np.int64), LEVELS),
        (LEVELS.astype(np.float32), LEVELS),
        (LEVELS / 255, LEVELS),
        ((LEVELS / 255).astype(np.float32), LEVELS),
        (GREY / 255, np.stack([GREY] * 3, -1)),
        (GREY[..., None], np.stack([GREY] * 3, -1)),
        (GREY.astype(np.uint16) * 257, np.stack([GREY] * 3, -1)),
        (GREY.astype(">u2") * 257, np.stack([GREY] * 3, -1)),
        (Image.fromarray(GREY.astype(np.int32) * 257), np.stack([GREY] * 3, -1)),
        (GREY > 127, np.stack([(GREY > 127) * 255] * 3, -1)),
        (Image.fromarray((GREY / 255).astype(np.float32)), np.stack([GREY] * 3, -1)),
        (np.dstack([LEVELS, np.full((20, 30), 255, np.uint8)]), LEVELS),
        (LEVELS[:3], LEVELS[:3]),
        (LEVELS[:1, :3], LEVELS[:1, :3]),
    ],
)
def test_an_image_of_a_problem_becomes_an_rgb_array_of_the_same_levels(image, expected):
    (array,) = Problem("1", "?", "5", images=(image,)).images
    assert array.dtype == np.uint8
    np.testing.assert_array_equal(array, expected)


def test_images_that_are_rgb_arrays_are_kept_as_they_are():
    images = (LEVELS, LEVELS[:2])
    assert Problem("1", "?", "5", images=images).images is images
    assert Problem("1", "?", "5", images=[LEVELS]).images[0] is LEVELS  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("1.png", "the image is '1.png', of type str"),
        (None, "the image is None"),
        (np.zeros((3, 20, 30), np.uint8), "an array of uint8, (3, 20, 30), is no image"),
        (np.zeros((2, 20, 30, 3), np.uint8), "an array of uint8, (2, 20, 30, 3), is no image"),
        (np.zeros((4, 4, 3), complex), "an array of complex128, (4, 4, 3), is no image"),
        (np.zeros((0, 4, 3), np.uint8), "an array of uint8, (0, 4, 3), is no image"),
        (Image.new("RGB", (0, 4)), "the image is 0x4 pixels: 1:1 to 200:1 are read"),
        (np.zeros((10, 3000, 3), np.uint8), "the image is 3000x10 pixels: 1:1 to 200:1"),
        (Image.new("L", (10, 3000)), "the image is 10x3000 pixels: 1:1 to 200:1"),
        (np.full((4, 4), np.nan), "the image has values from nan to nan"),
        (np.full((4, 4), -0.5), "the image has values from -0.5 to -0.5"),
        (np.full((4, 4, 3), 1.04), "the image has values from 1.04 to 1.04"),
        (np.full((4, 4), -1), "the image has values from -1 to -1"),
        (np.array([[100, 334]]), "the image has values from 100 to 334: levels of 0 to 255, 16"),
        (np.array([[100.0, 334.0]]), "the image has values from 100.0 to 334.0: levels of 0"),
        (np.full((4, 4), 65536), "the image has values from 65536 to 65536"),
    ],
)
def test_an_image_of_a_problem_that_is_none_is_named_in_one_line(image, message):
    with pytest.raises(DataError, match=re.escape(f"problem '7': {message}")) as raised:
        Problem("7", "?", "5", images=(LEVELS, image))
    assert "\n" not in str(raised.value)


def test_the_largest_ratio_of_sides_is_read():
    assert rgb(np.zeros((1, MAX_RATIO, 3), np.uint8)).shape == (1, MAX_RATIO, 3)


@pytest.mark.parametrize("value", [None, 5, "half of \ud83d"])
@pytest.mark.parametrize("name", ["question", "answer"])
def test_a_question_or_answer_that_is_no_text_is_named(name, value):
    values = {name: value}
    with pytest.raises(
        DataError, match=re.escape(f"problem '7': {name} is {value!r}: give a text")
    ):
        Problem(**{"id": "7", "question": "?", "answer": "5", **values})


def test_a_question_that_no_model_can_read_is_refused():
    with pytest.raises(DataError, match=r"problem '7': the question has more than 8,388,608"):
        Problem("7", "?" * (LONGEST + 1), "5")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("", None), r"reset leaves the observation space: question is None, no TextSpace\(\)"),
        ((3, "?"), r"reset leaves the observation space: system is 3, no TextSpace\(\)"),
    ],
)
def test_the_contract_names_the_key_and_the_value_outside_of_the_space(asked, message):
    class Odd(PromptTemplate):
        def ask(self, problem):
            return asked

    problems = toy.problems(size=50)
    make = functools.partial(ReasonVectorEnv, problems, toy.REWARDS, prompt=Odd())
    with pytest.raises(AssertionError, match=message):
        check_env(make)
