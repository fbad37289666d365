"""Rows of a Parquet file, without reading more of it than is asked for."""

import os
import tempfile
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from reasonenv.datasets.schema import Source, check_columns
from reasonenv.datasets.tables import Cell, first_rows
from reasonenv.errors import DataError

GROUP_BYTES = 64 * 2**20
"""Row groups whose images are larger than this are laid out on disk, not held in memory."""
_GROUPS_HELD = 2
_BATCH_ROWS = 16
_BUFFER_BYTES = 2**20


class Parquet:
    """Rows of a Parquet file: its words in memory, its images by row group.

    The last few row groups are held in memory. One too large for that is laid out once in a
    temporary file, which is mapped into memory, so that any of its rows is at hand.

    Args:
        path: The file.
        source: Which columns are images, and whether equal rows are left out; those are never all
            in memory.

    Raises:
        DataError: When it is no such file, or a column is not what it should be.
    """

    def __init__(self, path: Path, source: Source) -> None:
        from pyarrow import ArrowException, parquet

        self._arguments = path, source
        try:
            # Piece by piece, not ahead: a column of images may be larger than memory.
            self._file = parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        except (ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise DataError(f"{path} is not a readable parquet file: {reason}") from None
        schema = self._file.schema_arrow
        renamed = source.renamed(schema.names)
        kinds: dict[str, str] = {
            str(renamed.get(name, name)): str(schema.field(name).type) for name in schema.names
        }
        check_columns(source, str(path), kinds)
        known = (*source.images, *source.more_images)
        self._image_names = [name for name in known if "bytes" in kinds.get(name, "")]
        self._needed = set(source.images)
        texts = [name for name in schema.names if name not in self._image_names]
        try:
            words, self._origin = _words(self._file, texts, source.unique)
        except (ArrowException, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise DataError(f"{path} cannot be read: {reason}") from None
        self._words = words.rename_columns([renamed.get(name, name) for name in texts])
        metadata = self._file.metadata
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        self._starts = [0, *accumulate(sizes)]
        self._groups: OrderedDict[int, Any] = OrderedDict()

    def __reduce__(self) -> tuple[Any, ...]:
        """An open file does not travel to another process; its name does."""
        return Parquet, self._arguments

    def __len__(self) -> int:
        return self._words.num_rows

    def words(self, index: int) -> dict[str, Any]:
        """A row without its images."""
        return self._words.slice(index, 1).to_pylist()[0]

    def images(self, index: int) -> tuple[Cell, ...]:
        """The images of a row, {bytes, path} each."""
        if not self._image_names:
            return ()
        index = index if self._origin is None else self._origin[index]
        group = bisect_right(self._starts, index) - 1
        row = self._group(group).row(index - self._starts[group])
        return tuple(cell for name, cell in row.items() if cell or name in self._needed)

    def column(self, name: str) -> Iterable[Any]:
        """The values of a column of words."""
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
        # What is on disk costs no memory; of what is in memory, the last used is kept.
        held = [number for number, made in self._groups.items() if not made.on_disk]
        for number in held[:-_GROUPS_HELD]:
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
    """The columns of words, and where in the file their rows stand; None for all of them."""
    if not unique:
        return file.read(columns=texts), None
    import pyarrow

    seen: set[str] = set()
    batches, origin, start = [], [], 0
    for batch in file.iter_batches(columns=texts):
        rows = first_rows(batch, unique, seen)
        if rows:
            batches.append(batch.take(pyarrow.array(rows)))
            origin += [start + row for row in rows]
        start += batch.num_rows
    schema = pyarrow.schema([file.schema_arrow.field(name) for name in texts])
    return pyarrow.Table.from_batches(batches, schema), origin


def _on_disk(batches: Iterable[Any]) -> list[Any]:
    """The same batches out of a file, mapped into memory, that is gone with this process."""
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
        # What was read on the way is not wanted again, and allocators like to keep it.
        pyarrow.default_memory_pool().release_unused()
        reader = pyarrow.ipc.open_file(pyarrow.memory_map(name))
        return [reader.get_batch(number) for number in range(reader.num_record_batches)]
    finally:
        # The pages stay until nobody maps them; on Windows the file stays with them.
        if os.name == "posix":
            os.unlink(name)
