"""Spaces for text of any alphabet and for images of any size."""

from typing import Any, TypeVar

import numpy as np
from gymnasium.spaces import Space, Tuple
from gymnasium.vector.utils import batch_space

from reasonenv.pixels import is_rgb

Value_co = TypeVar("Value_co", covariant=True)

# Latin, Greek, mathematics, CJK and emoji, so that samples break code that expects ASCII.
_ALPHABET = [chr(code) for code in range(0x20, 0x7F)] + list("\nαβπθ∠△√×÷±≤≥∞°²³−，。、数学🙂")


class _UnboundedSpace(Space[Value_co]):
    """All values of a type; two such spaces of one class are equal."""

    @property
    def is_np_flattenable(self) -> bool:
        """False: the values have no fixed size."""
        return False

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _BatchSpace(Tuple):
    """The space of sub-environments that are many and alike, with a short `repr`."""

    def __repr__(self) -> str:
        return f"Tuple({self.spaces[0]} x {len(self.spaces)})"


@batch_space.register(_UnboundedSpace)
def _batch(space: Space[Any], n: int = 1) -> _BatchSpace:
    """Gymnasium's own batch of a space, seeds included."""
    batch: Any = batch_space.dispatch(Space)(space, n)
    return _BatchSpace(batch.spaces)


class TextSpace(_UnboundedSpace[str]):
    """All strings: any alphabet, any length. Samples have at most 64 characters."""

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """A random string; masks and probabilities are not supported."""
        _check_unmasked(mask, probability)
        length = int(self.np_random.integers(0, 65))
        return "".join(_ALPHABET[i] for i in self.np_random.integers(len(_ALPHABET), size=length))

    def contains(self, x: Any) -> bool:
        """True if x is a string."""
        return isinstance(x, str)


class ImagesSpace(_UnboundedSpace[tuple[np.ndarray, ...]]):
    """All tuples of RGB images: any number, each [height, width, 3] uint8; see `pixels.is_rgb`.

    Samples hold at most three small images.
    """

    def sample(
        self, mask: Any | None = None, probability: Any | None = None
    ) -> tuple[np.ndarray, ...]:
        """Random images; masks and probabilities are not supported."""
        _check_unmasked(mask, probability)
        rng = self.np_random
        sizes = rng.integers(1, 33, size=(int(rng.integers(0, 4)), 2))
        return tuple(rng.integers(256, size=(h, w, 3), dtype=np.uint8) for h, w in sizes)

    def contains(self, x: Any) -> bool:
        """True if x is a tuple of RGB images."""
        return isinstance(x, tuple) and all(map(is_rgb, x))


def _check_unmasked(mask: Any | None, probability: Any | None) -> None:
    if mask is not None or probability is not None:
        raise ValueError("this space samples without mask or probability")
