"""The order in which the problems of a split are posed."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from reasonenv.errors import UsageError


class Walk:
    """Positions 0, 1, 2, ... of an endless walk through a split, as indices of its problems.

    What stands at a position is a function of the seed and the position alone, so a walk resumes
    anywhere, and any number of ranks can share it. Every pass visits each problem once.

    Args:
        num_problems: Problems of the split, at least 1.
        seed: Each pass has a permutation of its own, drawn from the seed and the pass.
        indices: These problems in this order instead, again and again; None for all, shuffled.
    """

    def __init__(self, num_problems: int, seed: int, indices: Sequence[int] | None = None) -> None:
        self._seed, self._num_problems = seed, num_problems
        self._indices = None if indices is None else _checked(indices, num_problems)

    def __getitem__(self, position: int) -> int:
        if self._indices is not None:
            return self._indices[position % len(self._indices)]
        pass_number, place = divmod(position, self._num_problems)
        return int(_permutation(self._seed, pass_number, self._num_problems)[place])


# A batch that ends one pass begins the next, so two are held, and a second walk may run beside.
@lru_cache(maxsize=4)
def _permutation(seed: int, pass_number: int, num_problems: int) -> np.ndarray:
    return np.random.default_rng([seed, pass_number]).permutation(num_problems)


def _checked(indices: Sequence[int], num_problems: int) -> list[int]:
    checked = [int(index) for index in indices]
    if not checked:
        raise UsageError("indices=[]: at least one problem is needed")
    outside = [index for index in checked if not 0 <= index < num_problems]
    if outside:
        raise UsageError(f"index {outside[0]} in indices is not in [0, {num_problems})")
    return checked


def parse_options(options: Mapping[str, object] | None) -> tuple[list[int] | None, int | None]:
    """The `indices` and `start` of a reset's options, either None when it is not given.

    Raises:
        UsageError: For any other option, and for a start below 0.
    """
    options = options or {}
    unknown = sorted(set(options) - {"indices", "start"})
    if unknown:
        raise UsageError(f"unknown option {unknown[0]!r} of reset: it takes indices and start")
    indices, start = options.get("indices"), options.get("start")
    if start is not None and (not isinstance(start, int | np.integer) or start < 0):
        raise UsageError(f"start={start!r}: a position of the walk is needed, 0 or above")
    if indices is not None and not isinstance(indices, Sequence | np.ndarray):
        raise UsageError(f"indices={indices!r}: a list of problem numbers is needed")
    return (None if indices is None else list(indices)), (None if start is None else int(start))
