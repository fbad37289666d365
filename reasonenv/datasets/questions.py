"""Problems of a user's own questions, each row checked, the images read on access."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reasonenv.datasets.column_names import Columns, check_choice, find_columns
from reasonenv.datasets.images import decode_all
from reasonenv.datasets.question_files import QuestionRows, read_questions
from reasonenv.datasets.question_row import QuestionRow, check_marks
from reasonenv.datasets.schema import InvalidRow
from reasonenv.errors import DataError
from reasonenv.files import FileRow
from reasonenv.problem import LazyProblems, Problem


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

    def complete(self) -> Problem:
        """The problem with its images.

        Raises:
            DataError: In one line, where the row makes no problem.
        """
        problem = self.without_images()
        try:
            images = decode_all(self.images())
            check_marks(problem.question, len(images))
        except DataError as error:
            raise DataError(f"{self.place}: {error}") from None
        return replace(problem, images=images)

    def without_images(self) -> Problem:
        """The problem without its images, which are not read."""
        if isinstance(self.problem, DataError):
            raise DataError(f"{self.place}: {self.problem}")
        return self.problem


class Questions(LazyProblems):
    """The problems of questions, their images decoded on access."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self._questions = questions

    def __len__(self) -> int:
        return len(self._questions)

    def make(self, index: int, with_images: bool) -> Problem:
        """The problem at an index."""
        question = self._questions[self.wrap(index)]
        return question.complete() if with_images else question.without_images()

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
        data: See `question_files.read_questions`.
        columns: Names of columns by field, such as {"question": "frage"}; None for usual ones.

    Raises:
        UsageError: A column that is named does not exist, or one that is needed.
        DataError: A file cannot be read, or has no rows.
    """
    choice = check_choice(columns or {})
    sources = read_questions(data)
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


def _question(source: QuestionRows, file_row: FileRow, columns: Columns, prefix: str) -> Question:
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
    """Why a row is none."""
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
