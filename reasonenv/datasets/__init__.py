"""Rows of a hub data set, or of local files in the same format, as problems.

An environment describes its rows with a `Schema`, and converts a row to a `Problem`; the rest is
here. Text columns are in memory, images are read and decoded on access.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from reasonenv.datasets import hub, local
from reasonenv.datasets.images import decode, decode_all
from reasonenv.datasets.schema import (
    ANSWER,
    ANSWERS,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    InvalidRow,
    Kind,
    Row,
    Schema,
    Split,
    check_values,
)
from reasonenv.datasets.selection import (
    INVALID,
    ConcatRows,
    Subset,
    distinct_ids,
    has_images,
    listed,
    without_images,
)
from reasonenv.datasets.table import Table
from reasonenv.errors import DataError, UsageError
from reasonenv.problem import LazyProblems, Problem

VARIABLE = "REASONENV_DATA"
__all__ = [
    "ANSWER",
    "ANSWERS",
    "INVALID",
    "NUMBER",
    "OBJECT",
    "TEXT",
    "TEXTS",
    "VARIABLE",
    "ConcatRows",
    "Kind",
    "Row",
    "Rows",
    "Schema",
    "Split",
    "Subset",
    "decode",
    "distinct_ids",
    "has_images",
    "listed",
    "load",
    "without_images",
]


class Rows(LazyProblems):
    """Problems of a data set, made on access, which decodes their images.

    Args:
        table: The rows.
        convert: Function of a row to its problem without images; "row" is the row's number.
        schema: Schema of the data set.
        split: Name of the split.
    """

    def __init__(
        self, table: Table, convert: Callable[[Row], Problem], schema: Schema, split: str
    ) -> None:
        self._table, self._convert, self._schema = table, convert, schema
        self._name = f"{schema.name} {split}"

    def __len__(self) -> int:
        return len(self._table.rows)

    def keys(self) -> list[str]:
        """The keys of the rows as texts, where a row has none its number."""
        keys = (row.get(self._schema.key) for row in self._table.rows)
        return [str(index if key is None else key) for index, key in enumerate(keys)]

    def invalid_rows(self) -> dict[int, InvalidRow]:
        """Rows with empty columns or the id of an earlier row, by number; images are not read."""
        invalid: dict[int, InvalidRow] = {}
        first: dict[str, int] = {}
        for index, id in enumerate(self.keys()):
            place = f"{self._name}, row {index} (id {id!r})"
            if (row := first.setdefault(id, index)) != index:
                invalid[index] = InvalidRow(f"row {index}", f"{place}: row {row} has this id too")
            elif empty := self._schema.empty_column(self._table.rows[index]):
                invalid[index] = InvalidRow(id, f"{place}: column {empty!r} is empty")
        return invalid

    def make(self, index: int, with_images: bool) -> Problem:
        """The problem at an index."""
        index = self.wrap(index)
        row = {"row": index, **self._table.rows[index]}
        try:
            for name in (*self._schema.texts, *self._schema.values):
                if row.get(name) is None:
                    raise DataError(f"column {name!r} is empty")
            check_values(self._schema, row)
            problem = self._convert(row)
            if not problem.answer.strip():
                raise DataError("the answer is empty")
            if not with_images:
                return problem
            return replace(problem, images=decode_all(self._table.images(index)))
        except (ValueError, OSError) as error:
            name, reason = row.get(self._schema.key), str(error).partition("\n")[0]
            raise DataError(f"{self._name}, row {index} (id {name!r}): {reason}") from error


def load(
    schema: Schema,
    split: str,
    data: str | os.PathLike[str] | None,
    convert: Callable[[Row], Problem],
) -> Rows:
    """The problems of a split: from `data`, else from REASONENV_DATA, else from the hub.

    Args:
        schema: Schema of the data set.
        split: Name of the split.
        data: The folder of this data set, or a folder with a subfolder called `schema.name`.
        convert: Function of a row to its problem without images.

    Raises:
        MissingDataError: When the folder does not have the split.
        DataError: When a file or a column does not fit the schema.
        DownloadError: When the hub cannot be reached.
        UsageError: When `data` is no path.
    """
    if not isinstance(data, str | os.PathLike | None):
        raise UsageError(f"data is a {type(data).__name__}: {schema.name} is read from a folder")
    data = data or os.environ.get(VARIABLE)
    if data is None:
        return Rows(hub.hub_table(schema, split), convert, schema, split)
    return Rows(local.local_table(schema, split, Path(data)), convert, schema, split)
