"""What the commands of this package have in common: their help, their statuses, their files."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from reasonenv.errors import ReasonEnvError, UsageError, is_explained


def new_parser(name: str, about: str | None) -> argparse.ArgumentParser:
    """A parser for `python -m reasonenv.NAME`, whose help begins with the module's docstring."""
    return argparse.ArgumentParser(
        prog=f"python -m reasonenv.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def status(work: Callable[[], int], interrupted: str = "nothing was saved") -> int:
    """What `work` gives; 2 after one line on what does not fit, 130 after Ctrl-C.

    Args:
        work: Does what the command is for, and gives its status.
        interrupted: What is told after Ctrl-C.
    """
    try:
        return work()
    except (ReasonEnvError, OSError) as error:
        if os.environ.get("REASONENV_TRACEBACK") or not is_explained(error):
            raise
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"interrupted: {interrupted}", file=sys.stderr)
        return 130


def check_output(flag: str, path: str | None) -> None:
    """Looks, before any work is done, whether a file can stand there.

    Raises:
        UsageError: When its folder is missing, or it is one itself.
    """
    if path and not Path(path).absolute().parent.is_dir():
        raise UsageError(f"--{flag}={path}: there is no such folder")
    if path and Path(path).is_dir():
        raise UsageError(f"--{flag}={path}: a file was expected, not a folder")
