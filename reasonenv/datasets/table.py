"""Tables of rows: words, and images before they are decoded."""

import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from reasonenv.datasets.images import ZippedImage
from reasonenv.datasets.schema import Row, Schema, check_columns
from reasonenv.errors import DataError
from reasonenv.files import parquet_file

PlacedImage = tuple[str, Mapping[str, Any] | Path | ZippedImage | None]
"""The column or file of an image in words, and the image before decoding: {bytes, path}, a file, or
None where it is missing."""
_BATCH_ROWS = 100
_BUFFER_BYTES = 2**20


@dataclass(frozen=True)
class Table:
    """Rows by number.

    Args:
        rows: In memory, without their images; a column may hold values of several types.
        images: Function of the number of a row to its images.
    """

    rows: Sequence[Row]
    images: Callable[[int], Sequence[PlacedImage]]


def table_of(dataset: Any, schema: Schema) -> Table:
    """The rows of a `datasets.Dataset`, of equal values of `schema.unique` the first.

    Raises:
        DataError: A row has no such value.
    """
    dataset = dataset.rename_columns(schema.renaming(dataset.column_names))
    if schema.unique:
        dataset = dataset.select(_first_rows(dataset, schema.unique))
    rows, large = rows_and_large(dataset)
    names = [name for name in (*schema.images, *schema.more_images) if name in large.column_names]
    images = large.select_columns(names) if names else None
    return Table(rows, partial(_images, images, schema.images))


def rows_and_large(dataset: Any) -> tuple[list[dict[str, Any]], Any]:
    """The rows of a `datasets.Dataset`, and its columns of bytes apart, such as images.

    These are in the format of Arrow, in which nothing is decoded, and are read row by row.
    """
    arrow = dataset.with_format("arrow")
    large = [field.name for field in dataset.features.arrow_schema if "binary" in str(field.type)]
    texts = arrow.remove_columns(large)
    rows = texts[:].to_pylist() if texts.column_names else [{} for _ in range(len(dataset))]
    return rows, arrow.select_columns(large)


def _images(images: Any, needed: Sequence[str], index: int) -> list[PlacedImage]:
    cells = images[index].to_pylist()[0] if images is not None else {}
    return [
        (f"column {name!r}", image)
        for name, cell in cells.items()
        if cell or name in needed
        for image in ((cell or [None]) if isinstance(cell, list) else [cell])
    ]


def _first_rows(dataset: Any, path: Sequence[str]) -> Iterable[int]:
    """The first row of each value at a path; a list in it must have one element in every row."""
    from pyarrow import types

    first: dict[str, int] = {}
    start = 0
    for batch in dataset.select_columns(path[:1]).with_format("arrow").iter(10_000):
        values = batch.column(0).combine_chunks()
        for name in path[1:]:
            if types.is_list(values.type) or types.is_large_list(values.type):
                if set(values.value_lengths().to_numpy(zero_copy_only=False)) - {1}:
                    line = f"column {path[0]!r} has a row of more or less than one element"
                    raise DataError(line)
                values = values.flatten()
            values = values.field(name)
        for row, value in enumerate(values.to_pylist(), start):
            first.setdefault(value, row)
        start += len(values)
    return first.values()


def check_schema(schema: Schema, where: str, arrow_schema: Any) -> None:
    """Raises DataError where a column is missing or of another type."""
    renaming = schema.renaming(arrow_schema.names)
    types: dict[str, str] = {field.name: str(field.type) for field in arrow_schema}
    check_columns(schema, where, {renaming.get(name, name): types[name] for name in types})


def parquet_table(schema: Schema, files: Sequence[Path]) -> Table:
    """The rows of Parquet files, one after the other.

    Raises:
        DataError: A file is damaged, or its columns do not fit.
    """
    from datasets import concatenate_datasets

    datasets = [parquet_dataset(file) for file in files]
    for file, each in zip(files, datasets, strict=True):
        check_schema(schema, str(file), each.features.arrow_schema)
    try:
        dataset = concatenate_datasets(datasets)
    except ValueError as error:
        line = f"{files[0]} and others have columns of one name and different types: {error}"
        raise DataError(" ".join(line.split())) from None
    return table_of(dataset, schema)


def parquet_dataset(path: Path) -> Any:
    """The rows of a Parquet file as a `datasets.Dataset`, mapped into memory.

    The library writes them to its cache once, `HF_DATASETS_CACHE`, whatever the row groups.

    Raises:
        DataError: The file is none, or damaged.
    """
    import pyarrow
    from datasets import Dataset
    from datasets.exceptions import DatasetsError
    from pyarrow.dataset import ParquetFragmentScanOptions

    with parquet_file(path) as file:
        if not file.metadata.num_rows:  # which the library refuses
            return Dataset(file.schema_arrow.empty_table())
    # A column of images may be larger than memory.
    scan = ParquetFragmentScanOptions(
        use_buffered_stream=True, buffer_size=_BUFFER_BYTES, pre_buffer=False
    )
    options: Any = {"batch_size": _BATCH_ROWS, "fragment_scan_options": scan}
    try:
        with _quiet():
            return Dataset.from_parquet(glob.escape(str(path)), **options)
    except DatasetsError as error:
        reason = str(error.__cause__ or error).partition("\n")[0]
        raise DataError(f"{path} cannot be read: {reason}") from None
    finally:
        pyarrow.default_memory_pool().release_unused()  # else what it took stays with the process


@contextmanager
def _quiet() -> Iterator[None]:
    """Context without the progress bars and log of `datasets`."""
    from datasets import utils
    from datasets.utils import logging

    are_hidden, verbosity = utils.are_progress_bars_disabled(), logging.get_verbosity()
    if not are_hidden:
        utils.disable_progress_bars()
    logging.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if not are_hidden:
            utils.enable_progress_bars()
