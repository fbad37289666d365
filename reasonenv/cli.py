"""Parsers, exit statuses and output paths of the commands `python -m reasonenv.NAME`."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from reasonenv.errors import ReasonEnvError, UsageError, is_explained
from reasonenv.terminal import print_line


def new_parser(name: str, about: str | None) -> argparse.ArgumentParser:
    """A parser for `python -m reasonenv.NAME`, with the module's docstring as its description."""
    return argparse.ArgumentParser(
        prog=f"python -m reasonenv.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def exit_status(command: Callable[[], int], interrupted: str = "nothing was saved") -> int:
    """Exit status of a command: 2 after an explained error, 130 after Ctrl-C, else its own.

    An explained error (see `reasonenv.errors.is_explained`) is one line on standard error. Every
    other exception passes, and REASONENV_TRACEBACK=1 lets these pass too.

    Args:
        command: Does the work and returns its status.
        interrupted: Message after Ctrl-C.
    """
    try:
        return command()
    except (ReasonEnvError, OSError) as error:
        if os.environ.get("REASONENV_TRACEBACK") or not is_explained(error):
            raise
        print_line(f"error: {error}", sys.stderr)
        return 2
    except KeyboardInterrupt:
        print_line(f"interrupted: {interrupted}", sys.stderr)
        return 130


def check_output_path(flag: str, path: str | None) -> None:
    """Checks that a file can be written to a path, before any work is done.

    Raises:
        UsageError: The parent folder does not exist, or the path is a folder.
    """
    if path and not Path(path).absolute().parent.is_dir():
        raise UsageError(f"--{flag}={path}: no such parent folder")
    if path and Path(path).is_dir():
        raise UsageError(f"--{flag}={path}: this is a folder, give a file")
