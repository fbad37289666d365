"""A run, or several side by side, as one HTML file: python -m agents.report --help."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from agents.cli.exit import errors_in_one_line, standard_streams
from agents.cli.flags import parse
from agents.errors import UsageError
from agents.reporting.page import make_page
from agents.reporting.runs import read_run
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


def write_report(runs: Sequence[Path], output: Path | None = None) -> tuple[Path, list[str]]:
    """Writes the report; returns its path and a line for each damaged or missing file.

    Raises:
        UsageError: A folder holds no run, or none is given; nothing has been written then.
    """
    if not runs:
        raise UsageError("no run is given: give its directory, such as runs/cpgd-figures-v2-seed0")
    folders = [read_run(folder) for folder in runs]
    path = output or folders[0].folder / "report.html"
    write_atomically(path, make_page(folders).encode("utf-8", "replace"))
    return path, [f"{run.folder}: {fault}" for run in folders for fault in run.faults]


def report_at_end(folder: Path) -> str:
    """Writes the report of a finished run; returns a line with its path or its failure."""
    try:
        return f"report: {write_report([folder])[0]}"
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return f"warning: no report: {reason}; try python -m agents.report {folder}"


@standard_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; `arguments` are those of this process unless given."""
    settings = parse(Report, "agents.report", arguments)
    with errors_in_one_line():
        path, faults = write_report(settings.runs, settings.output)
    for fault in faults:
        print_line(fault, sys.stderr)
    print_line(f"report: {path} ({path.stat().st_size / 2**20:.1f} MiB)")


if __name__ == "__main__":
    main()
