"""The console of commands: lines, progress, parsers, streams, exit statuses and output paths.

Text of servers, data, models and file names may hold control characters; no line prints them.
"""

import argparse
import difflib
import json
import logging
import os
import select
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO, TypeVar

from reasonenv.errors import ReasonEnvError, UsageError, is_explained, message_lines
from reasonenv.files import unique_keys

LONGEST = 2000
"""Characters of an error, whatever value it names."""
CLOSED_PIPE = 141
"""Exit status after the reader of the output has gone, as a shell has it for SIGPIPE."""
INTERRUPTED = 130
"""Exit status after Ctrl-C, as a shell has it."""
NARROWEST, WIDEST = 40, 400
"""Columns of help and errors: in other terminals their layout takes for ever, or all memory."""
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Categories of characters that move the cursor, end lines, cannot be seen or reverse others."""

Item = TypeVar("Item")


def printable(text: str) -> str:
    r"""The text with control, format and separator characters as escapes, such as \x1b, \u202e."""
    if text.isprintable():
        return text
    return "".join(
        ascii(each)[1:-1] if unicodedata.category(each) in _HIDDEN else each for each in text
    )


def short(text: str, length: int = 200) -> str:
    """A text for a message, cut in the middle where it is longer than `length`."""
    half = (length - 3) // 2
    return text if len(text) <= length else f"{text[:half]}...{text[-half:]}"


def print_line(line: str, file: TextIO | None = None) -> None:
    """Prints one line, by default on standard output, without control characters."""
    print(printable(line), file=file or sys.stdout, flush=file is not None)


def warn(line: str) -> None:
    """Logs a warning, without control characters."""
    logging.getLogger("reasonenv").warning("%s", printable(line))


warn_once = cache(warn)
"""`warn` of a line that is logged once in a process."""


def track(items: Sequence[Item], title: str, every: float = 10.0) -> Iterator[Item]:
    """Iterates over items and shows the progress on standard error.

    A bar on a terminal; else a line every few seconds.

    Args:
        items: Items of the loop.
        title: Name of the loop.
        every: Seconds between lines.
    """
    from tqdm import tqdm

    is_terminal = sys.stderr.isatty()
    # A terminal of unknown size reports 0, and tqdm would show nothing.
    width = (is_terminal and os.get_terminal_size(sys.stderr.fileno()).columns) or 80
    options = {"disable": not is_terminal, "ncols": width, "nrows": 20}
    bar = tqdm(items, title, leave=False, file=sys.stderr, **options)
    last_line = start = time.monotonic()
    for count, item in enumerate(bar):
        now = time.monotonic()
        if not is_terminal and now - last_line >= every:
            last_line = now
            left = (now - start) * (len(items) - count) / max(1, count)
            print_line(f"{title} {count}/{len(items)}  ETA {left:.0f} s", sys.stderr)
        yield item


@contextmanager
def standard_streams() -> Iterator[None]:
    """Context of a command, and a decorator of its `main`: output as Unix tools treat it.

    The command ends quietly when the reader of its output has gone, as `head` does after ten lines,
    and in one line when the output cannot be written, to a full disk for example. Streams that are
    closed from the start are discarded.
    """
    columns = os.environ.get("COLUMNS")
    width = shutil.get_terminal_size().columns
    os.environ["COLUMNS"] = str(min(max(width, NARROWEST), WIDEST))
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until the process ends
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if any(_has_lost_reader(stream) for stream in (sys.stdout, sys.stderr)):
            _discard(sys.stdout, sys.stderr)
            sys.exit(CLOSED_PIPE)
        if os.environ.get("REASONENV_TRACEBACK") or not is_explained(error):
            raise
        _discard(sys.stdout)
        sys.exit(f"error: {error}")
    finally:
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns


def _has_lost_reader(stream: TextIO) -> bool:
    """True for a pipe whose reading end is closed."""
    try:
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLOUT)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except (OSError, ValueError, AttributeError):  # no file, or a system without poll
        return False


def _discard(*streams: TextIO) -> None:
    """Redirects streams to nowhere, so that their last flush cannot fail."""
    for stream in streams:
        with suppress(OSError, ValueError), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())


def exit_status(command: Callable[[], int], interrupted: str = "nothing was saved") -> int:
    """Exit status of a command: 2 after an explained error, 130 after Ctrl-C, else its own.

    An explained error (see `reasonenv.errors.is_explained`) is one line on standard error, or one
    for each of some rows of data. Every other exception passes, and REASONENV_TRACEBACK=1 lets
    these pass too.

    Args:
        command: Does the work and returns its status.
        interrupted: Message after Ctrl-C.
    """
    try:
        return command()
    except (ReasonEnvError, OSError) as error:
        if os.environ.get("REASONENV_TRACEBACK") or not is_explained(error):
            raise
        first, *others = message_lines(error)
        for line in (f"error: {first}", *others):
            print_line(short(line, LONGEST), sys.stderr)
        return 2
    except KeyboardInterrupt:
        print_line(f"interrupted: {interrupted}", sys.stderr)
        return INTERRUPTED


class Parser(argparse.ArgumentParser):
    """A parser that names the nearest flag beside one that does not exist."""

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride] - of its overloads
        self, args: Any = None, namespace: Any = None
    ) -> Any:
        """As `argparse` does; ends the program with status 2 for a misspelt flag."""
        flags = [flag for action in self._actions for flag in action.option_strings]
        words = list(sys.argv[1:] if args is None else args)
        for word in words[: words.index("--")] if "--" in words else words:
            name = word.partition("=")[0]
            is_known = not name.startswith("--") or any(flag.startswith(name) for flag in flags)
            if not is_known and (near := difflib.get_close_matches(name, flags, 1, 0.7)):
                self.error(f"there is no flag {name}: did you mean {near[0]}?")
        return super().parse_known_args(args, namespace)


def parse_command(
    script: str,
    package: str,
    about: str,
    commands: Mapping[str, str],
    arguments: Sequence[str] | None,
) -> list[str]:
    """Name of a command and the arguments after it; without arguments the program lists all.

    Args:
        script: Name of the installed program; messages have it or `python -m PACKAGE`, whichever
            was started.
        package: Its package.
        about: Description of the program.
        commands: Name of each command and its summary.
        arguments: Arguments of the command line; None for those of this process.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    is_module = Path(sys.argv[0]).name == "__main__.py"
    program = f"python -m {package}" if is_module else script
    parser = Parser(
        prog=program,
        description=about,
        epilog=f"{program} COMMAND --help shows the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"reasonenv {version('reasonenv')}")
    names = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in commands.items():
        names.add_parser(name, help=summary)
    return [parser.parse_args(words[:1] or ["--help"]).command, *words[1:]]


def new_parser(name: str, about: str | None) -> Parser:
    """A parser for `python -m reasonenv.NAME`, with the module's docstring as its description."""
    parser = Parser(
        prog=f"python -m reasonenv.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"reasonenv {version('reasonenv')}")
    # Not in the digits of other scripts, which Python would read too.
    parser.register("type", int, lambda text: int(text.encode("ascii")))
    parser.register("type", float, lambda text: float(text.encode("ascii")))
    return parser


def add_data_flags(parser: argparse.ArgumentParser) -> None:
    """Adds --data and --env-options, arguments of an environment."""
    parser.add_argument(
        "--data",
        metavar="PATH",
        help="folder of local files; default REASONENV_DATA, then the hub; with --env file, your "
        "questions, a file or a folder",
    )
    about = "further arguments of the environment as JSON"
    parser.add_argument("--env-options", default="{}", help=about)


def env_options(text: str) -> dict[str, Any]:
    """The arguments of an environment in the value of --env-options.

    Raises:
        UsageError: It is no JSON object.
    """
    try:
        options = json.loads(text, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--env-options {short(text)!r} is no JSON: {error}") from error
    if not isinstance(options, dict):
        raise UsageError(f"--env-options {short(text)!r} is no JSON object")
    return options


def check_output_path(flag: str, path: str | None, *others: str | None) -> None:
    """Checks that a file can be written to a path, before any work is done; None is no file.

    Raises:
        UsageError: The path is empty, a folder, a device, a pipe, or one of the others, which the
            command reads or writes too; or its parent folder does not exist.
    """
    if path is None:
        return
    if not path:
        raise UsageError(f"--{flag} is empty: give a file")
    if not Path(path).absolute().parent.is_dir():
        raise UsageError(f"--{flag}={path}: no such parent folder")
    if Path(path).exists() and not Path(path).is_file():
        # Writing replaces the path, which would do away with a device.
        kind = "folder" if Path(path).is_dir() else "device or a pipe"
        raise UsageError(f"--{flag}={path}: this is a {kind}, give a file")
    if any(each and os.path.realpath(each) == os.path.realpath(path) for each in others):
        raise UsageError(f"--{flag}={path}: the command uses this file already, give another")
