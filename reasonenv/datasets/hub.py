"""Data sets of the Hugging Face hub.

`python -m reasonenv.datasets.hub OWNER/NAME` prints the present revision of a data set.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from reasonenv.console import print_line
from reasonenv.datasets.local import ELSEWHERE, local_table
from reasonenv.datasets.schema import Schema
from reasonenv.datasets.table import Table, check_schema, table_of
from reasonenv.errors import DownloadError


def hub_table(schema: Schema, split: str) -> Table:
    """The rows of a split, downloaded once.

    Raises:
        DownloadError: When the hub cannot be reached or has no such split.
        DataError: When a column is missing or of another type.
    """
    from datasets import load_dataset
    from huggingface_hub import snapshot_download

    part = schema.splits[split]
    name = part.repository or schema.hub
    try:
        if schema.archive:
            folder = snapshot_download(name, repo_type="dataset", revision=schema.revision)
            return local_table(schema, split, Path(folder))
        dataset = load_dataset(name, part.config, revision=schema.revision, split=part.hub)
    # Network, authentication or repository: local files help in every case.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        message = f"{name} cannot be read from the hub ({reason}): {ELSEWHERE}"
        raise DownloadError(message) from None
    check_schema(schema, name, dataset.features.arrow_schema)
    return table_of(dataset, schema)


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
