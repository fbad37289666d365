"""Columns of rows by their usual names, or by those that a user gives."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from reasonenv.errors import UsageError

ANSWER_COLUMNS = (
    "answer",
    "final_answer",
    "ground_truth",
    "reward_model.ground_truth",
    "gt",
    "gold",
    "expected_answer",
    "correct_answer",
    "target",
    "solution",
)
"""Columns of an answer, in order of preference; a dot leads into a struct."""
OPTION_COLUMNS = ("options", "choices")
ID_COLUMNS = ("id", "pid", "unique_id", "idx", "sample_index", "extra_info.index")

USUAL: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "problem", "prompt", "query", "messages"),
    "answer": ANSWER_COLUMNS,
    "images": ("images", "image", "image_path", "image_paths", "img", "file_name", "file_names"),
    "options": OPTION_COLUMNS,
    "kind": ("answer_kind", "kind"),
    "id": ID_COLUMNS,
    "split": ("split",),
    "solution": ("solution", "worked_solution", "rationale", "explanation"),
    "metadata": (
        *("subject", "category", "topic", "type", "family", "source", "language"),
        *("level", "difficulty", "grade"),
    ),
}
"""Usual names of the columns of each field, in order of preference, in capitals or not."""
_SYNONYMS = {"image": "images", "choices": "options"}
_SEVERAL = ("images", "metadata")

Columns = Mapping[str, tuple[str, ...]]
"""Names of the columns of each field: one, or none where there is none; images and metadata may
have several."""


def cell(row: Mapping[str, Any], column: str, default: Any = None) -> Any:
    """The value of a column, where a dot leads into an object and a number into a list."""
    if column in row:
        return row[column]
    value: Any = row
    for name in column.split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return default
    return value


def check_choice(choice: object) -> dict[str, tuple[str, ...] | None]:
    """The columns that a user names, by field; None for a field that is to have no column.

    Raises:
        UsageError: There is no such field, or a value is no name.
    """
    if not isinstance(choice, Mapping):
        raise UsageError(f"columns={choice!r}: give fields and columns, {{'question': 'frage'}}")
    return {_field(name): _names(name, value) for name, value in choice.items()}


def _field(name: object) -> str:
    field = _SYNONYMS.get(str(name), str(name))
    if field not in USUAL:
        near = difflib.get_close_matches(field, USUAL, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(USUAL)}"
        raise UsageError(f"columns: there is no field {name!r}: {hint}")
    return field


def _names(field: object, value: object) -> tuple[str, ...] | None:
    names = (value,) if isinstance(value, str) else value
    if names is None:
        return None
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"columns: {field!r} is {value!r:.60}: give the name of a column")
    if len(names) != 1 and _field(field) not in _SEVERAL:
        raise UsageError(f"columns: {field!r} is {value!r:.60}: give one column")
    return tuple(names)


def find_columns(
    choice: Mapping[str, tuple[str, ...] | None], rows: Sequence[Mapping[str, Any]], where: str
) -> Columns:
    """The columns of each field: those that are named, else those of usual names.

    A column has one field: a `solution` that is the only answer is no worked solution.

    Args:
        choice: Result of `check_choice`.
        rows: The rows, whose keys are the names of the columns.
        where: The file, for errors.

    Raises:
        UsageError: A column does not exist, or there is none of questions or answers.
    """
    there = list(dict.fromkeys(str(name) for row in rows for name in row))
    columns: dict[str, tuple[str, ...]] = {}
    for field in USUAL:
        if field in choice:
            columns[field] = choice[field] or ()
            for name in columns[field]:
                _check_column(name, rows, there, where)
            continue
        others = {name for names in (*columns.values(), *choice.values()) for name in names or ()}
        usual = (_spelling(name, rows, there) for name in USUAL[field])
        names = tuple(name for name in usual if name is not None and name not in others)
        columns[field] = names if field == "metadata" else names[:1]
    for field in ("question", "answer"):
        if not columns[field]:
            raise UsageError(_no_column(field, there, where))
    return columns


def _check_column(
    name: str, rows: Sequence[Mapping[str, Any]], there: Sequence[str], where: str
) -> None:
    if name not in there and all(cell(row, name) is None for row in rows):
        near = difflib.get_close_matches(name, there, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(there)}"
        raise UsageError(f"columns: {where} has no column {name!r}: {hint}")


def _spelling(name: str, rows: Sequence[Mapping[str, Any]], there: Sequence[str]) -> str | None:
    """A usual name as the rows spell it; None where no row has it."""
    if "." in name:
        return name if any(cell(row, name) is not None for row in rows) else None
    return next((each for each in there if each.strip().lower() == name), None)


def _no_column(field: str, there: Sequence[str], where: str) -> str:
    if len(there) == 1 and (";" in there[0] or "\t" in there[0]):
        return f"{where} has one column, {there[0]!r:.80}: separate its columns by commas"
    return (
        f"{where} has no column of the {field} ({', '.join(USUAL[field])}): it has "
        f"{', '.join(there)}; name one by --env-options "
        f'\'{{"columns": {{"{field}": "NAME"}}}}\', in Python columns={{{field!r}: \'NAME\'}}'
    )
