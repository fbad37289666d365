"""Lines on a terminal. Text of servers, data, models and file names may hold control characters."""

import logging
import sys
import unicodedata
from functools import cache
from typing import TextIO

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Categories of characters that move the cursor, end lines, cannot be seen or reverse others."""


def printable(text: str) -> str:
    r"""The text with control, format and separator characters as escapes, such as \x1b, \u202e."""
    if text.isprintable():
        return text
    return "".join(
        ascii(each)[1:-1] if unicodedata.category(each) in _HIDDEN else each for each in text
    )


def print_line(line: str, file: TextIO | None = None) -> None:
    """Prints one line, by default on standard output, without control characters."""
    print(printable(line), file=file or sys.stdout, flush=file is not None)


def warn(line: str) -> None:
    """Logs a warning, without control characters."""
    logging.getLogger("reasonenv").warning("%s", printable(line))


warn_once = cache(warn)
"""`warn` of a line that is logged once in a process."""
