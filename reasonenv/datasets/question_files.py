"""Rows of a user's own questions: of a file, a folder of files, or an object in Python.

Nothing is downloaded. A row that cannot be read stays in its place, as the error that says why.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from reasonenv.datasets.table import large_columns, parquet_dataset
from reasonenv.errors import DataError, MissingDataError, UsageError
from reasonenv.files import FileRow, check_names, read_rows

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")
_SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing", "eval", "evaluation"), "test"),
}
"""Splits by words in the name of a file, as the `datasets` library has them."""


@dataclass(frozen=True)
class QuestionRows:
    """The rows of a file, or of an object in memory.

    Args:
        name: Of the file, for messages and ids.
        rows: Row by row; images that are read on access are functions to read them.
        split: Split of all rows; None where only a column may tell.
        folders: Folders that the paths of images are relative to, in order of preference; they
            do not leave the last one. Empty for any path, relative to the current folder.
    """

    name: str
    rows: Sequence[FileRow]
    split: str | None = None
    folders: tuple[Path, ...] = ()


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
    is_path = isinstance(data, str | Path)
    sources = _read_path(Path(data)) if is_path else _read_object(data)
    if not any(source.rows for source in sources):
        place = f"{data}" if is_path else f"data, a {type(data).__name__},"
        raise DataError(f"{place} has no rows: give at least one question")
    return [source for source in sources if source.rows]


def _read_object(data: Any) -> list[QuestionRows]:
    if isinstance(data, list | tuple):
        return [QuestionRows("data", _numbered(data))]
    kinds = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(data).__mro__}
    if "pandas.DataFrame" in kinds:
        check_names(list(data.columns), "the data frame")
        return [QuestionRows("data", _numbered(data.to_dict("records")))]
    if "datasets.Dataset" in kinds:
        return [_of_dataset(data, "data")]
    if "datasets.DatasetDict" in kinds:
        return [_of_dataset(each, split, split) for split, each in data.items()]
    raise UsageError(
        f"data is of type {type(data).__name__}: give a path, a list of dicts, a datasets.Dataset "
        "or DatasetDict, or a pandas DataFrame"
    )


def _numbered(rows: Iterable[Any]) -> list[FileRow]:
    return [FileRow(number, row) for number, row in enumerate(rows, 1)]


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
        return _of_dataset(parquet_dataset(file), name, split, folders)
    if file.suffix not in SUFFIXES:
        kind = file.suffix or "a file without suffix"
        raise DataError(f"{file}: {kind} is not read: save it as {', '.join(SUFFIXES)}")
    return QuestionRows(name, [_with_key(row) for row in read_rows(file)], split, folders)


def _with_key(row: FileRow) -> FileRow:
    """The row, with its key as its id where it is the value of an object of rows."""
    has_key = row.key is not None and isinstance(row.value, Mapping)
    return replace(row, value={"id": row.key, **row.value}) if has_key else row


def _of_dataset(
    dataset: Any, name: str, split: str | None = None, folders: tuple[Path, ...] = ()
) -> QuestionRows:
    """The rows of a `datasets.Dataset`; columns of bytes are read on access."""
    features = dataset.features
    large = large_columns(features.arrow_schema)
    labels = {each: f.names for each, f in features.items() if type(f).__name__ == "ClassLabel"}
    texts = [each for each in features if each not in large]
    # In Arrow's format, in which nothing is decoded.
    rows = dataset.select_columns(texts).with_format("arrow")[:].to_pylist() if texts else []
    for row in rows:
        row |= {each: names[row[each]] for each, names in labels.items() if row[each] is not None}
    images = dataset.select_columns(large).with_format("arrow")
    rows = [
        {each: partial(_arrow_image, images, index, each) for each in large} | row
        for index, row in enumerate(rows or [{}] * len(dataset))
    ]
    return QuestionRows(name, _numbered(rows), split, folders)


def _arrow_image(images: Any, index: int, column: str) -> Any:
    return images[index].column(column)[0].as_py()
