"""Exclusive use of a run directory by one process."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from agents.errors import UsageError

LOCK = ".lock"
"""File within the directory, with the process that writes there."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Exclusive use of a folder, which is created if missing, and then removed if left empty.

    The operating system releases the lock when its process ends, a killed one too.

    Raises:
        UsageError: The folder is not writable, or another process uses it.
    """
    check_writable(folder)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    # Before the attempt, which truncates the file in old filelocks.
    holder = path.read_text(errors="replace") if path.is_file() else ""
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise UsageError(
            f"{folder} is in use by {holder or 'another process'}: wait for its end, stop it, or "
            "give another --output-dir"
        ) from error
    try:
        path.write_text(f"process {os.getpid()} on {platform.node()}")
        yield
    finally:
        lock.release()
        with suppress(OSError):  # a folder that cannot be removed stays
            if is_new and [entry.name for entry in folder.iterdir()] == [LOCK]:
                path.unlink()
                folder.rmdir()


def check_writable(folder: Path) -> None:
    """Raises UsageError for a folder that cannot be written."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: give another --output-dir")
    parent = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {folder} in {parent}: give another --output-dir")
