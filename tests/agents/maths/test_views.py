"""Other prompts for a teacher, made of an answered group."""

from dataclasses import replace

import numpy as np
import pytest

from agents import views
from agents.errors import UsageError

IMAGE = np.random.default_rng(0).integers(1, 256, (40, 61, 3), dtype=np.uint8)
GROUP = views.AnsweredGroup(
    {"system": "Be brief.", "question": "How many?", "images": (IMAGE,)},
    ("one", "two", "three", "four"),
    (0.0, 1.1, 0.1, 1.1),
    {
        "reference": ["{7}"] * 4,
        "solution": ["Count {them}."] * 4,
        "accuracy": [0.0, 1.0, 0.0, 1.0],
    },
    (0, 3, 1),
)


def test_the_answer_or_a_solution_follows_the_question():
    for view, words in ((views.reference_answer, "{7}"), (views.worked_solution, "Count {them}.")):
        observations = view(GROUP)
        assert all(own is observations[0] for own in observations)
        assert len(observations) == 4
        assert observations[0]["question"].startswith("How many?\n")
        assert words in observations[0]["question"]
        assert observations[0]["system"] == "Be brief."
        assert observations[0]["images"] is GROUP.observation["images"]


def test_without_a_solution_there_is_no_context():
    group = replace(GROUP, infos={"solution": [None] * 4})
    assert views.worked_solution(group) == [None] * 4


def test_a_response_sees_the_first_right_one_but_itself():
    texts = [view["question"] for view in views.right_sibling(GROUP)]
    assert ["two" in text for text in texts] == [True, False, True, True]
    assert "four" in texts[1]
    alone = replace(GROUP, infos={"accuracy": [0.0, 0.0, 1.0, 0.0]})
    assert [view is None for view in views.right_sibling(alone)] == [False, False, True, False]
    assert views.right_sibling(replace(GROUP, infos={"accuracy": [0.0] * 4})) == [None] * 4


def test_the_same_prompt_is_the_observation():
    assert views.same_prompt(GROUP) == [GROUP.observation] * 4


def test_whole_patches_are_black_by_the_seed():
    masked = views.masked_image(0.6, 14)(GROUP)
    assert all(own is masked[0] for own in masked)
    image = masked[0]["images"][0]
    assert image.shape == IMAGE.shape
    assert image.dtype == np.uint8
    patches = [
        (image[y : y + 14, x : x + 14], IMAGE[y : y + 14, x : x + 14])
        for y in range(0, 40, 14)
        for x in range(0, 61, 14)
    ]
    black = [not own.any() for own, _ in patches]
    assert all(is_black or (own == old).all() for is_black, (own, old) in zip(black, patches))  # noqa: B905
    assert 0 < sum(black) < len(patches)
    again = views.masked_image()(GROUP)[0]["images"][0]
    assert np.array_equal(image, again)
    other = views.masked_image()(replace(GROUP, seed=(0, 3, 2)))[0]["images"][0]
    assert not np.array_equal(image, other)


def test_the_share_of_black_patches_is_that_which_is_given():
    large = replace(GROUP, observation={**GROUP.observation, "images": (np.ones((700, 700, 3)),)})
    for share in (0.0, 0.25, 1.0):
        image = views.masked_image(share)(large)[0]["images"][0]
        assert 1 - image.mean() == pytest.approx(share, abs=0.03)


def test_without_an_image_there_is_none_to_mask():
    words = replace(GROUP, observation={**GROUP.observation, "images": ()})
    assert views.masked_image()(words) == [None] * 4


@pytest.mark.parametrize("arguments", [(1.2,), (0.5, 0)])
def test_a_share_or_size_out_of_range_is_refused_in_one_line(arguments):
    with pytest.raises(UsageError, match=r"^masked_image got .* give a share in \[0, 1\]"):
        views.masked_image(*arguments)
