"""Selection of problems of a split: by metadata, without some ids, held out."""

import json
import shlex
import zlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any

import numpy as np

from reasonenv.console import warn_once
from reasonenv.datasets.schema import InvalidRow
from reasonenv.errors import DataError, RowsError, UsageError
from reasonenv.problem import LazyProblems, Problem

_Filter = Mapping[str, Any]
_Siblings = Callable[[], Iterable[Sequence[Problem]]]

INVALID = "invalid"
"""Value of `without` that leaves out all rows that make no problem."""
_LISTED = 10
# Metadata of generated problems require drawing each of them.
_MOST = 200_000


class Subset(LazyProblems):
    """Some problems of a sequence, in its order, made on access."""

    def __init__(self, problems: Sequence[Problem], indices: Sequence[int] | np.ndarray) -> None:
        self._problems, self._indices = problems, indices

    def __len__(self) -> int:
        return len(self._indices)

    def make(self, index: int, with_images: bool) -> Problem:
        """The problem at an index."""
        number = int(self._indices[index])
        return self._problems[number] if with_images else without_images(self._problems, number)

    def invalid_rows(self) -> dict[int, InvalidRow]:
        """Those of the sequence that are among these, by number."""
        if not (rows := invalid_rows_of(self._problems)):
            return {}
        return {place: rows[i] for place, i in enumerate(self._indices) if i in rows}


class ConcatRows(LazyProblems):
    """The concatenated problems of several sequences, such as data sets."""

    def __init__(self, parts: Sequence[Sequence[Problem]]) -> None:
        self._parts = parts
        self._starts = [0, *accumulate(map(len, parts))]

    def __len__(self) -> int:
        return self._starts[-1]

    def make(self, index: int, with_images: bool) -> Problem:
        """The problem at an index."""
        index = self.wrap(index)
        number = bisect_right(self._starts, index) - 1
        part, row = self._parts[number], index - self._starts[number]
        return part[row] if with_images else without_images(part, row)

    def invalid_rows(self) -> dict[int, InvalidRow]:
        """Those of the parts, by number."""
        return {
            start + row: invalid
            for start, part in zip(self._starts, self._parts, strict=False)
            for row, invalid in invalid_rows_of(part).items()
        }


def without_images(problems: Sequence[Problem], index: int) -> Problem:
    """A problem, without its images where they would have to be read."""
    method: Callable[[int], Problem] | None = getattr(problems, "without_images", None)
    return problems[index] if method is None else method(index)


def has_images(problems: Sequence[Problem]) -> bool:
    """True if one of the first problems, of those that can be read, has an image."""
    for index in range(min(len(problems), 16)):
        with suppress(DataError):
            if problems[index].images:
                return True
    return False


def invalid_rows_of(problems: Sequence[Problem]) -> dict[int, InvalidRow]:
    """Rows of data that make no problem, by number; images are not read."""
    return getattr(problems, "invalid_rows", dict)()


def distinct_ids(problems: Sequence[Problem], count: int) -> list[str | None]:
    """The ids of the first problems, None for one that cannot be read.

    Raises:
        UsageError: Two have one id, so that they would count as samples of one problem.
    """
    ids: list[str | None] = [None] * count
    first: dict[str, int] = {}
    for index in range(count):
        with suppress(DataError):
            id = ids[index] = without_images(problems, index).id
            if first.setdefault(id, index) != index:
                raise UsageError(
                    f"problems {first[id]} and {index} have the id {id!r}, as samples of one have: "
                    "give each an id of its own, or take the split 'test' of a mixture"
                )
    return ids


def select(
    problems: Sequence[Problem],
    filter: _Filter | None = None,
    without: Collection[str] = (),
    keep: Callable[[str], bool] | None = None,
    siblings: _Siblings = tuple,
    cluster: str = "",
) -> Sequence[Problem]:
    """The problems that pass the filters, and rows of `invalid_rows` that are not left out.

    Args:
        problems: To choose from.
        filter: Metadata -> the value or values to keep, such as {"subject": ["algebra"],
            "level": [1, 2]}; of metadata that is a list, one element is enough. Values are
            compared as text.
        without: Ids of problems to exclude, or "invalid" for all rows that make no problem.
        keep: Predicate of ids to keep, or of clusters, whose problems stay together.
        siblings: Gives the problems of other splits, whose ids may be in `without` too.
        cluster: Metadata that is the cluster of a problem.

    Raises:
        UsageError: In one line, for metadata or an id that no problem has, or when none is left.
    """
    if without == INVALID:
        problems, without = _without_rows(problems, invalid_rows_of(problems)), ()
    if not (filter or without or keep):
        return problems
    if len(problems) > _MOST:
        raise UsageError(
            f"there are {len(problems)} problems, too many to filter one by one: choose with the "
            "environment's own arguments"
        )
    candidates = _rows(problems)
    valid = [each for each in candidates if isinstance(each, Problem)]
    allowed = _allowed_values(filter or {}, valid)
    _check_ids(without, {each.id for each in candidates}, siblings)
    excluded = set(without)

    def is_kept(row: Problem | InvalidRow) -> bool:
        key = row.metadata.get(cluster) if isinstance(row, Problem) else None
        key = row.id if key in (None, "") else str(key)
        if row.id in excluded or (keep is not None and not keep(key)):
            return False
        return isinstance(row, InvalidRow) or all(
            _texts(row.metadata.get(name)) & texts for name, texts in allowed.items()
        )

    indices = [index for index, row in enumerate(candidates) if is_kept(row)]
    if not indices:
        raise UsageError(f"no problem is left: filter={filter!r}, without={list(without)!r}")
    return Subset(problems, indices)


def held_out(fraction: float, inside: bool) -> Callable[[str], bool]:
    """Predicate of ids or clusters of the held-out part, or of the rest, by their checksum.

    Args:
        fraction: About the share that is held out, in (0, 1).
        inside: True for that part, False for the rest.

    Raises:
        UsageError: For a fraction out of range.
    """
    if not isinstance(fraction, int | float) or not 0 < fraction < 1:
        raise UsageError(f"holdout={fraction!r}: a fraction between 0 and 1 is needed")
    share = fraction * 2**32
    return lambda id: (zlib.crc32(id.encode("utf-8", "surrogatepass")) < share) == inside


def _without_rows(problems: Sequence[Problem], rows: Mapping[int, InvalidRow]) -> Sequence[Problem]:
    for line in listed([row.line for row in rows.values()]):
        warn_once(f"left out: {line}")
    valid = (index for index in range(len(problems)) if index not in rows)
    return Subset(problems, list(valid)) if rows else problems


def _allowed_values(filter: _Filter, problems: Collection[Problem]) -> dict[str, set[str]]:
    if not isinstance(filter, Mapping):
        raise UsageError(f"filter={filter!r}: give names and values, such as {{'level': [1, 2]}}")
    names = {name for problem in problems for name in problem.metadata}
    for name in filter:
        if name not in names:
            choices = ", ".join(sorted(names)) or "nothing"
            raise UsageError(f"filter: no problem has {name!r}: there is {choices}")
    return {name: _texts(value) for name, value in filter.items()}


def _texts(value: object) -> set[str]:
    """The values as texts, as a command line gives them."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        return {str(each) for each in value}
    return {str(value)}


def _check_ids(without: Collection[str], ids: set[str], siblings: _Siblings) -> None:
    if isinstance(without, str):
        raise UsageError(f"without={without!r}: give a list of ids, or {INVALID!r}")
    if not ids.issuperset(without):
        ids = ids.union(row.id for each in siblings() if len(each) <= _MOST for row in _rows(each))
    for id in without:
        if id not in ids:
            raise UsageError(f"without: no problem is called {id!r}")


def _rows(problems: Sequence[Problem]) -> list[Problem | InvalidRow]:
    """The problems without images, and rows that make none."""
    rows = invalid_rows_of(problems)
    return [rows[i] if i in rows else without_images(problems, i) for i in range(len(problems))]


def check_rows(problems: Sequence[Problem]) -> None:
    """Raises DataError for rows that make no problem; see `listed`."""
    invalid = list(dict.fromkeys(invalid_rows_of(problems).values()))
    if len(invalid) == 1:
        ids = [invalid[0].id]
        option = shlex.quote(json.dumps({"without": ids}, ensure_ascii=False))
        raise DataError(
            f"{invalid[0].line}; it is left out by without={ids}, --env-options {option}"
        )
    if invalid:
        lines = listed([row.line for row in invalid])
        option = f'without={INVALID!r}, --env-options \'{{"without": "{INVALID}"}}\''
        raise RowsError(
            f"{len(invalid)} rows make no problem:",
            *lines,
            f"correct them, or leave them out by {option}",
        )


def listed(lines: Sequence[str]) -> list[str]:
    """The first ten lines, and one that counts the others."""
    others = [f"and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    return [*lines[:_LISTED], *others]
