"""The end of a command on an error or Ctrl-C: one line on standard error and an exit status."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agents.errors import AgentsError
from reasonenv.console import LONGEST, printable, short, standard_streams
from reasonenv.errors import ReasonEnvError, is_explained, message_lines

__all__ = ["INTERRUPTED", "errors_in_one_line", "short", "standard_streams"]
INTERRUPTED = 130
"""Exit status after Ctrl-C, as a shell has it."""


@contextmanager
def errors_in_one_line(advice: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Ends the program with status 1 and one line on an error that a user can fix.

    These are the types of `agents.errors` and `reasonenv.errors`, and an OSError of the user's
    files and disks. Every other exception passes, and REASONENV_TRACEBACK=1 lets these pass too.

    Args:
        advice: What to do next, at the end of the line, such as `checkpoints.resume_hint`.
    """
    try:
        yield
    except KeyboardInterrupt:
        print(_line("stopped", advice() or "files that were written are complete"), file=sys.stderr)
        sys.exit(INTERRUPTED)
    except (AgentsError, ReasonEnvError, OSError) as error:
        explained = isinstance(error, AgentsError) or is_explained(error)
        if os.environ.get("REASONENV_TRACEBACK") or not explained:
            raise
        first, *others = message_lines(error)
        *lines, last = f"error: {first}", *others
        sys.exit("\n".join([*map(_line, lines), _line(last, advice())]))


def _line(*parts: str) -> str:
    return short(printable(" ".join("; ".join(filter(None, parts)).split())), LONGEST)
