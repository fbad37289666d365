"""Local files: those of a data set, their splits and rows, and new ones that are written."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reasonenv.errors import DataError, MissingDataError

ELSEWHERE = "give local files in the same format with data=DIR, --data DIR or REASONENV_DATA"

Row = Mapping[str, Any]

_SUFFIXES = (".parquet", ".jsonl", ".json")


def folder(name: str, data: Path) -> Path:
    """The folder of the data set called `name`: `data` itself, or its subfolder of that name.

    Raises:
        MissingDataError: When there is no such folder.
    """
    if not data.is_dir():
        raise MissingDataError(f"there is no folder {data}: {ELSEWHERE}")
    return data / name if (data / name).is_dir() else data


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, without their images.

    Args:
        path: JSON lines; JSON, a list of rows or an object of rows by id; or Parquet.

    Raises:
        DataError: In one line, when the file does not hold rows.
    """
    return list(rows(path))


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file one by one; see `read`."""
    try:
        if path.suffix == ".parquet":
            yield from _of_parquet(path)
        elif path.suffix == ".jsonl":
            yield from _of_lines(path)
        else:
            yield from _of_json(path)
    except (UnicodeDecodeError, RecursionError, json.JSONDecodeError, OSError) as error:
        raise DataError(f"{path} cannot be read: {str(error).partition(chr(10))[0]}") from None


def _of_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _row(json.loads(line), f"{path}, line {number}")


def _of_json(path: Path) -> Iterator[dict[str, Any]]:
    content = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(content, dict):
        content = list(content.values())
    if not isinstance(content, list):
        raise DataError(f"{path} holds no list of rows")
    for number, row in enumerate(content):
        yield _row(row, f"{path}, row {number}")


def _of_parquet(path: Path) -> Iterator[dict[str, Any]]:
    from pyarrow import ArrowException, parquet

    try:
        file = parquet.ParquetFile(path)
        schema = file.schema_arrow
        texts = [field.name for field in schema if "binary" not in str(field.type)]
        for batch in file.iter_batches(columns=texts):
            yield from batch.to_pylist()
    except ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path} is not a readable parquet file: {reason}") from None


def _row(row: Any, where: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise DataError(f"{where}: a row was expected, not {row!r:.40}")
    return row


def of_split(
    where: Path,
    split: str,
    begins: Mapping[str, Sequence[str]],
    name: str,
    below: Sequence[str] = ("data",),
) -> list[Path]:
    """The files of a split: those of Parquet where there are any, else those of JSON.

    A file belongs to the split whose beginning it has; of several, to that of the longest.

    Args:
        where: The folder of the data set.
        split: A key of `begins`.
        begins: For each split, what the names of its files begin with.
        name: Of the data set, for errors.
        below: Subfolders in which files may lie too.

    Raises:
        MissingDataError: When there is none.
    """
    places = [where, *(where / folder for folder in below)]
    files = [file for place in places if place.is_dir() for file in sorted(place.iterdir())]
    files = [file for file in files if file.suffix in _SUFFIXES]
    expected = " or ".join(f"{begin}-*.parquet" for begin in begins[split])
    if not files:
        raise MissingDataError(
            f"{where} has no file of {name}: {expected} was expected there, or .jsonl or .json"
        )
    chosen = [file for file in files if _split_of(file, begins) == split]
    if not chosen:
        raise MissingDataError(
            f"{where} has no split {split!r} of {name}: {expected} was expected, or .jsonl or "
            f".json; {', '.join(file.name for file in files[:3])} found"
        )
    parquet = [file for file in chosen if file.suffix == ".parquet"]
    return parquet or chosen


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file aside that takes the place of `path` once it is written; a kill leaves old or new."""
    path = Path(path)
    aside = path.with_name(f".{path.name}.tmp")
    try:
        yield aside
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def _split_of(file: Path, begins: Mapping[str, Sequence[str]]) -> str | None:
    fits = [
        (len(begin), split)
        for split, names in begins.items()
        for begin in names
        if file.stem == begin or (file.name.startswith(begin) and file.name[len(begin)] in "-_.")
    ]
    return max(fits)[1] if fits else None
