"""Tables of the grader: files of rows, whose columns are separated by tabs."""

from collections.abc import Sequence
from pathlib import Path


def rows(name: str) -> Sequence[Sequence[str]]:
    """The rows of a table beside this file, without the comments at its start."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("# ")]
