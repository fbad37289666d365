"""Exclusive use of a run directory by one process."""

import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from agents.errors import UsageError

LOCK = ".lock"
"""File within the directory, with the process that writes there."""
_HOLDER = re.compile(r"process \d{1,20} on [\w.-]{1,99}", re.ASCII)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Exclusive use of a folder, which is created if missing, and then removed if left empty.

    The operating system releases the lock when its process ends, a killed one too.

    Raises:
        UsageError: The folder is not writable, or another process uses it.
    """
    _check_writable(folder)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    holder = _holder(path)  # before the attempt, which truncates the file in old filelocks
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise UsageError(
            f"{folder} is in use by {holder}: wait for its end, stop it, or give another "
            "--output-dir"
        ) from error
    try:
        path.write_text(f"process {os.getpid()} on {platform.node()}")
        yield
    finally:
        lock.release()
        if is_new:
            _remove_if_empty(folder)


def _remove_if_empty(folder: Path) -> None:
    """Removes a folder with nothing but a lock in it; one that cannot be removed stays."""
    with suppress(OSError):
        if [entry.name for entry in folder.iterdir()] == [LOCK]:
            (folder / LOCK).unlink()
            folder.rmdir()


def _holder(path: Path) -> str:
    try:
        text = path.read_bytes()[:200].decode(errors="replace") if path.is_file() else ""
    except OSError:  # of another user
        text = ""
    return text if _HOLDER.fullmatch(text) else "another process"


def _check_writable(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: give another --output-dir")
    parent = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {folder} in {parent}: give another --output-dir")
