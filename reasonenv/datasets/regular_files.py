"""Regular files: what a folder of data may hold, unlike pipes and devices, which may never end."""

import stat
from pathlib import Path

from reasonenv.errors import DataError


def check_regular(path: Path) -> Path:
    """The path itself, of a file or of a link to one.

    Raises:
        DataError: For a pipe, a device, a socket or a folder.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise DataError(f"{path} is a pipe, a device or a folder: a regular file was expected")
    return path


def read_regular(path: Path, limit: int) -> bytes:
    """The content of a regular file.

    Args:
        path: The file.
        limit: Bytes at most.

    Raises:
        DataError: For a larger file, a pipe, a device, a socket or a folder.
    """
    with check_regular(path).open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise DataError(f"{path} is too large: at most {limit:,} bytes are read")
    return content
