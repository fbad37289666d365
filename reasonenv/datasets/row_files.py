"""Local files of a data set: their splits and rows."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reasonenv.datasets.regular_files import check_regular
from reasonenv.errors import DataError, MissingDataError
from reasonenv.json_objects import unique_keys

ELSEWHERE = "give local files in the same format with data=DIR, --data DIR or REASONENV_DATA"

SUFFIXES = (".parquet", ".jsonl", ".json")


def dataset_folder(name: str, data: Path) -> Path:
    """The folder of the data set called `name`: `data` itself, or its subfolder of that name.

    Raises:
        MissingDataError: When there is no such folder.
    """
    if not data.is_dir():
        raise MissingDataError(f"there is no folder {data}: {ELSEWHERE}")
    return data / name if (data / name).is_dir() else data


def iter_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file one by one, without their images.

    Args:
        path: JSON lines; JSON, a list of rows or an object of rows by id; or Parquet.

    Raises:
        DataError: In one line, when the file does not hold rows.
    """
    try:
        check_regular(path)
        if path.suffix == ".parquet":
            yield from _parquet_rows(path)
        elif path.suffix == ".jsonl":
            yield from _jsonl_rows(path)
        else:
            yield from _json_rows(path)
    except (UnicodeDecodeError, OSError) as error:
        raise DataError(f"{path} cannot be read: {str(error).partition(chr(10))[0]}") from None


def parse_json(text: str, where: object) -> Any:
    """The value of a text of JSON.

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
        reason = str(error).partition(";")[0]
        raise DataError(f"{where}: {reason}") from None


def _jsonl_rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8-sig") as lines:
        for where, value in parse_lines(lines, path):
            yield _check_row(value, where)


def parse_lines(lines: Iterable[str], path: Path) -> Iterator[tuple[str, Any]]:
    """The place and the value of each line of JSON that is not empty.

    Raises:
        DataError: For a line that is none.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            where = f"{path}, line {number}"
            yield where, parse_json(line, f"{path} cannot be read: line {number}")


def _json_rows(path: Path) -> Iterator[dict[str, Any]]:
    content = parse_json(path.read_text(encoding="utf-8-sig"), f"{path} cannot be read")
    if isinstance(content, dict):
        content = list(content.values())
    if not isinstance(content, list):
        raise DataError(f"{path} holds no list of rows")
    for number, row in enumerate(content):
        yield _check_row(row, f"{path}, row {number}")


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
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


def _check_row(row: Any, where: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise DataError(f"{where}: a row was expected, not {row!r:.40}")
    return row


def split_files(
    folder: Path,
    split: str,
    prefixes: Mapping[str, Sequence[str]],
    name: str,
    subfolders: Sequence[str] = ("data",),
) -> list[Path]:
    """The Parquet files of a split where there are any, else its JSON files.

    A file belongs to the split with the longest matching prefix.

    Args:
        folder: The folder of the data set.
        split: A key of `prefixes`.
        prefixes: For each split, the prefixes of the names of its files.
        name: Of the data set, for errors.
        subfolders: Further folders of files, in `folder`.

    Raises:
        MissingDataError: When there is none.
    """
    folders = [folder, *(folder / name for name in subfolders)]
    files = [file for path in folders if path.is_dir() for file in sorted(path.iterdir())]
    files = [file for file in files if file.suffix in SUFFIXES]
    expected = " or ".join(f"{prefix}-*.parquet" for prefix in prefixes[split])
    if not files:
        raise MissingDataError(
            f"{folder} has no file of {name}: {expected} was expected there, or .jsonl or .json"
        )
    matches = [file for file in files if split_of_file(file, prefixes) == split]
    if not matches:
        raise MissingDataError(
            f"{folder} has no split {split!r} of {name}: {expected} was expected, or .jsonl or "
            f".json; {', '.join(file.name for file in files[:3])} found"
        )
    parquet = [file for file in matches if file.suffix == ".parquet"]
    return parquet or matches


def split_of_file(file: Path, prefixes: Mapping[str, Sequence[str]]) -> str | None:
    """The split with the longest prefix of the name of a file; None without one."""
    matches = [
        (len(prefix), split)
        for split, names in prefixes.items()
        for prefix in names
        if file.stem == prefix or (file.name.startswith(prefix) and file.name[len(prefix)] in "-_.")
    ]
    return max(matches)[1] if matches else None
