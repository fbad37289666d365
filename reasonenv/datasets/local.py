"""Rows of local files: Parquet as on the hub, or JSON with the images in files beside it."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reasonenv.datasets import files
from reasonenv.datasets.images import ImageFiles
from reasonenv.datasets.parquet import Parquet
from reasonenv.datasets.schema import Row, Source, check_columns
from reasonenv.datasets.tables import Joined, Listed, Table
from reasonenv.errors import DataError

_LOG = logging.getLogger("reasonenv")


def table(source: Source, split: str, data: Path) -> Table:
    """The rows of a split.

    Args:
        source: What to read.
        split: Name of the split.
        data: The folder of this data set, or a folder with a subfolder called `source.name`.

    Raises:
        MissingDataError: When there is no such file.
        DataError: In one line, when a file, a column or a row is not what it should be.
    """
    folder = files.folder(source.name, data)
    found = files.of_split(folder, split, source.files(), source.name, source.folders())
    if found[0].suffix == ".parquet":
        tables = [Parquet(file, source) for file in found]
        made = Joined([each for each in tables if len(each)])
    else:
        made = _listed(source, split, folder, found)
    if not len(made):
        raise DataError(f"the split {split!r} of {source.name} in {data} has no rows")
    return made


def _listed(source: Source, split: str, folder: Path, found: Sequence[Path]) -> Listed:
    """The rows of files of JSON; of several files that have a row, the first counts."""
    rows: dict[str, dict[str, Any]] = {}
    images = []
    missing = 0
    for file in _with_questions(source, found):
        beside = ImageFiles(file.parent, folder)
        for number, row in enumerate(files.rows(file)):
            named = _checked(source, row, f"{file}, row {number}")
            key = _key(source, named, f"{file.name}/{number}")
            if key in rows:
                _check_same(source, rows[key], named, f"{file}, row {number} (id {key!r})")
                continue
            rows[key] = named
            cells = [beside.find(name) for name in source.image_files(named)]
            missing += None in cells
            images.append(tuple(cell for cell in cells if cell is not None))
    if missing:
        _LOG.warning(
            "%s %s: %d of %d problems lack an image in %s and are posed without it",
            *(source.name, split, missing, len(rows), folder),
        )
    return Listed(list(rows.values()), images)


def _with_questions(source: Source, found: Sequence[Path]) -> list[Path]:
    """The files whose rows hold questions; those of mere labels, unless there are no others."""
    asked = source.question
    names = {asked, *source.aliases.get(asked, ())}
    firsts = {file: next(files.rows(file), {}) for file in found}
    return [file for file in found if names & set(firsts[file])] or list(found[:1])


def _checked(source: Source, row: dict[str, Any], where: str) -> dict[str, Any]:
    """The row with its columns called as they are here."""
    renamed = source.renamed(row)
    row = {renamed.get(name, name): value for name, value in row.items()}
    # What is empty is told later, with everything else that is; images are files beside.
    kinds = {name: _kind(value) for name, value in row.items()}
    named = [each for each in source.images if source.paths or isinstance(row.get(each), str)]
    check_columns(source, where, kinds | dict.fromkeys(named, "image"))
    return row


def _kind(value: object) -> str:
    return "string" if value is None or isinstance(value, str) else type(value).__name__


def _key(source: Source, row: Row, otherwise: str) -> str:
    """What tells rows apart: the value at the path of what is unique, else the id."""
    if not source.unique:
        return str(row.get(source.key, otherwise))
    value: Any = row[source.unique[0]]
    for name in source.unique[1:]:
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if not isinstance(value, dict):
            raise DataError(f"column {source.unique[0]!r} of row {otherwise} has no {name!r}")
        value = value.get(name)
    return str(value)


def _check_same(source: Source, one: Row, other: Row, where: str) -> None:
    question = source.question
    if not source.unique and one[question] != other[question]:
        raise DataError(f"{where}: another row with this id has another question")
