"""What is known of a data set before any of it is read."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reasonenv.errors import DataError

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Split:
    """Where a split lies.

    Args:
        hub: What the hub calls it.
        files: What the names of its local files begin with; the name of the split if empty.
        config: Configuration of the hub data set; None for its only one.
        repository: Its repository on the hub where that is not the source's.
    """

    hub: str
    files: tuple[str, ...] = ()
    config: str | None = None
    repository: str | None = None


@dataclass(frozen=True)
class Fault:
    """A row that is no problem.

    Args:
        id: By which it can be left out.
        line: What is wrong, and where.
    """

    id: str
    line: str


@dataclass(frozen=True)
class Source:
    """Where a data set lies and what its rows look like.

    Args:
        name: Its subfolder in a folder of several data sets.
        hub: Its repository on the Hugging Face hub.
        splits: By name, as the environment calls them.
        texts: Columns that hold a string in every row; the first is the question.
        values: Columns that hold something in every row: a number, a list, ...
        images: Columns of images, {bytes, path}, one in every row.
        more_images: Columns of images that a file or a row may lack.
        paths: Of a row of JSON, the files of its images; by default what its columns of images say.
        aliases: For a column, the names that it may have instead.
        answer: The column that must not be blank.
        key: The column that tells rows apart where several files have them.
        unique: Path to what only the first of equal rows is kept for, such as
            ("prompt", "content"); empty to keep all.
        revision: Commit of the hub data set; None for its present one.
    """

    name: str
    hub: str
    splits: Mapping[str, Split]
    texts: tuple[str, ...]
    values: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    more_images: tuple[str, ...] = ()
    paths: Callable[[Row], Sequence[str]] | None = None
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    answer: str = "answer"
    key: str = "id"
    unique: tuple[str, ...] = ()
    revision: str | None = None

    @property
    def question(self) -> str:
        """The column of the question."""
        return (*self.texts, *self.values)[0]

    def renamed(self, columns: Collection[str]) -> dict[str, str]:
        """Which columns are to be called otherwise, and what: other names of those that lack."""
        return {
            other: name
            for name, others in self.aliases.items()
            for other in others[::-1]
            if name not in columns and other in columns
        }

    def image_files(self, row: Row) -> Sequence[str]:
        """The files of the images of a row of JSON, as the row names them."""
        if self.paths is not None:
            return self.paths(row)
        return [row[name] for name in (*self.images, *self.more_images) if row.get(name)]

    def files(self) -> dict[str, tuple[str, ...]]:
        """What the names of the local files of each split begin with."""
        return {name: split.files or (name,) for name, split in self.splits.items()}

    def folders(self) -> list[str]:
        """Subfolders in which local files may lie: that of a repository, and of configurations."""
        return ["data", *sorted({split.config for split in self.splits.values() if split.config})]


def check_columns(source: Source, where: str, kinds: Mapping[str, str]) -> None:
    """An error that names the file, the column and what was expected, unless all is well.

    Args:
        source: What is expected.
        where: The file or repository.
        kinds: The type of each column, in words.
    """
    for name in (*source.texts, *source.values, *source.images):
        expected = _expected(source, name)
        if name not in kinds:
            there = ", ".join(kinds)
            raise DataError(f"{where} has no column {name!r} ({expected}): it has {there}")
        if not _fits(source, name, kinds[name].lower()):
            raise DataError(
                f"{where}: column {name!r} holds {kinds[name]}, {expected} were expected"
            )


def _expected(source: Source, name: str) -> str:
    if name in source.images:
        return "images, a struct of bytes and path, or in JSON the name of a file"
    return "strings" if name in source.texts else "values of any type"


def _fits(source: Source, name: str, kind: str) -> bool:
    if name in source.images:
        return "image" in kind or "bytes" in kind
    return name in source.values or ("string" in kind and not kind.startswith(("struct", "list")))
