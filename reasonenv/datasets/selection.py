"""A part of the problems of a split: by subject or difficulty, without some, held out."""

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from reasonenv.datasets.schema import Fault
from reasonenv.errors import DataError, UsageError
from reasonenv.problem import Problem

Filter = Mapping[str, Any]

# Metadata of generated problems are known only once each is drawn.
_MOST = 200_000


class Selected(Sequence[Problem]):
    """Some problems of a sequence, in its order; none is made before it is asked for."""

    def __init__(self, problems: Sequence[Problem], indices: Sequence[int]) -> None:
        self._problems, self._indices = problems, indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> list[Problem]: ...
    def __getitem__(self, index: int | slice) -> Problem | list[Problem]:
        if isinstance(index, slice):
            return [self._problems[i] for i in self._indices[index]]
        return self._problems[self._indices[index]]

    def __iter__(self) -> Iterator[Problem]:
        return (self._problems[index] for index in self._indices)

    def outline(self, index: int) -> Problem:
        """A problem without its images, where they need not be read."""
        return outline(self._problems, self._indices[index])


def outline(problems: Sequence[Problem], index: int) -> Problem:
    """A problem, without its images where they would have to be read."""
    lean: Callable[[int], Problem] | None = getattr(problems, "outline", None)
    return problems[index] if lean is None else lean(index)


def select(
    problems: Sequence[Problem],
    filter: Filter | None = None,
    without: Collection[str] = (),
    keep: Callable[[str], bool] | None = None,
) -> Sequence[Problem]:
    """The problems that fit, or an error that says why there are none.

    Args:
        problems: To choose from.
        filter: Metadata -> the value or values wanted, such as {"subject": ["algebra"],
            "level": [1, 2]}; of metadata that is a list, one element is enough. A value is
            compared as text.
        without: Ids of problems to leave out.
        keep: Whether a problem with this id is wanted.

    Raises:
        UsageError: In one line, for metadata or an id that no problem has, or when none is left.
    """
    faults: Mapping[int, Fault] = problems.faults() if hasattr(problems, "faults") else {}  # pyright: ignore[reportAttributeAccessIssue]
    if not (filter or without or keep):
        _check_faults(faults.values())
        return problems
    if len(problems) > _MOST:
        raise UsageError(
            f"there are {len(problems)} problems, too many to look at each: choose with the "
            "environment's own arguments"
        )
    whole = (index for index in range(len(problems)) if index not in faults)
    outlines = {index: outline(problems, index) for index in whole}
    wanted = _wanted(filter or {}, outlines.values())
    _check_ids(without, {each.id for each in (*outlines.values(), *faults.values())})
    left_out = set(without)

    def is_kept(id: str) -> bool:
        return id not in left_out and (keep is None or keep(id))

    _check_faults(fault for fault in faults.values() if is_kept(fault.id))
    indices = [
        index
        for index, problem in outlines.items()
        if is_kept(problem.id)
        and all(_texts(problem.metadata.get(name)) & texts for name, texts in wanted.items())
    ]
    if not indices:
        raise UsageError(f"no problem is left: filter={filter!r}, without={list(without)!r}")
    return Selected(problems, indices)


def held_out(fraction: float, inside: bool) -> Callable[[str], bool]:
    """Whether a problem is in the part held out, or in the rest: told by its id alone.

    Args:
        fraction: About how much is held out, in (0, 1).
        inside: True for that part, False for the rest.

    Raises:
        UsageError: For a fraction out of range.
    """
    if not isinstance(fraction, int | float) or not 0 < fraction < 1:
        raise UsageError(f"holdout={fraction!r}: a fraction between 0 and 1 is needed")
    return lambda id: (zlib.crc32(id.encode()) < fraction * 2**32) == inside


def _wanted(filter: Filter, outlines: Collection[Problem]) -> dict[str, set[str]]:
    if not isinstance(filter, Mapping):
        raise UsageError(f"filter={filter!r}: give names and values, such as {{'level': [1, 2]}}")
    there = {name for problem in outlines for name in problem.metadata}
    for name in filter:
        if name not in there:
            known = ", ".join(sorted(there)) or "nothing"
            raise UsageError(f"filter: no problem has {name!r}: there is {known}")
    return {name: _texts(value) for name, value in filter.items()}


def _texts(value: object) -> set[str]:
    """The values as texts, so that those of a command line fit."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        return {str(each) for each in value}
    return {str(value)}


def _check_ids(without: Collection[str], known: Collection[str]) -> None:
    if isinstance(without, str):
        raise UsageError(f"without={without!r}: give a list of ids")
    for id in without:
        if id not in known:
            raise UsageError(f"without: no problem is called {id!r}")


def _check_faults(faults: Iterable[Fault]) -> None:
    """An error about the first row that is not whole and not left out."""
    for fault in faults:
        raise DataError(f"{fault.line}; without=[{fault.id!r}] leaves it out")
