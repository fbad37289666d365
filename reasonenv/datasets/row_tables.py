"""Tables of rows: text columns in memory, images read on access."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

from reasonenv.errors import DataError

PlacedImage = tuple[str, Mapping[str, Any] | Path | None]
"""The column or file of an image in words, and the image before decoding: {bytes, path}, a file, or
None where it is missing."""


class Table(Protocol):
    """Rows of text and images by number."""

    def __len__(self) -> int: ...

    def words(self, index: int) -> dict[str, Any]:
        """A row without its images."""
        ...

    def images(self, index: int) -> tuple[PlacedImage, ...]:
        """The images of a row, not decoded."""
        ...

    def column(self, name: str) -> Iterable[Any]:
        """The values of a text column, in the order of the rows; None where it is absent."""
        ...


class MemoryTable:
    """Rows in memory, with their images in files.

    Args:
        rows: Without images.
        images: Of each row, in the same order.
    """

    def __init__(
        self, rows: Sequence[dict[str, Any]], images: Sequence[tuple[PlacedImage, ...]]
    ) -> None:
        self._rows, self._images = rows, images

    def __len__(self) -> int:
        return len(self._rows)

    def words(self, index: int) -> dict[str, Any]:
        """A row without its images."""
        return self._rows[index]

    def images(self, index: int) -> tuple[PlacedImage, ...]:
        """The files of the images of a row."""
        return self._images[index]

    def column(self, name: str) -> Iterable[Any]:
        """The values of a column, None where a row lacks it."""
        return (row.get(name) for row in self._rows)


class ConcatTable:
    """The concatenated rows of several tables."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables = tables
        self._starts = [0, *accumulate(len(table) for table in tables)]

    def __len__(self) -> int:
        return self._starts[-1]

    def words(self, index: int) -> dict[str, Any]:
        """A row without its images."""
        table, row = self._find(index)
        return table.words(row)

    def images(self, index: int) -> tuple[PlacedImage, ...]:
        """The images of a row, not decoded."""
        table, row = self._find(index)
        return table.images(row)

    def column(self, name: str) -> Iterable[Any]:
        """The values of a text column, table by table."""
        return (value for table in self._tables for value in table.column(name))

    def _find(self, index: int) -> tuple[Table, int]:
        number = bisect_right(self._starts, index) - 1
        return self._tables[number], index - self._starts[number]


def first_rows(batch: Any, path: Sequence[str], values_so_far: set[str]) -> list[int]:
    """The rows of a batch whose value at `path` is not in `values_so_far`; adds their values.

    A list in the path must have one element in every row.
    """
    import numpy as np
    from pyarrow import types

    values = batch.column(path[0])
    for name in path[1:]:
        if types.is_list(values.type) or types.is_large_list(values.type):
            if set(values.value_lengths().to_numpy(zero_copy_only=False)) - {1}:
                raise DataError(f"column {path[0]!r} has a row of more or less than one element")
            values = values.flatten()
        values = values.field(name)
    encoded = values.dictionary_encode()
    # Entries of a dictionary are numbered by first occurrence: unique numbers keep this order.
    _, rows = np.unique(encoded.indices.to_numpy(zero_copy_only=False), return_index=True)
    firsts = zip(encoded.dictionary.to_pylist(), rows.tolist(), strict=True)
    fresh = {value: row for value, row in firsts if value not in values_so_far}
    values_so_far.update(fresh)
    return list(fresh.values())
