"""Atomic replacement and durable append: a kill or a full disk leaves no half-written file."""

import os
from pathlib import Path

from reasonenv.files import atomic_write, named_errors, sync


def write_atomically(path: Path, content: bytes) -> None:
    """Replaces a file, durably on return; see `reasonenv.files.atomic_write`."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


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


def sync_all(folder: Path) -> None:
    """Syncs a folder and all that is in it to disk."""
    for path in (folder, *folder.rglob("*")):
        sync(path)
