"""Rows of local files: Parquet as on the hub, or JSON with separate image files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reasonenv.console import warn
from reasonenv.datasets.images import ImageFiles
from reasonenv.datasets.schema import Row, Schema, check_columns, check_values
from reasonenv.datasets.table import PlacedImage, Table, parquet_table
from reasonenv.errors import DataError, MissingDataError
from reasonenv.files import read_objects

ELSEWHERE = "give local files in the same format with data=DIR, --data DIR or REASONENV_DATA"
SUFFIXES = (".parquet", ".jsonl", ".json")


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
    files = _split_files(schema, split, folder)
    if files[0].suffix == ".parquet" and not schema.archive:
        table = parquet_table(schema, files)
    else:
        table = _json_table(schema, split, folder, files)
    if not len(table.rows):
        raise DataError(f"the split {split!r} of {schema.name} in {data} has no rows")
    return table


def dataset_folder(name: str, data: Path) -> Path:
    """The folder of the data set called `name`: `data` itself, or its subfolder of that name.

    Raises:
        MissingDataError: When there is no such folder.
    """
    if not data.is_dir():
        raise MissingDataError(f"there is no folder {data}: {ELSEWHERE}")
    return data / name if (data / name).is_dir() else data


def data_files(schema: Schema, folder: Path) -> list[Path]:
    """The files of rows in the folder of a data set, and in its usual subfolders."""
    folders = [folder, *(folder / name for name in schema.folders())]
    files = [file for path in folders if path.is_dir() for file in sorted(path.iterdir())]
    return [file for file in files if file.suffix in SUFFIXES]


def split_of_file(file: Path, schema: Schema) -> str | None:
    """The split with the longest prefix of the name of a file; None without one."""
    matches = [
        (len(prefix), split)
        for split, names in schema.files(file.parent.name).items()
        for prefix in names
        if file.stem == prefix or (file.name.startswith(prefix) and file.name[len(prefix)] in "-_.")
    ]
    return max(matches)[1] if matches else None


def _split_files(schema: Schema, split: str, folder: Path) -> list[Path]:
    """The Parquet files of a split where there are any, else its JSON files."""
    files = data_files(schema, folder)
    matches = [file for file in files if split_of_file(file, schema) == split]
    if not matches:
        prefixes = schema.splits[split].files or (split,)
        expected = " or ".join(f"{prefix}-*.parquet" for prefix in prefixes)
        lack = f"split {split!r} of {schema.name}" if files else f"file of {schema.name}"
        there = f"; {', '.join(file.name for file in files[:3])} found" if files else ""
        raise MissingDataError(
            f"{folder} has no {lack}: {expected} was expected, or .jsonl or .json{there}"
        )
    return [file for file in matches if file.suffix == ".parquet"] or matches


def _json_table(schema: Schema, split: str, folder: Path, files: Sequence[Path]) -> Table:
    """The rows of JSON files; of several rows with one key, the first counts."""
    rows: dict[str, Row] = {}
    images: list[list[PlacedImage]] = []
    missing = 0
    for file, raw_rows in _with_questions(schema, files).items():
        image_files = ImageFiles(file.parent, folder)
        for number, raw in enumerate(raw_rows):
            where = f"{file}, row {number}"
            row, names = _checked(schema, raw, where)
            key = _key(schema, row, f"{file.name}/{number}")
            if key in rows:
                if not schema.unique and rows[key][schema.question] != row[schema.question]:
                    line = "another row with this id has another question"
                    raise DataError(f"{where} (id {key!r}): {line}")
                continue
            rows[key] = row
            paths = [(f"file {name!r}", image_files.find(name)) for name in names]
            missing += any(path is None for _, path in paths)
            images.append([(place, path) for place, path in paths if path])
    if missing:
        lack = f"{missing} of {len(rows)} problems lack an image in {folder}"
        warn(f"{schema.name} {split}: {lack} and are posed without it")
    return Table(list(rows.values()), images.__getitem__)


def _with_questions(schema: Schema, files: Sequence[Path]) -> dict[Path, list[dict[str, Any]]]:
    """The rows of the files that hold questions; of the first if all hold labels alone."""
    names = {schema.question, *schema.aliases.get(schema.question, ())}
    rows = {file: list(read_objects(file)) for file in files}
    with_questions = [file for file in files if rows[file] and names & rows[file][0].keys()]
    return {file: rows[file] for file in with_questions or files[:1]}


def _checked(schema: Schema, row: Row, where: str) -> tuple[Row, Sequence[str]]:
    """The row with the column names of the schema, checked, and the names of its image files."""
    row = schema.renamed(row)
    # Empty values are reported later, with all others; images are separate files.
    kinds = {
        name: "string" if value is None or isinstance(value, str) else type(value).__name__
        for name, value in row.items()
    }
    files = [each for each in schema.images if schema.paths or isinstance(row.get(each), str)]
    check_columns(schema, where, kinds | dict.fromkeys(files, "image"))
    try:
        check_values(schema, row)
        return row, schema.image_files(row)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def _key(schema: Schema, row: Row, default: str) -> str:
    """The unique value of a row, else its id."""
    if not schema.unique:
        return str(row.get(schema.key, default))
    value: Any = row
    for name in schema.unique:
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if not isinstance(value, Mapping):
            raise DataError(f"column {schema.unique[0]!r} of row {default} has no {name!r}")
        value = value.get(name)
    return str(value)
