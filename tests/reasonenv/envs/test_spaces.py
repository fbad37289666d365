import numpy as np
import pytest
from gymnasium.spaces import Space
from gymnasium.vector.utils import batch_space

from reasonenv.spaces import ImagesSpace, TextSpace


@pytest.mark.parametrize("space", [TextSpace(), ImagesSpace()])
def test_a_space_contains_its_samples(space):
    space.seed(0)
    assert all(space.sample() in space for _ in range(50))


@pytest.mark.parametrize("kind", [TextSpace, ImagesSpace])
def test_equal_seeds_give_equal_samples(kind):
    one, two = kind(seed=3), kind(seed=3)
    for _ in range(10):
        np.testing.assert_equal(one.sample(), two.sample())


@pytest.mark.parametrize("kind", [TextSpace, ImagesSpace])
def test_spaces_of_one_kind_are_equal_and_those_of_two_are_not(kind):
    other = ImagesSpace() if kind is TextSpace else TextSpace()
    assert kind() == kind()
    assert hash(kind()) == hash(kind())
    assert kind() != other


@pytest.mark.parametrize("text", ["", "a" * 10**6, "求∠ABC的度数 🙂", "\ud800", "\x00\n"])
def test_the_text_space_contains_every_string(text):
    assert text in TextSpace()


@pytest.mark.parametrize("other", [b"a", 3, None, ["a"]])
def test_the_text_space_contains_strings_alone(other):
    assert other not in TextSpace()


@pytest.mark.parametrize(
    "images", [(), (np.zeros((1, 9, 3), np.uint8),), (np.zeros((2, 2, 3), np.uint8),) * 3]
)
def test_the_images_space_contains_any_number_of_rgb_images(images):
    assert images in ImagesSpace()


@pytest.mark.parametrize(
    "images",
    [
        [np.zeros((2, 2, 3), np.uint8)],
        (np.zeros((2, 2, 3), np.float32),),
        (np.zeros((2, 2), np.uint8),),
        (np.zeros((2, 2, 4), np.uint8),),
        (np.zeros((0, 2, 3), np.uint8),),
        ("image",),
    ],
)
def test_the_images_space_contains_nothing_else(images):
    assert images not in ImagesSpace()


def test_a_batch_of_texts_is_a_tuple_whose_samples_differ():
    space = batch_space(TextSpace(seed=0), 3)
    sample = space.sample()
    assert sample in space
    assert len(set(sample)) == 3


@pytest.mark.parametrize("space", [TextSpace(), ImagesSpace()])
def test_a_mask_is_refused(space):
    with pytest.raises(ValueError, match="without mask"):
        space.sample(mask=np.ones(3))


def test_a_batch_of_spaces_has_a_short_repr_and_gymnasiums_samples():
    space = batch_space(TextSpace(seed=3), 1024)
    assert repr(space) == "Tuple(TextSpace() x 1024)"
    generic = batch_space.dispatch(Space)(TextSpace(seed=3), 1024)
    assert space == generic
    assert space.sample() == generic.sample()
