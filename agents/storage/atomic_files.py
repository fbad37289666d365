"""Atomic replacement and durable append: a kill or a full disk leaves no half-written file."""

import os
import secrets
from pathlib import Path

from agents.errors import UsageError
from reasonenv.files import named_errors


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces a file; after a kill, it has either its old or its new content.

    Of several processes that write it at once, the last one's content stays.

    Raises:
        UsageError: The path is a device, a pipe or a folder, which would be replaced.
    """
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is a device, a pipe or a folder: give a file")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with named_errors(path), temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


def append(path: Path, content: bytes) -> None:
    """Appends to a file and syncs it to disk; a failure leaves the file as it was."""
    with named_errors(path), path.open("ab", buffering=0) as file:
        end = file.tell()
        rest = content
        try:
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(end)
            raise


def sync(path: Path) -> None:
    """Syncs a file, or the list of names of a folder, to disk."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(folder: Path) -> None:
    """Syncs a folder and all that is in it to disk."""
    for path in (folder, *folder.rglob("*")):
        sync(path)
