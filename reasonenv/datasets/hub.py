"""Data sets of the Hugging Face hub.

`python -m reasonenv.datasets.hub OWNER/NAME` prints the present revision of a data set.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from reasonenv.datasets.files import ELSEWHERE
from reasonenv.datasets.schema import Source, check_columns
from reasonenv.datasets.tables import Cell, first_rows
from reasonenv.errors import DownloadError


def table(source: Source, split: str) -> "Hub":
    """The rows of a split, downloaded once.

    Raises:
        DownloadError: When the hub cannot be reached or does not have them.
        DataError: When a column is not what it should be.
    """
    from datasets import load_dataset

    part = source.splits[split]
    name = part.repository or source.hub
    try:
        dataset = load_dataset(name, part.config, revision=source.revision, split=part.hub)
    # Whatever fails between here and the hub, the cure is the same.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        message = f"{name} cannot be read from the hub ({reason}): {ELSEWHERE}"
        raise DownloadError(message) from None
    dataset = dataset.rename_columns(source.renamed(dataset.column_names))
    check_columns(source, name, {name: str(kind) for name, kind in dataset.features.items()})
    return Hub(dataset, source)


class Hub:
    """Rows of a `datasets.Dataset`, which are mapped into memory.

    Args:
        dataset: With the columns that `source` expects.
        source: Which of them are images, and whether equal rows are left out.
    """

    def __init__(self, dataset: Any, source: Source) -> None:
        from datasets import Image

        known = (*source.images, *source.more_images)
        images = [name for name in known if _is_image(dataset.features.get(name))]
        for name in images:
            dataset = dataset.cast_column(name, Image(decode=False))
        if source.unique:
            dataset = dataset.select(_first_rows(dataset, source))
        self._words, self._images = dataset.remove_columns(images), dataset.select_columns(images)
        self._names, self._needed = images, set(source.images)

    def __len__(self) -> int:
        return len(self._words)

    def words(self, index: int) -> dict[str, Any]:
        """A row without its images."""
        return self._words[index]

    def images(self, index: int) -> tuple[Cell, ...]:
        """The images of a row, {bytes, path} each."""
        row = self._images[index] if self._names else {}
        return tuple(cell for name, cell in row.items() if cell or name in self._needed)

    def column(self, name: str) -> Iterable[Any]:
        """The values of a column of words."""
        if name not in self._words.column_names:
            return [None] * len(self)
        return self._words.with_format("arrow", columns=[name])[:].column(name).to_pylist()


def _is_image(feature: Any) -> bool:
    return feature is not None and ("Image" in str(feature) or "bytes" in str(feature))


def _first_rows(dataset: Any, source: Source) -> list[int]:
    seen: set[str] = set()
    chosen, start = [], 0
    for batch in dataset.data.to_batches():
        chosen += [start + row for row in first_rows(batch, source.unique, seen)]
        start += batch.num_rows
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the present revisions of data sets; returns 0, or 1 when the hub does not tell."""
    from huggingface_hub import dataset_info

    for name in sys.argv[1:] if arguments is None else arguments:
        try:
            print(name, dataset_info(name).sha)
        # Whatever fails between here and the hub, it is told in one line.
        except Exception as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            print(f"error: the hub does not tell of {name}: {reason}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
