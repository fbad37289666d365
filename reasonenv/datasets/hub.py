"""Data sets of the Hugging Face hub.

`python -m reasonenv.datasets.hub OWNER/NAME` prints the present revision of a data set.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from reasonenv.console import print_line
from reasonenv.datasets.row_files import ELSEWHERE
from reasonenv.datasets.row_tables import PlacedImage, first_rows
from reasonenv.datasets.schema import Schema, check_columns
from reasonenv.errors import DownloadError


def hub_table(schema: Schema, split: str) -> "HubTable":
    """The rows of a split, downloaded once.

    Raises:
        DownloadError: When the hub cannot be reached or has no such split.
        DataError: When a column is missing or of another type.
    """
    from datasets import load_dataset

    part = schema.splits[split]
    name = part.repository or schema.hub
    try:
        dataset = load_dataset(name, part.config, revision=schema.revision, split=part.hub)
    # Network, authentication or repository: local files help in every case.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        message = f"{name} cannot be read from the hub ({reason}): {ELSEWHERE}"
        raise DownloadError(message) from None
    dataset = dataset.rename_columns(schema.renaming(dataset.column_names))
    check_columns(schema, name, {name: str(kind) for name, kind in dataset.features.items()})
    return HubTable(dataset, schema)


class HubTable:
    """Rows of a `datasets.Dataset`, which are mapped into memory.

    Args:
        dataset: With the columns of the schema.
        schema: Its image columns and unique values.
    """

    def __init__(self, dataset: Any, schema: Schema) -> None:
        from datasets import Image

        columns = (*schema.images, *schema.more_images)
        images = [name for name in columns if _is_image(dataset.features.get(name))]
        for name in images:
            dataset = dataset.cast_column(name, Image(decode=False))
        if schema.unique:
            dataset = dataset.select(_first_rows(dataset, schema))
        self._words, self._images = dataset.remove_columns(images), dataset.select_columns(images)
        self._names, self._needed = images, set(schema.images)

    def __len__(self) -> int:
        return len(self._words)

    def words(self, index: int) -> dict[str, Any]:
        """A row without its images."""
        return self._words[index]

    def images(self, index: int) -> tuple[PlacedImage, ...]:
        """The images of a row, {bytes, path} each, with their places."""
        row = self._images[index] if self._names else {}
        cells = {name: cell for name, cell in row.items() if cell or name in self._needed}
        return tuple((f"column {name!r}", cell) for name, cell in cells.items())

    def column(self, name: str) -> Iterable[Any]:
        """The values of a text column."""
        if name not in self._words.column_names:
            return [None] * len(self)
        return self._words.with_format("arrow", columns=[name])[:].column(name).to_pylist()


def _is_image(feature: Any) -> bool:
    return feature is not None and ("Image" in str(feature) or "bytes" in str(feature))


def _first_rows(dataset: Any, schema: Schema) -> list[int]:
    values: set[str] = set()
    rows, start = [], 0
    for batch in dataset.data.to_batches():
        rows += [start + row for row in first_rows(batch, schema.unique, values)]
        start += batch.num_rows
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the present revisions of data sets; returns 0, or 1 when the hub has none."""
    from huggingface_hub import dataset_info

    for name in sys.argv[1:] if arguments is None else arguments:
        try:
            print_line(f"{name} {dataset_info(name).sha}")
        # Network, authentication or repository: one line in every case.
        except Exception as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            print_line(f"error: the hub does not tell of {name}: {reason}", sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
