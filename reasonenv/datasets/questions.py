"""Problems of a user's own questions: of a file, a folder of files, or an object in Python.

Nothing is downloaded. Each row is checked, one that makes no problem stays in its place with the
reason; images are read on access.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from reasonenv.datasets.column_names import Columns, check_choice, find_columns
from reasonenv.datasets.images import decode_all
from reasonenv.datasets.question_row import QuestionRow, check_marks
from reasonenv.datasets.schema import InvalidRow
from reasonenv.datasets.table import parquet_dataset, rows_and_large
from reasonenv.errors import DataError, MissingDataError, UsageError
from reasonenv.files import FileRow, check_names, read_rows
from reasonenv.problem import LazyProblems, Problem

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")
_SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing", "eval", "evaluation"), "test"),
}
"""Splits by words in the name of a file, as the `datasets` library has them."""


@dataclass(frozen=True)
class _Source:
    """The rows of a file, or of an object in memory.

    Args:
        name: Of the file, for messages and ids.
        rows: Row by row; images that are read on access are functions to read them.
        split: Split of all rows; None where only a column may tell.
        folders: Of the files of images; see `question_row.QuestionRow`.
    """

    name: str
    rows: Sequence[FileRow]
    split: str | None = None
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Question:
    """A row of a user's own questions.

    Args:
        id: Of the row: that of its column, else its number.
        place: Of the row, for messages.
        text: The question as it stands in the row, "" where it cannot be read.
        split: Its split; None where it cannot be read.
        problem: The problem without its images, or the reason why there is none.
        images: Places and images before decoding, some of which are read on access.
    """

    id: str
    place: str
    text: str
    split: str | None
    problem: Problem | DataError
    images: Callable[[], Sequence[tuple[str, Any]]] = tuple


class Questions(LazyProblems):
    """The problems of questions, their images decoded on access."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = questions

    def __len__(self) -> int:
        return len(self._questions)

    def make(self, index: int, with_images: bool) -> Problem:
        """The problem at an index."""
        question = self._questions[self.wrap(index)]
        try:
            if isinstance(question.problem, DataError):
                raise question.problem
            if not with_images:
                return question.problem
            images = decode_all(question.images())
            check_marks(question.problem.question, len(images))
        except DataError as error:
            raise DataError(f"{question.place}: {error}") from None
        return replace(question.problem, images=images)

    def invalid_rows(self) -> dict[int, InvalidRow]:
        """Rows that make no problem, by number; images within files are not read."""
        return {
            index: InvalidRow(question.id, f"{question.place}: {question.problem}")
            for index, question in enumerate(self._questions)
            if isinstance(question.problem, DataError)
        }


def load_questions(data: Any, columns: object = None) -> list[Question]:
    """All rows of a user's questions, those that make no problem included.

    Args:
        data: A file in one of `SUFFIXES`; a folder with such files, with a data set of
            `Dataset.save_to_disk`, or with images and their metadata; or a list of dicts, a
            `datasets.Dataset` or `DatasetDict`, a pandas DataFrame.
        columns: Names of columns by field, such as {"question": "frage"}; None for usual ones.

    Raises:
        UsageError: A column that is named does not exist, or one that is needed; an object is of
            another type.
        MissingDataError: There is no such file.
        DataError: A file cannot be read, is of another kind, or has no rows.
    """
    choice = check_choice(columns or {})
    sources = _read(data)
    questions: list[Question] = []
    for source in sources:
        rows = [row.value for row in source.rows if isinstance(row.value, Mapping)]
        if not rows:
            (unit, fault) = source.rows[0].unit, _fault(source.rows[0])
            raise DataError(f"{source.name}: no {unit} can be read; the first: {fault}")
        fields = find_columns(choice, rows, source.name)
        prefix = f"{os.path.splitext(source.name)[0]}/" if len(sources) > 1 else ""
        questions += [_question(source, row, fields, prefix) for row in source.rows]
    return _with_own_ids(questions)


def _question(source: _Source, file_row: FileRow, columns: Columns, prefix: str) -> Question:
    place = f"{source.name}, {file_row.place}"
    # Beside ids of a column, a number could be that of another row.
    id = place if columns["id"] else f"{prefix}{file_row.number}"
    split = None if columns["split"] else source.split or "train"
    if not isinstance(file_row.value, Mapping):
        return Question(id, place, "", split, _fault(file_row))
    row = QuestionRow(file_row.value, columns, source.folders)
    text = str(row.value("question") or "")
    try:
        id, split = row.text("id") or id, row.text("split") or split
        if split is None:
            raise row.empty("split")
        problem: Problem | DataError = row.problem(id)
        images = row.images(on_access=False)
        if not row.is_read_on_access:
            check_marks(problem.question, len(images))
    except DataError as error:
        problem = error
    return Question(id, place, text, split, problem, row.images)


def _fault(row: FileRow) -> DataError:
    if isinstance(row.value, DataError):
        return row.value
    expected = 'an object was expected, {"question": ..., "answer": ...}'
    return DataError(f"it is {row.value!r:.40}: {expected}")


def _with_own_ids(questions: Sequence[Question]) -> list[Question]:
    """The questions; one with the id of an earlier one is no problem, and has its place as id."""
    first: dict[str, str] = {}
    checked = []
    for each in questions:
        if (place := first.setdefault(each.id, each.place)) != each.place:
            line = f"its id {each.id!r:.40} is that of {place}: give it another, or none by "
            fault = DataError(line + "columns={'id': None}")
            each = replace(each, id=each.place, problem=fault)  # noqa: PLW2901
        checked.append(each)
    return checked


def _read(data: Any) -> list[_Source]:
    """The rows of `data`, file by file or split by split."""
    is_path = isinstance(data, str | Path)
    sources = _read_path(Path(data)) if is_path else _read_object(data)
    if not any(source.rows for source in sources):
        place = f"{data}" if is_path else f"data, a {type(data).__name__},"
        raise DataError(f"{place} has no rows: give at least one question")
    return [source for source in sources if source.rows]


def _read_object(data: Any) -> list[_Source]:
    if isinstance(data, list | tuple):
        return [_Source("data", _numbered(data))]
    kinds = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(data).__mro__}
    if "pandas.DataFrame" in kinds:
        check_names(list(data.columns), "the data frame")
        return [_Source("data", _numbered(data.to_dict("records")))]
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


def _read_path(path: Path) -> list[_Source]:
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


def _saved_dataset(path: Path) -> list[_Source]:
    from datasets import load_from_disk

    try:
        return _read_object(load_from_disk(str(path)))
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path} is no data set of save_to_disk: {reason}") from None


def _read_file(file: Path, folder: Path) -> _Source:
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
    return _Source(name, [_with_key(row) for row in read_rows(file)], split, folders)


def _with_key(row: FileRow) -> FileRow:
    """The row, with its key as its id where it is the value of an object of rows."""
    has_key = row.key is not None and isinstance(row.value, Mapping)
    return replace(row, value={"id": row.key, **row.value}) if has_key else row


def _of_dataset(
    dataset: Any, name: str, split: str | None = None, folders: tuple[Path, ...] = ()
) -> _Source:
    """The rows of a `datasets.Dataset`; columns of bytes are read on access."""
    features = dataset.features.items()
    labels = {each: f.names for each, f in features if type(f).__name__ == "ClassLabel"}
    texts, large = rows_and_large(dataset)
    rows = [
        {each: partial(_arrow_cell, large, index, each) for each in large.column_names}
        | row
        | {each: names[row[each]] for each, names in labels.items() if row[each] is not None}
        for index, row in enumerate(texts)
    ]
    return _Source(name, _numbered(rows), split, folders)


def _arrow_cell(dataset: Any, index: int, column: str) -> Any:
    return dataset[index].column(column)[0].as_py()
