"""Files that are replaced as a whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reasonenv.errors import UsageError


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file that replaces `path` once it is written; a kill leaves old or new.

    Raises:
        UsageError: The path is a device, a pipe or a folder, which would be replaced.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is a device, a pipe or a folder: give a file")
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with named_errors(path):
            yield temporary
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def named_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Adds the path to an OSError that names no file, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
