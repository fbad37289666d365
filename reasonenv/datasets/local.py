"""Rows of local files: Parquet as on the hub, or JSON with separate image files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reasonenv.datasets.images import ImageFiles
from reasonenv.datasets.parquet import ParquetTable
from reasonenv.datasets.row_files import dataset_folder, split_files
from reasonenv.datasets.row_tables import ConcatTable, MemoryTable, Table
from reasonenv.datasets.schema import Row, Schema, check_columns, check_values
from reasonenv.errors import DataError
from reasonenv.files import read_objects
from reasonenv.terminal import warn


def local_table(schema: Schema, split: str, data: Path) -> Table:
    """The rows of a split.

    Args:
        schema: Schema of the data set.
        split: Name of the split.
        data: The folder of this data set, or a folder with a subfolder called `schema.name`.

    Raises:
        MissingDataError: When there is no file of the split.
        DataError: In one line, when a file, a column or a row does not fit the schema.
    """
    folder = dataset_folder(schema.name, data)
    files = split_files(folder, split, schema.files(), schema.name, schema.folders())
    if files[0].suffix == ".parquet":
        tables = [ParquetTable(file, schema) for file in files]
        table = ConcatTable([each for each in tables if len(each)])
    else:
        table = _memory_table(schema, split, folder, files)
    if not len(table):
        raise DataError(f"the split {split!r} of {schema.name} in {data} has no rows")
    return table


def _memory_table(schema: Schema, split: str, folder: Path, files: Sequence[Path]) -> MemoryTable:
    """The rows of JSON files; of several rows with one key, the first counts."""
    rows: dict[str, dict[str, Any]] = {}
    images = []
    missing = 0
    for file in _with_questions(schema, files):
        image_files = ImageFiles(file.parent, folder)
        for number, raw in enumerate(read_objects(file)):
            row = _normalise(schema, raw, f"{file}, row {number}")
            try:
                check_values(schema, row)
                names = schema.image_files(row)
            except DataError as error:
                raise DataError(f"{file}, row {number}: {error}") from None
            key = _key(schema, row, f"{file.name}/{number}")
            if key in rows:
                _check_same(schema, rows[key], row, f"{file}, row {number} (id {key!r})")
                continue
            rows[key] = row
            cells = [image_files.find(name) for name in names]
            missing += None in cells
            pairs = zip(names, cells, strict=True)
            images.append(tuple((f"file {name!r}", cell) for name, cell in pairs if cell))
    if missing:
        lack = f"{missing} of {len(rows)} problems lack an image in {folder}"
        warn(f"{schema.name} {split}: {lack} and are posed without it")
    return MemoryTable(list(rows.values()), images)


def _with_questions(schema: Schema, files: Sequence[Path]) -> list[Path]:
    """The files whose rows hold questions; the first of the files if all hold labels alone."""
    names = {schema.question, *schema.aliases.get(schema.question, ())}
    firsts = {file: next(read_objects(file), {}) for file in files}
    return [file for file in files if names & set(firsts[file])] or list(files[:1])


def _normalise(schema: Schema, row: dict[str, Any], where: str) -> dict[str, Any]:
    """The row with the column names of the schema, checked."""
    renaming = schema.renaming(row)
    row = {renaming.get(name, name): value for name, value in row.items()}
    # Empty values are reported later, with all others; images are separate files.
    kinds = {name: _kind(value) for name, value in row.items()}
    files = [each for each in schema.images if schema.paths or isinstance(row.get(each), str)]
    check_columns(schema, where, kinds | dict.fromkeys(files, "image"))
    return row


def _kind(value: object) -> str:
    return "string" if value is None or isinstance(value, str) else type(value).__name__


def _key(schema: Schema, row: Row, default: str) -> str:
    """The unique value of a row, else its id."""
    if not schema.unique:
        return str(row.get(schema.key, default))
    value: Any = row[schema.unique[0]]
    for name in schema.unique[1:]:
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if not isinstance(value, dict):
            raise DataError(f"column {schema.unique[0]!r} of row {default} has no {name!r}")
        value = value.get(name)
    return str(value)


def _check_same(schema: Schema, one: Row, other: Row, where: str) -> None:
    question = schema.question
    if not schema.unique and one[question] != other[question]:
        raise DataError(f"{where}: another row with this id has another question")
