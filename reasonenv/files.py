"""Files: rows of JSON, CSV and Parquet, each fault in one line, and atomic replacement."""

import csv
import gzip
import io
import json
import os
import secrets
import stat
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from reasonenv.errors import DataError, UsageError

LONGEST_LINE = 2**26
"""Bytes of a line at most: many times the longest response of a model."""
_ROW_KEYS = frozenset({"question", "answer", "response"})
"""An object of JSON with one of these keys is a row itself, and not an object of rows by id."""


def check_regular(path: Path) -> Path:
    """The path itself, of a file or of a link to one.

    Raises:
        DataError: For a folder, and for pipes, devices and sockets, which may never end.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise DataError(f"{path} is a pipe, a device or a folder: a regular file was expected")
    return path


def read_regular(path: Path, limit: int | None = None) -> bytes:
    """The content of a regular file.

    Args:
        path: The file.
        limit: Bytes at most; None for any number.

    Raises:
        DataError: For a larger file, a pipe, a device, a socket or a folder.
    """
    with check_regular(path).open("rb") as file:
        content = file.read() if limit is None else file.read(limit + 1)
    if limit is not None and len(content) > limit:
        raise DataError(f"{path} is too large: at most {limit:,} bytes are read")
    return content


def unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs, as `object_pairs_hook` of a decoder; ValueError for a repetition.

    JSON leaves open which of several values of a key counts.
    """
    if len(values := dict(pairs)) < len(pairs):
        ((key, count),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {key!r:.40} comes {count} times")
    return values


def parse_json(text: str | bytes, where: object = "it is not JSON") -> Any:
    """The value of a text of JSON, in which a key comes once.

    Args:
        text: The text.
        where: Beginning of the line of an error: file, line or column.

    Raises:
        DataError: For other text, a number of thousands of digits, or too deep a nesting.
    """
    try:
        return json.loads(text, object_pairs_hook=unique_keys)
    except RecursionError:
        raise DataError(f"{where}: it is nested too deeply") from None
    except ValueError as error:
        # Of Python's limit of digits, the advice is for programmers.
        raise DataError(f"{where}: {str(error).partition(';')[0]}") from None


@dataclass(frozen=True)
class FileRow:
    """A row of a file.

    Args:
        number: Of the line, or among the rows, from 1.
        value: The row, of any type of JSON; or why it cannot be read, in words that follow a place.
        key: Its key where the rows are the values of an object.
        unit: Word for what is numbered: "line" or "row".
    """

    number: int
    value: Any
    key: str | None = None
    unit: str = "row"

    @property
    def place(self) -> str:
        """Its place in the file, "line 3"."""
        return f"{self.unit} {self.number}"

    def read(self, path: Path) -> Any:
        """The value; DataError, with the file and the place, for a row that cannot be read."""
        if isinstance(self.value, DataError):
            raise DataError(f"{path}, {self.place}: {self.value}")
        return self.value


def read_objects(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file one by one, all of which must be objects; see `read_rows`.

    Raises:
        DataError: In one line, when the file does not hold rows.
    """
    for row in read_rows(path):
        if not isinstance(value := row.read(path), dict):
            raise DataError(f"{path}, {row.place}: it is {value!r:.40}: an object was expected")
        yield value


def read_rows(path: Path) -> Iterator[FileRow]:
    """The rows of a file one by one, those that cannot be read as errors in their place.

    Args:
        path: `.json`: a list of rows, an object of rows by id, or an object with one list;
            `.csv` with a line of names; `.parquet`, without its columns of bytes; any other name
            for JSON lines, of which empty ones are no rows. Text may be compressed by gzip.

    Raises:
        DataError: In one line, when the file as a whole cannot be read.
    """
    suffix = Path(check_regular(path).name.removesuffix(".gz")).suffix
    readers = {".json": _document_rows, ".csv": _csv_rows, ".parquet": _parquet_rows}
    try:
        yield from readers.get(suffix, _line_rows)(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {str(error).partition(chr(10))[0]}") from None


def _line_rows(path: Path) -> Iterator[FileRow]:
    number = 0
    try:
        with _opened(path) as file:
            lines = iter(partial(file.readline, LONGEST_LINE), b"")
            for number, line in enumerate(lines, 1):
                if len(line) == LONGEST_LINE:
                    raise DataError(f"{path}, line {number} has {LONGEST_LINE:,} bytes: remove it")
                if number == 1 and line.lstrip().startswith(b"["):
                    name = f"{path.name.partition('.')[0]}.json"
                    raise DataError(f"{path} is a list, not one object a line: name it {name}")
                if line.strip():
                    yield FileRow(number, _line_value(line), unit="line")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        value = DataError(f"it and the rest cannot be read: {error}")
        yield FileRow(number + 1, value, unit="line")


def _line_value(line: bytes) -> Any:
    """The value of a line, or why it has none."""
    try:
        return parse_json(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return DataError(f"byte {error.start} is not UTF-8: save it as UTF-8")
    except DataError as error:
        return error


def _opened(path: Path) -> BinaryIO:
    """A file for reading its bytes, or those that gzip has compressed."""
    with path.open("rb") as file:
        is_compressed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if is_compressed else path.open("rb")  # pyright: ignore[reportReturnType]


def _text(path: Path) -> str:
    try:
        with _opened(path) as file:
            return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8: save it as UTF-8") from None
    except (EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def _document_rows(path: Path) -> Iterator[FileRow]:
    text = _text(path)
    try:
        content = parse_json(text, f"{path} is not JSON") if text.strip() else []
    except DataError:
        if not isinstance(_line_value(text.lstrip().split("\n", 1)[0].encode()), dict):
            raise
        yield from _line_rows(path)  # an object a line, whatever the name says
        return
    for number, (key, value) in enumerate(_entries(content, path), 1):
        yield FileRow(number, value, key)


def _entries(content: Any, path: Path) -> list[tuple[str | None, Any]]:
    """The rows of a value of JSON, and their keys where it has some."""
    if isinstance(content, dict) and _ROW_KEYS.isdisjoint(content):
        only = next(iter(content.values())) if len(content) == 1 else None
        if not isinstance(only, list):
            return list(content.items())
        content = only
    if not isinstance(content, list | dict):
        raise DataError(f"{path} holds {content!r:.40}: a list of objects was expected")
    return [(None, value) for value in (content if isinstance(content, list) else [content])]


def _csv_rows(path: Path) -> Iterator[FileRow]:
    reader = csv.DictReader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        names = list(reader.fieldnames or ())
        check_names(names, path)
        for number, row in enumerate(reader, 1):
            yield FileRow(number, _csv_value(row, len(names)))
    except csv.Error as error:
        line = reader.reader.line_num
        raise DataError(f"{path}, line {line}: {error}: check its quotes") from None


def _csv_value(row: dict[Any, Any], width: int) -> Any:
    if None in row:
        return DataError(
            f"it has {width + len(row[None])} values for {width} columns: quote those with commas"
        )
    if None in row.values():
        return DataError(f"it has fewer values than the {width} columns: add the missing commas")
    return row


def _parquet_rows(path: Path) -> Iterator[FileRow]:
    from pyarrow import ArrowException

    file = parquet_file(path)
    texts = [field.name for field in file.schema_arrow if "binary" not in str(field.type)]
    rows = (row for batch in file.iter_batches(columns=texts) for row in batch.to_pylist())
    try:
        for number, row in enumerate(rows, 1):
            yield FileRow(number, row)
    except (ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {str(error).partition(chr(10))[0]}") from None


def parquet_file(path: Path) -> Any:
    """An open `pyarrow.parquet.ParquetFile`, whose columns have different names.

    Raises:
        DataError: The file is none.
    """
    from pyarrow import ArrowException, parquet

    try:
        file = parquet.ParquetFile(check_regular(path))
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path} is not a readable parquet file: {reason}") from None
    check_names(file.schema_arrow.names, path)
    return file


def check_names(names: Sequence[object], where: object) -> None:
    """Raises DataError where two columns of a file have one name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(f"{where} has {count} columns called {name!r}: rename all but one")


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file that replaces `path` once it is written; a kill leaves old or new.

    It is on the disk when the context ends. Of several processes that write one path at once, the
    last one's file stays.

    Raises:
        UsageError: The path is a device, a pipe or a folder, which would be replaced.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is a device, a pipe or a folder: give a file")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with named_errors(path):
            yield temporary
            sync(temporary)
            temporary.replace(path)
            sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def named_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Adds the path to an OSError that names no file, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def sync(path: Path) -> None:
    """Syncs a file, or the list of names of a folder, to disk."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
