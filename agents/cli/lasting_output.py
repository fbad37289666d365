"""Output of long work, which goes on where a command that only prints ends with its reader."""

import errno
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

LOSS_ERRNOS = (errno.EPIPE, errno.ECONNRESET, errno.EIO)
"""Errors of a pipe, a socket and a terminal at whose other end nobody is left."""


@contextmanager
def lasting_output() -> Iterator[None]:
    """Context in which a lost reader of stdout or stderr, such as `tee`, ends nothing.

    What is written after the loss goes nowhere. A file keeps its errors: a full disk is one.
    """
    before = sys.stdout, sys.stderr
    after = sys.stdout, sys.stderr = [_lasting(stream) for stream in before]
    try:
        yield
    finally:
        for stream in after:
            stream.flush()
        sys.stdout, sys.stderr = before


def write(descriptor: int, content: bytes) -> None:
    """Writes to a stream of this process past its buffer, or nowhere if its reader is lost."""
    try:
        os.write(descriptor, content)
    except OSError as error:
        _silence_lost(error, descriptor)


def silence(descriptor: int) -> None:
    """Redirects a stream of this process to nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


def _silence_lost(error: OSError, descriptor: int) -> None:
    if error.errno not in LOSS_ERRNOS:
        raise error
    silence(descriptor)


class _Output(io.TextIOWrapper):
    """Text to a pipe, a socket or a terminal, which goes nowhere from the loss of its reader on.

    Below it no step is Python's: a signal's handler that raised between the write of a line and the
    end of the call would leave the line in the buffer, to be written again.
    """

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            _silence_lost(error, self.fileno())
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            _silence_lost(error, self.fileno())


def _lasting(stream: TextIO) -> TextIO:
    """The stream as an `_Output`; as it is if it is no stream of the process, or a file."""
    stream.flush()
    try:
        descriptor = stream.fileno()
    except (OSError, AttributeError):
        return stream
    if not isinstance(stream, io.TextIOWrapper) or stat.S_ISREG(os.fstat(descriptor).st_mode):
        return stream
    return _Output(
        io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
