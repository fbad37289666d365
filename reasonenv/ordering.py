"""The order in which the problems of a split are posed."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeGuard

import numpy as np

from reasonenv.console import warn
from reasonenv.errors import DataError, UsageError
from reasonenv.problem import Problem

# Problems left out that are logged, a line each; `left_out` has the others as well.
_NUM_LISTED = 10


class ProblemOrder:
    """An endless order of the problems of a split: the problem index at each position from 0 on.

    The index is a function of the seed and the position alone, so an order resumes at any
    position, and any number of ranks can share it. Every pass holds each problem once.

    Args:
        num_problems: Problems of the split, at least 1.
        seed: The permutation of a pass is drawn from the seed and the number of the pass.
        indices: Problems to repeat in this order instead; None for all, shuffled.
        subset: Problems to shuffle in place of all; one that stands twice comes twice a pass.
    """

    def __init__(
        self,
        num_problems: int,
        seed: int,
        indices: Sequence[int] | None = None,
        subset: Sequence[int] | None = None,
    ) -> None:
        self._seed = seed
        self.is_explicit = indices is not None
        """True for `indices`, of which none is replaced."""
        self._indices = _problem_numbers("indices", indices, num_problems)
        self._subset = _problem_numbers("subset", subset, num_problems) or range(num_problems)

    def pose(
        self, problems: Sequence[Problem], position: int, left_out: dict[int, str] | None
    ) -> tuple[int, Problem]:
        """Number and problem at a position, or at the first one after it that can be posed.

        A problem that is left out changes no other position, on any rank of a resumed run either.

        Args:
            problems: Of the split.
            position: From 0 on.
            left_out: Reasons by number, to which unreadable ones are added; None: they are errors.

        Raises:
            DataError: The problem cannot be read, or none can.
        """
        if left_out is None or self.is_explicit:
            return self[position], problems[self[position]]
        for place in range(position, position + 2 * len(self._subset)):  # a whole pass at least
            number = self[place]
            try:
                if number not in left_out:
                    return number, problems[number]
            except DataError as error:
                leave_out(left_out, number, str(error))
        raise DataError(f"no problem can be posed; one of them: {left_out[self[position]]}")

    def __getitem__(self, position: int) -> int:
        if self._indices is not None:
            return self._indices[position % len(self._indices)]
        pass_number, place = divmod(position, len(self._subset))
        return self._subset[_permutation(self._seed, pass_number, len(self._subset))[place]]


# A batch may span two passes, and a second order, such as an evaluation's, be in use.
@lru_cache(maxsize=4)
def _permutation(seed: int, pass_number: int, num_problems: int) -> np.ndarray:
    return np.random.default_rng([seed, pass_number]).permutation(num_problems)


def _problem_numbers(name: str, numbers: Any, num_problems: int) -> list[int] | None:
    if numbers is None:
        return None
    values = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
    if not isinstance(values, list | tuple | range) or not all(map(_is_whole, values)):
        value = " ".join(repr(numbers).split())
        advice = "give a list of the numbers of problems; those of a mask are"
        raise UsageError(f"{name}={value:.60}: {advice} numpy.flatnonzero(mask)")
    if not values:
        raise UsageError(f"{name}=[]: at least one problem is needed")
    outside = [number for number in values if not 0 <= number < num_problems]
    if outside:
        raise UsageError(f"index {outside[0]} in {name} is not in [0, {num_problems})")
    return [int(number) for number in values]


def _is_whole(value: object) -> TypeGuard[int]:
    """True for a whole number, which the truth values of a mask are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def parse_options(options: Mapping[str, Any] | None) -> tuple[dict[str, Any], int | None]:
    """The problems, `indices` or `subset`, and the `start` of a reset's options.

    Returns:
        Arguments of a `ProblemOrder`, empty where none is given, and the start or None.

    Raises:
        UsageError: For any other option, both kinds of problems, and a start that is no position.
    """
    problems = {name: value for name, value in (options or {}).items() if value is not None}
    start = problems.pop("start", None)
    for name in problems.keys() - {"indices", "subset"}:
        raise UsageError(f"unknown option {name!r} of reset: it takes indices, subset and start")
    if start is not None and (not _is_whole(start) or start < 0):
        raise UsageError(f"start={start!r}: a position of 0 or above is needed")
    if len(problems) == 2:
        raise UsageError("reset got indices and subset: give one of them")
    return problems, (None if start is None else int(start))


def leave_out(left_out: dict[int, str], number: int, reason: str) -> None:
    """Adds a problem to those that are left out, with a warning for the first `_NUM_LISTED`."""
    left_out[number] = reason
    if len(left_out) <= _NUM_LISTED:
        warn(f"left out: {reason}")
