"""Rows of a hub data set, or of local files in the same format, as problems.

A module of an environment says what its rows look like with a `Source`, and makes a `Problem` of
a row; the rest is here. Words are at hand, images are read and decoded when a problem is asked
for.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from reasonenv.datasets import hub, local
from reasonenv.datasets.images import decode
from reasonenv.datasets.schema import Fault, Row, Source, Split
from reasonenv.datasets.tables import Table
from reasonenv.errors import DataError
from reasonenv.problem import Problem

VARIABLE = "REASONENV_DATA"
__all__ = ["VARIABLE", "Pool", "Row", "Rows", "Source", "Split", "load"]


class Rows(Sequence[Problem]):
    """Problems of a data set, made when they are asked for: no image is decoded before.

    Args:
        table: The rows.
        convert: One row to its problem without images; "row" is the row's number in the split.
        source: What they are rows of.
        split: Which part of it.
    """

    def __init__(
        self, table: Table, convert: Callable[[Row], Problem], source: Source, split: str
    ) -> None:
        self._table, self._convert, self._source = table, convert, source
        self._name = f"{source.name} {split}"

    def __len__(self) -> int:
        return len(self._table)

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> list[Problem]: ...
    def __getitem__(self, index: int | slice) -> Problem | list[Problem]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._problem(index, with_images=True)

    def __iter__(self) -> Iterator[Problem]:
        return (self[index] for index in range(len(self)))

    def outline(self, index: int) -> Problem:
        """A problem without its images, which are not even read."""
        return self._problem(index, with_images=False)

    def keys(self) -> list[str]:
        """What tells the rows apart in their source, as texts."""
        return [str(key) for key in self._table.column(self._source.key)]

    def faults(self) -> dict[int, Fault]:
        """What is wrong with rows as far as it can be told without reading their images."""
        empty: dict[int, str] = {}
        for name in (*self._source.texts, *self._source.values):
            for index, value in enumerate(self._table.column(name)):
                if value is None or (name == self._source.answer and _is_blank(value)):
                    empty[index] = name
        return {
            index: self._fault(index, f"column {name!r} is empty") for index, name in empty.items()
        }

    def _fault(self, index: int, reason: str) -> Fault:
        name = self._table.words(index).get(self._source.key)
        id = str(index) if name is None else str(name)
        return Fault(id, f"{self._name}, row {index} (id {id!r}): {reason}")

    def _problem(self, index: int, with_images: bool) -> Problem:
        if not -len(self) <= index < len(self):
            raise IndexError(f"row {index} of {self._name}: there are {len(self)}")
        index %= len(self)
        row: Row = {}
        try:
            row = {"row": index, **self._table.words(index)}
            problem = self._convert(row)
            if not problem.answer.strip():
                raise DataError("the answer is empty")
            if not with_images:
                return problem
            images = tuple(decode(cell) for cell in self._table.images(index))
            return replace(problem, images=images)
        except (ValueError, OSError) as error:
            name, reason = row.get(self._source.key), str(error).partition("\n")[0]
            raise DataError(f"{self._name}, row {index} (id {name!r}): {reason}") from error


class Pool(Sequence[Problem]):
    """The problems of several parts, one part after the other."""

    def __init__(self, parts: Sequence[Rows]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> list[Problem]: ...
    def __getitem__(self, index: int | slice) -> Problem | list[Problem]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        part, row = self._find(index)
        return part[row]

    def __iter__(self) -> Iterator[Problem]:
        return (problem for part in self._parts for problem in part)

    def outline(self, index: int) -> Problem:
        """A problem without its images, which are not even read."""
        part, row = self._find(index)
        return part.outline(row)

    def faults(self) -> dict[int, Fault]:
        """What is wrong with rows as far as it can be told without reading their images."""
        found, start = {}, 0
        for part in self._parts:
            found |= {start + row: fault for row, fault in part.faults().items()}
            start += len(part)
        return found

    def _find(self, index: int) -> tuple[Rows, int]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"problem {index}: there are {len(self)}")
        index %= len(self)
        for part in self._parts:
            if index < len(part):
                return part, index
            index -= len(part)
        raise AssertionError("unreachable: the index is within the length")


def load(
    source: Source,
    split: str,
    data: str | os.PathLike[str] | None,
    convert: Callable[[Row], Problem],
) -> Rows:
    """The problems of a split: from `data`, else from REASONENV_DATA, else from the hub.

    Args:
        source: What to read.
        split: Name of the split.
        data: The folder of this data set, or a folder with a subfolder called `source.name`.
        convert: One row to its problem without images.

    Raises:
        MissingDataError: When the folder does not have the split.
        DataError: When a file or a column is not what it should be.
        DownloadError: When the hub cannot be reached.
    """
    data = data or os.environ.get(VARIABLE)
    table = hub.table(source, split) if data is None else local.table(source, split, Path(data))
    return Rows(table, convert, source, split)


def _is_blank(value: Any) -> bool:
    """Whether there is nothing in an answer."""
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, Sequence) and all(map(_is_blank, value))
