import numpy as np
import pytest
from gymnasium.spaces import Space
from gymnasium.vector.utils import batch_space

from reasonenv.spaces import ImagesSpace, TextSpace


@pytest.mark.parametrize("kind", [TextSpace, ImagesSpace])
def test_equal_seeds_give_equal_samples_which_the_space_contains(kind):
    one, two = kind(seed=3), kind(seed=3)
    samples = [one.sample() for _ in range(50)]
    assert all(sample in one for sample in samples)
    np.testing.assert_equal(samples, [two.sample() for _ in range(50)])


@pytest.mark.parametrize("kind", [TextSpace, ImagesSpace])
def test_spaces_of_one_kind_are_equal_and_those_of_two_are_not(kind):
    other = ImagesSpace() if kind is TextSpace else TextSpace()
    assert kind() == kind()
    assert hash(kind()) == hash(kind())
    assert kind() != other


def white(*shape, dtype=np.uint8):
    return np.ones(shape, dtype)


INSIDE = {
    TextSpace: ["", "a" * 10**6, "求∠ABC的度数 🙂", "\ud800", "\x00\n"],
    ImagesSpace: [(), (white(1, 9, 3),), (white(2, 2, 3),) * 3],
}
OUTSIDE = {
    TextSpace: [b"a", 3, None, ["a"]],
    ImagesSpace: [
        *([white(2, 2, 3)], (white(2, 2, 3, dtype=np.float32),), (white(2, 2),)),
        *((white(2, 2, 4),), (white(0, 2, 3),), ("image",)),
    ],
}


@pytest.mark.parametrize("kind", INSIDE)
def test_a_space_contains_every_text_or_any_number_of_rgb_images_and_nothing_else(kind):
    assert all(value in kind() for value in INSIDE[kind])
    assert not any(value in kind() for value in OUTSIDE[kind])


@pytest.mark.parametrize("space", [TextSpace(), ImagesSpace()])
def test_a_mask_is_refused(space):
    with pytest.raises(ValueError, match="without mask"):
        space.sample(mask=np.ones(3))


def test_a_batch_of_spaces_has_a_short_repr_and_gymnasiums_samples():
    space = batch_space(TextSpace(seed=3), 1024)
    assert repr(space) == "Tuple(TextSpace() x 1024)"
    generic = batch_space.dispatch(Space)(TextSpace(seed=3), 1024)
    assert space == generic
    assert len(set(space.sample())) > 1000
    generic.sample()
    assert space.sample() == generic.sample()
