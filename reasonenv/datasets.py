"""Rows of a hub data set, or of local files in the same format, as problems."""

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
from PIL import Image, ImageOps

from reasonenv.problem import Problem

VARIABLE = "REASONENV_DATA"
_ELSEWHERE = f"give local files in the same format with data=DIR, --data DIR or {VARIABLE}"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Source:
    """Where a data set lies and what its rows look like.

    Args:
        name: Its subfolder in a folder of several data sets.
        hub: Its name on the Hugging Face hub.
        revision: Commit of the hub data set, so that an environment means one thing for ever.
        texts: Columns that hold a string in every row.
        images: Columns of images, {bytes, path}.
    """

    name: str
    hub: str
    revision: str
    texts: tuple[str, ...]
    images: tuple[str, ...] = ()


class Rows(Sequence[Problem]):
    """Problems of a data set, made when they are asked for: no image is decoded before.

    Args:
        rows: A `datasets.Dataset` whose images are not decoded, or any sequence of mappings.
        convert: One row to its problem.
        name: What an error calls the rows.
    """

    def __init__(
        self, rows: Sequence[Row] | Any, convert: Callable[[Row], Problem], name: str
    ) -> None:
        self._rows, self._convert, self._name = rows, convert, name

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> list[Problem]: ...
    def __getitem__(self, index: int | slice) -> Problem | list[Problem]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = self._rows[index]
        try:
            return self._convert(row)
        except ValueError as error:
            raise ValueError(f"{self._name}, row {index} (id {row.get('id')!r}): {error}") from None

    def __iter__(self) -> Iterator[Problem]:
        return (self[index] for index in range(len(self)))


def load(
    source: Source,
    split: str,
    data: str | os.PathLike[str] | None,
    convert: Callable[[Row], Problem],
) -> Rows:
    """The problems of a split: from `data`, else from REASONENV_DATA, else from the hub.

    Args:
        source: What to read.
        split: Name of the split; local files are called `<split>-*.parquet`.
        data: The folder of this data set, or a folder with a subfolder called `source.name`.
        convert: One row to its problem.

    Raises:
        FileNotFoundError: When the folder does not have the split.
        ValueError: When a file or a column is not what it should be.
        ConnectionError: When the hub cannot be reached.
    """
    data = data or os.environ.get(VARIABLE)
    rows = _from_hub(source, split) if data is None else _from_folder(source, split, Path(data))
    _check_values(source, split, rows)
    return Rows(rows, convert, f"{source.name} {split}")


def _from_hub(source: Source, split: str) -> Any:
    from datasets import load_dataset

    try:
        rows = load_dataset(source.hub, revision=source.revision, split=split)
    # Whatever fails between here and the hub, the cure is the same.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        message = f"{source.hub} cannot be read from the hub ({reason}): {_ELSEWHERE}"
        raise ConnectionError(message) from None
    _check_columns(source, source.hub, {name: str(kind) for name, kind in rows.features.items()})
    return _undecoded(source, rows)


def _from_folder(source: Source, split: str, data: Path) -> Any:
    from datasets import load_dataset

    files = []
    for file in split_files(source, split, data):
        columns, num_rows = _summary(file)
        _check_columns(source, str(file), columns)
        files += [str(file)] if num_rows else []
    if not files:
        raise ValueError(f"the split {split!r} of {source.name} in {data} has no rows")
    try:
        rows = load_dataset("parquet", data_files={split: files}, split=split)
    # The columns are right, so what fails is the content of a file or the disk of the cache.
    except Exception as error:
        reason = str(error.__cause__ or error).strip().partition("\n")[0]
        raise ValueError(f"the files of {source.name} in {data} cannot be read: {reason}") from None
    return _undecoded(source, rows)


def split_files(source: Source, split: str, data: Path) -> list[Path]:
    """The parquet files of a split, in the folder or below it as the hub has them."""
    if not data.is_dir():
        raise FileNotFoundError(f"there is no folder {data}: {_ELSEWHERE}")
    folder = data / source.name if (data / source.name).is_dir() else data
    files = sorted([*folder.glob("*.parquet"), *folder.glob("data/*.parquet")])
    if not files:
        raise FileNotFoundError(
            f"{data} has no parquet file of {source.name}: {split}-*.parquet was expected there "
            f"or in {data / source.name}"
        )
    chosen = [file for file in files if file.name.startswith((f"{split}-", f"{split}."))]
    if not chosen:
        raise FileNotFoundError(
            f"{folder} has no split {split!r} of {source.name}: {split}-*.parquet was expected, "
            f"{', '.join(file.name for file in files[:3])} found"
        )
    return chosen


def _summary(file: Path) -> tuple[dict[str, str], int]:
    """The types of a file's columns by name, and how many rows it has."""
    from pyarrow import ArrowException, parquet

    try:
        schema, num_rows = parquet.read_schema(file), parquet.read_metadata(file).num_rows
    except (ArrowException, OSError) as error:
        raise ValueError(f"{file} is not a readable parquet file: {error}") from None
    return {field.name: str(field.type) for field in schema}, num_rows


def _check_columns(source: Source, where: str, kinds: Mapping[str, str]) -> None:
    """An error that names the file, the column and what was expected, unless all is well."""
    for name in (*source.texts, *source.images):
        is_text = name in source.texts
        expected = "strings" if is_text else "images, a struct of bytes and path"
        if name not in kinds:
            raise ValueError(
                f"{where} has no column {name!r} ({expected}): it has {', '.join(kinds)}"
            )
        kind = kinds[name].lower()
        fits = "string" in kind if is_text else "image" in kind or "bytes" in kind
        if not fits or (is_text and kind.startswith(("struct", "list"))):
            raise ValueError(
                f"{where}: column {name!r} holds {kinds[name]}, {expected} were expected"
            )


def _check_values(source: Source, split: str, rows: Any) -> None:
    for name in source.texts:
        if rows.data.column(name).null_count:
            missing = rows.data.column(name).is_null().to_pylist().index(True)
            raise ValueError(f"{source.name} {split}, row {missing}: column {name!r} is empty")


def _undecoded(source: Source, rows: Any) -> Any:
    from datasets import Image as ImageColumn

    for name in source.images:
        rows = rows.cast_column(name, ImageColumn(decode=False))
    return rows


def decode(cell: Mapping[str, Any] | None) -> np.ndarray:
    """An image cell, {bytes, path}, as [height, width, 3] uint8 whatever its mode.

    Raises:
        ValueError: When there is no image, or none that can be read.
    """
    data = (cell or {}).get("bytes")
    if not data:
        raise ValueError("the image is missing")
    try:
        image = Image.open(io.BytesIO(data))
        image.load()
    # Pillow raises a dozen types, SyntaxError and struct.error among them, on broken files.
    except Exception as error:
        raise ValueError(f"the image cannot be read: {error}") from None
    return rgb(image)


def rgb(image: Image.Image) -> np.ndarray:
    """An image of any mode as [height, width, 3] uint8, upright, on white where transparent."""
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I") or image.mode == "F":
        values = np.asarray(image, dtype=np.float64)
        # Sixteen bits are scaled down; Pillow's own conversion would clip them.
        values = values / 257 if values.max(initial=0) > 255 else values
        image = Image.fromarray(values.clip(0, 255).round().astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return np.array(image.convert("RGB"))
