"""The order in which the problems of a split are posed."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from reasonenv.errors import UsageError


class ProblemOrder:
    """An endless order of the problems of a split: the problem index at each position from 0 on.

    The index is a function of the seed and the position alone, so an order resumes at any
    position, and any number of ranks can share it. Every pass holds each problem once.

    Args:
        num_problems: Problems of the split, at least 1.
        seed: The permutation of a pass is drawn from the seed and the number of the pass.
        indices: Problems to repeat in this order instead; None for all, shuffled.
    """

    def __init__(self, num_problems: int, seed: int, indices: Sequence[int] | None = None) -> None:
        self._seed, self._num_problems = seed, num_problems
        self._indices = None if indices is None else _check_indices(indices, num_problems)

    def __getitem__(self, position: int) -> int:
        if self._indices is not None:
            return self._indices[position % len(self._indices)]
        pass_number, place = divmod(position, self._num_problems)
        return int(_permutation(self._seed, pass_number, self._num_problems)[place])


# A batch may span two passes, and a second order, such as an evaluation's, be in use.
@lru_cache(maxsize=4)
def _permutation(seed: int, pass_number: int, num_problems: int) -> np.ndarray:
    return np.random.default_rng([seed, pass_number]).permutation(num_problems)


def _check_indices(indices: Sequence[int], num_problems: int) -> list[int]:
    numbers = [int(index) for index in indices]
    if not numbers:
        raise UsageError("indices=[]: at least one problem is needed")
    outside = [index for index in numbers if not 0 <= index < num_problems]
    if outside:
        raise UsageError(f"index {outside[0]} in indices is not in [0, {num_problems})")
    return numbers


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
        raise UsageError(f"start={start!r}: a position of 0 or above is needed")
    if indices is not None and not isinstance(indices, Sequence | np.ndarray):
        raise UsageError(f"indices={indices!r}: a list of problem numbers is needed")
    return (None if indices is None else list(indices)), (None if start is None else int(start))
