"""Errors that a user can meet; a command ends with one line on these, and on these only.

Each is also of the built-in type that fits it, such as ValueError. Every other exception is a fault
of the program, or of code that a user brings (an environment, a reward, a judge), and keeps its
traceback: such code raises a type of this module where one line says enough.
"""

import errno

SYSTEM_ERRNOS = frozenset(
    {
        *(errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG),
        *(errno.EACCES, errno.EPERM, errno.EROFS),
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ESTALE),
        *(errno.EMFILE, errno.ENFILE),
    }
)
"""Paths that do not exist or cannot be used, permissions, full disks, limits on open files."""


class ReasonEnvError(Exception):
    """Base of the errors of this package."""


class UsageError(ReasonEnvError, ValueError):
    """Raised when an argument, an option or a flag is out of range or does not fit the others."""


class DataError(ReasonEnvError, ValueError):
    """Raised when rows, files or images cannot be read or lack what the data set must have."""


class RowsError(DataError):
    """Raised when rows make no problem; its arguments are lines, each of which a command prints."""

    def __str__(self) -> str:
        """The lines."""
        return "\n".join(self.args)


class MissingDataError(DataError, FileNotFoundError):
    """Raised when a file or folder of data does not exist."""


class DownloadError(DataError, ConnectionError):
    """Raised when a data set cannot be read from the hub."""


class RewardError(ReasonEnvError, ValueError):
    """Raised when a reward function gives no finite number."""


class GraderError(ReasonEnvError, RuntimeError):
    """Raised when the processes that grade responses cannot be started or have been closed."""


class EndpointError(ReasonEnvError, RuntimeError):
    """Raised when a chat completion server refuses a request or cannot be reached."""


def is_explained(error: BaseException) -> bool:
    """True if the message says enough: a type of this module, or an OSError of files or disks."""
    return isinstance(error, ReasonEnvError) or getattr(error, "errno", None) in SYSTEM_ERRNOS


def message_lines(error: BaseException) -> tuple[str, ...]:
    """The lines that a command prints of an error: one, but of a `RowsError` its lines."""
    return error.args if isinstance(error, RowsError) else (str(error),)
