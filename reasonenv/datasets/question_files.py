"""Rows of a user's own questions: of a file, a folder of files, or an object in Python.

Nothing is downloaded. A row that cannot be read stays in its place, as the error that says why.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from reasonenv.datasets.parquet import ParquetTable
from reasonenv.datasets.schema import Schema
from reasonenv.errors import DataError, MissingDataError, UsageError
from reasonenv.files import check_regular, parse_json

RawRow = Mapping[str, Any] | DataError | None
"""A row, the reason why there is none, or None for an empty line."""
SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")
_SPLITS = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
    "testing": "test",
    "eval": "test",
    "evaluation": "test",
}
"""Splits by words in the name of a file, as the `datasets` library has them."""


@dataclass(frozen=True)
class QuestionRows:
    """The rows of a file, or of an object in memory.

    Args:
        name: Of the file, for messages and ids.
        rows: Row by row; a column of images that are read on access has None.
        split: Split of all rows; None where only a column may tell.
        folders: Folders that the paths of images are relative to, in order of preference; they
            do not leave the last one. Empty for any path, relative to the current folder.
        image: Function of a row's index and a column to its images, where they are read on access.
        place: Word for a row and its number, from 1: "line" or "row".
    """

    name: str
    rows: Sequence[RawRow]
    split: str | None = None
    folders: tuple[Path, ...] = ()
    image: Callable[[int, str], Any] | None = None
    place: str = "row"


def read_questions(data: Any) -> list[QuestionRows]:
    """The rows of `data`, file by file or split by split.

    Args:
        data: A file in one of `SUFFIXES`; a folder with such files, with a data set of
            `Dataset.save_to_disk`, or with images and their metadata; or a list of dicts, a
            `datasets.Dataset` or `DatasetDict`, a pandas DataFrame.

    Raises:
        MissingDataError: There is no such file.
        DataError: There are no rows, or a file is of another kind.
        UsageError: An object is of another type.
    """
    sources = _read_path(Path(data)) if isinstance(data, str | Path) else _read_object(data)
    if not any(source.rows for source in sources):
        place = f"{data}" if isinstance(data, str | Path) else f"data, a {type(data).__name__},"
        raise DataError(f"{place} has no rows: give at least one question")
    return [source for source in sources if source.rows]


def _read_object(data: Any) -> list[QuestionRows]:
    """The rows of an object in Python."""
    if isinstance(data, list | tuple):
        return [QuestionRows("data", [_check_row(row) for row in data])]
    kinds = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(data).__mro__}
    if "pandas.DataFrame" in kinds:
        _check_names(list(data.columns), "the data frame")
        return [QuestionRows("data", data.to_dict("records"))]
    if "datasets.Dataset" in kinds:
        return [_of_dataset(data, "data")]
    if "datasets.DatasetDict" in kinds:
        return [_of_dataset(each, split, split) for split, each in data.items()]
    raise UsageError(
        f"data is of type {type(data).__name__}: give a path, a list of dicts, a datasets.Dataset "
        "or DatasetDict, or a pandas DataFrame"
    )


def _read_path(path: Path) -> list[QuestionRows]:
    if not path.exists():
        raise MissingDataError(f"there is no file or folder {path}: data is a path to questions")
    if not path.is_dir():
        return [_read_file(path, path.parent)]
    if (path / "state.json").is_file() or (path / "dataset_dict.json").is_file():
        return _saved_dataset(path)
    files = [file for file in sorted(path.rglob("*")) if _is_data(file.relative_to(path))]
    if not files:
        raise DataError(
            f"{path} has no file of questions ({', '.join(SUFFIXES)}): beside images, put them "
            "into metadata.jsonl, with the columns file_name, question and answer"
        )
    return [_read_file(file, path) for file in files]


def _is_data(file: Path) -> bool:
    return file.suffix in SUFFIXES and not any(part.startswith(".") for part in file.parts)


def _saved_dataset(path: Path) -> list[QuestionRows]:
    from datasets import load_from_disk

    try:
        return _read_object(load_from_disk(str(path)))
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path} is no data set of save_to_disk: {reason}") from None


def _read_file(file: Path, folder: Path) -> QuestionRows:
    """The rows of a file in a folder, which its images do not leave."""
    name = str(file.relative_to(folder))
    words = re.split(r"[^a-z]+", name.lower())
    split = next((_SPLITS[word] for word in words if word in _SPLITS), None)
    folders = file.parent, folder
    if file.suffix == ".parquet":
        return _of_parquet(check_regular(file), name, split, folders)
    readers = {".jsonl": _json_lines, ".json": _json_rows, ".csv": _csv_rows}
    if file.suffix not in readers:
        kind = file.suffix or "a file without suffix"
        raise DataError(f"{file}: {kind} is not read: save it as {', '.join(SUFFIXES)}")
    try:
        text = check_regular(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: byte {error.start} is not UTF-8: save it as UTF-8") from None
    rows = readers[file.suffix](text, file)
    return QuestionRows(name, rows, split, folders, place="line" if "l" in file.suffix else "row")


def _json_lines(text: str, file: Path) -> list[RawRow]:
    if text.lstrip().startswith("["):
        raise DataError(f"{file} is a list, not one object a line: name it {file.stem}.json")
    # No str.splitlines: JSON may hold other separators of lines.
    lines = text.rstrip().split("\n") if text.strip() else []
    return [_parse_row(line) for line in lines]


def _parse_row(line: str) -> RawRow:
    if not line.strip():
        return None
    try:
        return _check_row(parse_json(line, "it is not JSON"))
    except DataError as error:
        return error


def _check_row(row: Any) -> RawRow:
    if isinstance(row, Mapping):
        return row
    return DataError(
        f'it is {row!r:.40}: an object was expected, {{"question": ..., "answer": ...}}'
    )


def _json_rows(text: str, file: Path) -> list[RawRow]:
    """The rows of a list, of an object whose one value is a list, or of an object by id."""
    if not text.strip():
        return []
    try:
        content = parse_json(text, f"{file} is not JSON")
    except DataError:
        if all(isinstance(_parse_row(line), Mapping) for line in text.strip().split("\n", 2)[:2]):
            raise DataError(f"{file} has an object a line: name it {file.stem}.jsonl") from None
        raise
    if isinstance(content, Mapping) and len(content) == 1:
        (value,) = content.values()
        content = value if isinstance(value, list) else content
    if isinstance(content, Mapping) and all(isinstance(v, Mapping) for v in content.values()):
        return [{"id": key, **row} for key, row in content.items()]
    if not isinstance(content, list):
        raise DataError(f"{file} holds {content!r:.40}: a list of objects was expected")
    return [_check_row(row) for row in content]


def _csv_rows(text: str, file: Path) -> list[RawRow]:
    """The rows of a table whose first line has the names of its columns; values are texts."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        _check_names(list(reader.fieldnames or ()), str(file))
        return [_check_width(row, len(reader.fieldnames or ())) for row in reader]
    except csv.Error as error:
        raise DataError(
            f"{file}, line {reader.reader.line_num}: {error}: check its quotes"
        ) from None


def _check_width(row: dict[Any, Any], width: int) -> RawRow:
    if None in row:
        return DataError(
            f"it has {width + len(row[None])} values for {width} columns: quote those with commas"
        )
    if None in row.values():
        return DataError(f"it has fewer values than the {width} columns: add the missing commas")
    return row


def _check_names(names: Sequence[object], where: str) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(f"{where} has {count} columns called {name!r}: rename all but one")


def _of_parquet(
    file: Path, name: str, split: str | None, folders: tuple[Path, ...]
) -> QuestionRows:
    """The rows of a Parquet file; columns of bytes are read on access, a row group at a time."""
    from pyarrow import ArrowException, parquet

    try:
        schema = parquet.read_schema(file)
    except (ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{file} is not a readable parquet file: {reason}") from None
    _check_names(schema.names, str(file))
    large = [field.name for field in schema if "binary" in str(field.type)]
    texts = [each for each in schema.names if each not in large]
    table = ParquetTable(file, Schema("file", "", {}, (), more_images=tuple(large)))
    values = zip(*(table.column(each) for each in texts), strict=True)
    rows = [dict(zip(texts, row, strict=True)) for row in values] if texts else [{}] * len(table)
    rows = [dict.fromkeys(large) | row for row in rows]
    image = partial(_parquet_image, table) if large else None
    return QuestionRows(name, rows, split, folders, image)


def _parquet_image(table: ParquetTable, index: int, column: str) -> Any:
    return table.image_cells(index).get(column)


def _of_dataset(dataset: Any, name: str, split: str | None = None) -> QuestionRows:
    """The rows of a `datasets.Dataset`; its images are read on access."""
    features = dataset.features
    large = [each for each in features if re.search("Image|binary", str(features[each]))]
    names = {each: f.names for each, f in features.items() if type(f).__name__ == "ClassLabel"}
    texts = [each for each in features if each not in large]
    # In Arrow's format, in which nothing is decoded.
    rows = dataset.select_columns(texts).with_format("arrow")[:].to_pylist() if texts else []
    for row in rows:
        row |= {each: labels[row[each]] for each, labels in names.items() if row[each] is not None}
    images = dataset.select_columns(large).with_format("arrow") if large else None
    rows = [dict.fromkeys(large) | row for row in rows or [{}] * len(dataset)]
    return QuestionRows(name, rows, split, image=partial(_arrow_image, images) if large else None)


def _arrow_image(images: Any, index: int, column: str) -> Any:
    return images[index].column(column)[0].as_py() if column in images.column_names else None
