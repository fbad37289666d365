"""A run, or several side by side, as one HTML file: python -m agents.report --help."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.errors import UsageError
from agents.report.page import make_page
from agents.report.runs import read_run
from agents.storage.atomic_files import write_atomically
from reasonenv.console import print_line


@dataclass(frozen=True, kw_only=True)
class Report:
    """Curves, rollouts and facts of runs as one HTML file that needs no network.

    Runs that differ only in their seed are one curve with its range.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Directories of runs."""
    output: Path | None = None
    """File to write; report.html in the directory of the first run unless given."""


def write_report(runs: Sequence[Path], output: Path | None = None) -> Path:
    """Writes the report; returns its path.

    Raises:
        UsageError: No run is given; nothing has been written then.
        RecordError: A folder holds no run, or a damaged file; nothing has been written then.
    """
    if not runs:
        raise UsageError("no run is given: give its directory, such as runs/cpgd-figures-v2-seed0")
    path = output or runs[0] / "report.html"
    page = make_page([read_run(folder) for folder in runs])
    write_atomically(path, page.encode("utf-8", "replace"))
    return path


def report_at_end(folder: Path) -> str:
    """Writes the report of a finished run; returns a line with its path or its failure."""
    try:
        return f"report: {write_report([folder])}"
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return f"warning: no report: {reason}; try python -m agents.report {folder}"


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    settings = parse(Report, "agents.report", arguments)
    with errors_in_one_line():
        path = write_report(settings.runs, settings.output)
    print_line(f"report: {path} ({path.stat().st_size / 2**20:.1f} MiB)")
