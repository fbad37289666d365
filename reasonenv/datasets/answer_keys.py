"""Reference answers in files of rows, with common names of columns.

The answers and the texts of multiple choices are read, without questions and images.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reasonenv.datasets.column_names import ANSWER_COLUMNS, ID_COLUMNS, OPTION_COLUMNS, cell
from reasonenv.datasets.local import SUFFIXES
from reasonenv.errors import DataError, MissingDataError
from reasonenv.files import read_rows
from reasonenv.grading import KINDS, final_answer

_LETTERS = "ABCDEFGHIJ"
_ABSENT = object()


@dataclass(frozen=True)
class Reference:
    """The right answer to one problem.

    Args:
        id: The problem's name.
        answer: The reference for the grader: a letter where the options have it.
        options: Texts of a multiple choice, without their letters.
        kind: Kind of the answer; None for the grader to guess.
    """

    id: str
    answer: str
    options: tuple[str, ...] = ()
    kind: str | None = None

    def forms(self) -> tuple[str, ...]:
        """Equivalent forms of the answer: as it is, and the text of its option."""
        if not self.options or self.answer not in _LETTERS[: len(self.options)]:
            return (self.answer,)
        text = self.options[_LETTERS.index(self.answer)].strip()
        # An option whose text is a letter, such as $\text{B}$, may name another option.
        bare = re.sub(r"\\text\w*|[\W_]", "", text)
        is_letter = len(bare) == 1 and bare.upper() in _LETTERS
        return (self.answer,) if is_letter or not text else (self.answer, text)


class _NoAnswersError(DataError):
    """Raised when a file of rows has no answers, but outputs, scores or questions."""


def read_references(
    path: Path, answer_column: str | None = None, options_column: str | None = None
) -> list[Reference]:
    """The references in a file, or in those files of a folder that have a column of answers.

    Args:
        path: A file, see `files.read_rows`, or a folder with such files. A row may be the answer
            itself.
        answer_column: Column of the answers; None for the first of `ANSWER_COLUMNS`. Of a worked
            solution, the text after `####` or its final answer counts; of a list, all of it.
        options_column: Column of the texts of multiple choices; None for `OPTION_COLUMNS`.

    Raises:
        MissingDataError: When there is no such file.
        DataError: When a file cannot be read as rows, or has no column of answers.
    """
    if path.is_dir():
        return _read_folder(path, answer_column, options_column)
    if not path.exists():
        raise MissingDataError(f"there is no file {path}")
    rows = list(_named_rows(path))
    if not rows:
        raise DataError(f"{path} has no rows")
    first = rows[0][1]
    column = answer_column or _first(first, ANSWER_COLUMNS)
    if column is None or all(cell(row, column, _ABSENT) is _ABSENT for _, row in rows):
        missing = f"no column {answer_column!r}" if answer_column else "no column of answers"
        raise _NoAnswersError(
            f"{path} has {missing}: it has {', '.join(first)}; name one with --answer-column"
        )
    return [_reference(f"{path}, row {id}", row, id, column, options_column) for id, row in rows]


def _read_folder(folder: Path, *columns: str | None) -> list[Reference]:
    files = sorted(file for file in folder.rglob("*") if file.suffix in SUFFIXES)
    if not files:
        raise DataError(f"{folder} has no file of rows: {', '.join(SUFFIXES)} are read")
    references: list[Reference] = []
    reasons = []
    for file in files:
        try:
            references += read_references(file, *columns)
        except _NoAnswersError as error:
            reasons.append(str(error))
    if not references:
        raise _NoAnswersError(f"no file of {folder} has answers; the first: {reasons[0]}")
    return references


def _named_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Id and content of each row."""
    for index, row in enumerate(read_rows(path)):
        value = row.read(path)
        if row.key is not None and isinstance(value, list) and value:
            yield from ((f"{row.key}/{i}", _as_row(path, item)) for i, item in enumerate(value))
        else:
            mapping = _as_row(path, value)
            name = _first(mapping, ID_COLUMNS)
            key = index if row.key is None else row.key
            yield str(key if name is None else cell(mapping, name)), mapping


def _as_row(path: Path, row: Any) -> Mapping[str, Any]:
    if isinstance(row, str | int | float):
        return {"answer": row}
    if not isinstance(row, Mapping):
        raise DataError(f"{path} holds {type(row).__name__}s where rows were expected")
    return row


def _first(row: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    return next((each for each in columns if cell(row, each, _ABSENT) is not _ABSENT), None)


def _reference(
    where: str, row: Mapping[str, Any], id: str, column: str, options_column: str | None
) -> Reference:
    text = _text(cell(row, column), where, column)
    if "####" in text:
        text = text.rpartition("####")[2].strip()
    elif column == "solution":
        text = final_answer(text) or ""
    name = options_column or _first(row, OPTION_COLUMNS)
    value = None if name is None else cell(row, name)
    texts = value if isinstance(value, list) and len(value) <= len(_LETTERS) else ()
    options = tuple(_text(item, where, str(name)) for item in texts)
    if text in options and text not in _LETTERS[: len(options)]:
        text = _LETTERS[options.index(text)]
    kind = cell(row, "answer_kind") or cell(row, "kind")
    return Reference(id, text, options, kind if kind in KINDS else None)


def _text(value: Any, where: str, column: str, depth: int = 4) -> str:
    """An answer as text; several answers of one problem are one line, an absent one is empty."""
    if value is None:
        return ""
    if isinstance(value, list) and depth:
        return ", ".join(_text(item, where, column, depth - 1) for item in value)
    if isinstance(value, str | int | float):
        return str(value).strip()
    raise DataError(f"{where}: column {column!r} holds a {type(value).__name__}, not an answer")
