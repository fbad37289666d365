"""Files that are whole at any moment, whatever is killed or full."""

import json
import os
from pathlib import Path
from typing import Any


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces a file by a whole new one: a kill leaves the old or the new."""
    aside = path.with_name(f".{path.name}.tmp")
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
    sync(path.parent)


def append(path: Path, content: bytes) -> None:
    """Adds to the end of a file, on the disk on return; a failure leaves the file as it was."""
    with path.open("ab", buffering=0) as file:
        end = file.tell()
        rest = content
        try:
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(end)
            raise


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        ValueError: There is none, or the file cannot be read.
    """
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read {path}: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"cannot read {path}: expected an object, found {type(content).__name__}")
    return content


def sync(path: Path) -> None:
    """Brings a file or a folder's list of names to the disk."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
