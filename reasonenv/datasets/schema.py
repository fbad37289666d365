"""The schema of a data set: its place, splits and columns."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reasonenv.errors import DataError

Row = Mapping[str, Any]
_FILE = "the name of a file"


@dataclass(frozen=True)
class Split:
    """The place of a split, on the hub and in local files.

    Args:
        hub: Its name on the hub.
        files: Prefixes of the names of its local files; the name of the split if empty.
        config: Configuration of the hub data set; None for its only one.
        repository: Its repository on the hub where that is not the schema's.
    """

    hub: str
    files: tuple[str, ...] = ()
    config: str | None = None
    repository: str | None = None


@dataclass(frozen=True)
class InvalidRow:
    """A row that makes no problem.

    Args:
        id: Id with which `without` excludes it.
        line: The defect and its place.
    """

    id: str
    line: str


@dataclass(frozen=True)
class Kind:
    """The kind of values that a column holds.

    Args:
        words: A value, in words.
        fits: True for a value of the kind.
    """

    words: str
    fits: Callable[[Any], bool]


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


TEXT = Kind("a string", lambda value: isinstance(value, str))
TEXTS = Kind(
    "a list of strings",
    lambda value: isinstance(value, list | tuple) and all(isinstance(v, str) for v in value),
)
ANSWERS = Kind(
    "an answer or a list of answers",
    lambda value: all(map(_is_plain, value if isinstance(value, list | tuple) else [value])),
)
ANSWER = Kind("a string or a number", _is_plain)
NUMBER = Kind(
    "a whole number",
    lambda value: (
        re.fullmatch(r"[+-]?[0-9]{1,18}(\.0*)?", str(value).strip()) is not None
        if _is_plain(value)
        else False
    ),
)
OBJECT = Kind("an object", lambda value: isinstance(value, Mapping))


@dataclass(frozen=True)
class Schema:
    """The place of a data set and the columns of its rows.

    Args:
        name: Its subfolder in a folder of several data sets.
        hub: Its repository on the Hugging Face hub.
        splits: By their names in the environment.
        texts: Columns that hold a string in every row; the first is the question.
        values: Columns that hold a value in every row: a number, a list, ...
        kinds: Kinds of columns other than texts; a row may lack them.
        images: Columns of images, {bytes, path} or a list of them, one in every row.
        more_images: Optional columns of images.
        paths: Columns of a row of JSON that may hold the file of its image, or a list of files, or
            a function of the row to the files of its images; None for its image columns.
        aliases: Alternative names of columns.
        answer: Column of the answer, which must not be blank.
        key: Column of the id, for rows in several files; "row" where the id is the row's number.
        unique: Path to a value of which only the first row is kept, such as
            ("prompt", "content"); empty to keep all rows.
        revision: Commit of the hub data set; None for the present one.
        archive: True where the images are files in a zip beside the rows, on the hub too.
    """

    name: str
    hub: str
    splits: Mapping[str, Split]
    texts: tuple[str, ...]
    values: tuple[str, ...] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    images: tuple[str, ...] = ()
    more_images: tuple[str, ...] = ()
    paths: Callable[[Row], Sequence[str]] | tuple[str, ...] | None = None
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    answer: str = "answer"
    key: str = "id"
    unique: tuple[str, ...] = ()
    revision: str | None = None
    archive: bool = False

    @property
    def question(self) -> str:
        """The column of the question."""
        return (*self.texts, *self.values)[0]

    def empty_column(self, row: Row) -> str | None:
        """The first column that must hold a value and holds none, the answer also if blank."""
        for name in (*self.texts, *self.values):
            value = row.get(name)
            if value is None or (name == self.answer and _is_blank(value)):
                return name
        return None

    def renaming(self, columns: Collection[str]) -> dict[str, str]:
        """Column names to replace: aliases of columns that are missing, and these columns."""
        return {
            other: name
            for name, others in self.aliases.items()
            for other in others[::-1]
            if name not in columns and other in columns
        }

    def renamed(self, row: Row) -> dict[str, Any]:
        """The row with the names of the columns here."""
        names = self.renaming(row)
        return {names.get(name, name): value for name, value in row.items()}

    def image_files(self, row: Row) -> Sequence[str]:
        """The names of the image files of a row of JSON.

        Raises:
            DataError: For a name that is no string.
        """
        if callable(self.paths):
            names = self.paths(row)
        elif self.paths is not None:
            names = _listed(next((row[name] for name in self.paths if row.get(name)), ""))
        else:
            names = [row[name] for name in (*self.images, *self.more_images) if row.get(name)]
        for name in names:
            if not isinstance(name, str):
                cells = ((key, each) for key, value in row.items() for each in _listed(value))
                column = next(key for key, each in cells if each is name)
                raise DataError(f"column {column!r} holds {name!r:.40}, {_FILE} was expected")
        return names

    def files(self, folder: str) -> dict[str, tuple[str, ...]]:
        """Prefixes of the names of the files of each split in a folder, or of its configuration."""
        splits = self.splits.items()
        own = {name: split for name, split in splits if split.config == folder} or self.splits
        return {name: split.files or (name,) for name, split in own.items()}

    def folders(self) -> list[str]:
        """Subfolders of local files: that of a repository, and those of configurations."""
        return ["data", *sorted({split.config for split in self.splits.values() if split.config})]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_blank(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, Sequence) and all(map(_is_blank, value))


def check_columns(schema: Schema, where: str, kinds: Mapping[str, str]) -> None:
    """Checks the types of the columns of a file.

    Args:
        schema: The expected columns.
        where: The file or repository, for errors.
        kinds: The type of each column, in words.

    Raises:
        DataError: For a column that is missing or of another type.
    """
    for name in (*schema.texts, *schema.values, *schema.images):
        expected = _expected(schema, name)
        if name not in kinds:
            there = ", ".join(kinds)
            raise DataError(f"{where} has no column {name!r} ({expected}): it has {there}")
        if not _fits(schema, name, kinds[name].lower()):
            raise DataError(
                f"{where}: column {name!r} holds {kinds[name]}, {expected} were expected"
            )


def check_values(schema: Schema, row: Row) -> None:
    """Checks the kinds of the values of a row, of which some may be absent.

    Raises:
        DataError: For a value of another kind.
    """
    kinds = dict.fromkeys((*schema.texts, schema.key), ANSWER) | dict(schema.kinds)
    for name, kind in kinds.items():
        value = row.get(name)
        if value is not None and not kind.fits(value):
            raise DataError(f"column {name!r} holds {value!r:.40}, {kind.words} was expected")


def _expected(schema: Schema, name: str) -> str:
    if name in schema.images:
        return f"images, a struct of bytes and path, or in JSON {_FILE}"
    return "strings" if name in schema.texts else "values of any type"


def _fits(schema: Schema, name: str, kind: str) -> bool:
    if name in schema.images:
        return "image" in kind or "bytes" in kind
    return name in schema.values or ("string" in kind and not kind.startswith(("struct", "list")))
