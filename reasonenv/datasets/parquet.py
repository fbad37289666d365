"""Rows of a Parquet file, its images read on access."""

import os
import tempfile
import threading
import weakref
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from reasonenv.datasets.row_tables import PlacedImage, first_rows
from reasonenv.datasets.schema import Schema, check_columns
from reasonenv.errors import DataError
from reasonenv.files import check_regular

GROUP_BYTES = 64 * 2**20
"""Row groups with more bytes of images are written to a temporary file, not held in memory."""
_GROUPS_IN_MEMORY = 2
_BATCH_ROWS = 16
_BUFFER_BYTES = 2**20
_TABLES: "weakref.WeakSet[ParquetTable]" = weakref.WeakSet()


def _after_fork() -> None:
    """Renews the locks of a forked process, which has none of the threads that may hold them."""
    for table in _TABLES:
        table._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


class ParquetTable:
    """Rows of a Parquet file: its text columns in memory, its images by row group.

    The last few row groups are held in memory. One too large for that is written once to a
    temporary file, which is mapped into memory. Any thread may read any row.

    Args:
        path: The file.
        schema: Its image columns and unique values.

    Raises:
        DataError: When it is no Parquet file, or a column is missing or of another type.
    """

    def __init__(self, path: Path, schema: Schema) -> None:
        from pyarrow import ArrowException, parquet

        self._arguments = check_regular(path), schema
        try:
            # No read-ahead: a column of images may be larger than memory.
            self._file = parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        except (ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise DataError(f"{path} is not a readable parquet file: {reason}") from None
        fields = self._file.schema_arrow
        renaming = schema.renaming(fields.names)
        kinds: dict[str, str] = {
            str(renaming.get(name, name)): str(fields.field(name).type) for name in fields.names
        }
        check_columns(schema, str(path), kinds)
        columns = (*schema.images, *schema.more_images)
        self._image_names = [name for name in columns if "binary" in kinds.get(name, "")]
        self._needed = set(schema.images)
        texts = [name for name in fields.names if name not in self._image_names]
        try:
            words, self._origin = _words(self._file, texts, schema.unique)
        except (ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise DataError(f"{path} cannot be read: {reason}") from None
        self._words = words.rename_columns([renaming.get(name, name) for name in texts])
        metadata = self._file.metadata
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        self._starts = [0, *accumulate(sizes)]
        self._groups: OrderedDict[int, Any] = OrderedDict()
        # Of the groups and of the file, which one thread at a time may read.
        self._lock = threading.Lock()
        _TABLES.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the path: an open file cannot go to another process."""
        return ParquetTable, self._arguments

    def __len__(self) -> int:
        return self._words.num_rows

    def words(self, index: int) -> dict[str, Any]:
        """A row without its images."""
        return self._words.slice(index, 1).to_pylist()[0]

    def images(self, index: int) -> tuple[PlacedImage, ...]:
        """The images of a row, {bytes, path} each, with their places."""
        cells = self.image_cells(index).items()
        cells = {name: cell for name, cell in cells if cell or name in self._needed}
        return tuple((f"column {name!r}", cell) for name, cell in cells.items())

    def image_cells(self, index: int) -> dict[str, Any]:
        """The values of the image columns of a row."""
        if not self._image_names:
            return {}
        index = index if self._origin is None else self._origin[index]
        group = bisect_right(self._starts, index) - 1
        with self._lock:
            images = self._group(group)
        return images.row(index - self._starts[group])

    def column(self, name: str) -> Iterable[Any]:
        """The values of a text column."""
        if name not in self._words.column_names:
            return [None] * len(self)
        return self._words.column(name).to_pylist()

    def _group(self, group: int) -> "_Group":
        if group in self._groups:
            self._groups.move_to_end(group)
            return self._groups[group]
        large = self._image_bytes(group) > GROUP_BYTES
        batches = self._file.iter_batches(_BATCH_ROWS, [group], self._image_names)
        self._groups[group] = _Group(_on_disk(batches) if large else list(batches), large)
        # Groups on disk cost no memory; of those in memory, the last used ones are kept.
        in_memory = [number for number, each in self._groups.items() if not each.on_disk]
        for number in in_memory[:-_GROUPS_IN_MEMORY]:
            del self._groups[number]
        return self._groups[group]

    def _image_bytes(self, group: int) -> int:
        metadata = self._file.metadata.row_group(group)
        columns = (metadata.column(number) for number in range(metadata.num_columns))
        return sum(
            column.total_uncompressed_size
            for column in columns
            if column.path_in_schema.partition(".")[0] in self._image_names
        )


class _Group:
    """The images of a row group in batches."""

    def __init__(self, batches: Sequence[Any], on_disk: bool) -> None:
        self._batches, self.on_disk = batches, on_disk
        self._starts = [0, *accumulate(batch.num_rows for batch in batches)]

    def row(self, index: int) -> dict[str, Any]:
        number = bisect_right(self._starts, index) - 1
        return self._batches[number].slice(index - self._starts[number], 1).to_pylist()[0]


def _words(file: Any, texts: list[str], unique: Sequence[str]) -> tuple[Any, list[int] | None]:
    """The text columns, and the numbers of their rows in the file; None for all rows."""
    if not unique:
        return file.read(columns=texts), None
    import pyarrow

    values: set[str] = set()
    batches, origin, start = [], [], 0
    for batch in file.iter_batches(columns=texts):
        rows = first_rows(batch, unique, values)
        if rows:
            batches.append(batch.take(pyarrow.array(rows)))
            origin += [start + row for row in rows]
        start += batch.num_rows
    schema = pyarrow.schema([file.schema_arrow.field(name) for name in texts])
    return pyarrow.Table.from_batches(batches, schema), origin


def _on_disk(batches: Iterable[Any]) -> list[Any]:
    """The same batches from a temporary file, mapped into memory and removed with this process."""
    import pyarrow

    handle, name = tempfile.mkstemp(prefix="reasonenv-", suffix=".arrow")
    try:
        with os.fdopen(handle, "wb") as stream:
            writer = None
            for batch in batches:
                writer = writer or pyarrow.ipc.new_file(stream, batch.schema)
                writer.write_batch(batch)
            if writer is not None:
                writer.close()
        # The batches in memory are not needed again, and allocators would keep them.
        pyarrow.default_memory_pool().release_unused()
        reader = pyarrow.ipc.open_file(pyarrow.memory_map(name))
        return [reader.get_batch(number) for number in range(reader.num_record_batches)]
    finally:
        # On POSIX the pages stay until unmapped; on Windows a mapped file cannot be removed.
        if os.name == "posix":
            os.unlink(name)
