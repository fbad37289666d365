"""Accuracy and calls by kind of problem, at first and at last: python -m benchmarks.tools.calls.

From the records of the studies of this folder, as Markdown: benchmarks/tools/calls.md.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from agents.storage.atomic_files import write_atomically
from benchmarks.grid import raw, study
from reasonenv.scoring import over_problems

RESULTS = Path(__file__).parents[1]
MOST = 3
"""Calls of an episode at most, in all studies."""
NAMES = ("tools/sums", "tools/zoom", "tools/price")
HEAD = "| cell | kind | seeds | accuracy before | after | calls before | after |"


def rows(name: str, folder: Path) -> Iterator[str]:
    """A row of the table for each cell of a study and kind of problem, on the split "test".

    Args:
        name: Of the study.
        folder: Of the records.
    """
    of = study.find(name)
    for cell in of.cells:
        tasks = [task for task in study.tasks(of, of.seeds) if task.name == cell.name]
        kept = [file for task in tasks if (file := raw.path(folder, task))]
        runs = [ends(raw.read(file)["evaluations"]) for file in kept]
        for kind in sorted(runs[0][0]["by"]) if runs else ():
            values = (
                mean([run[end].get(what, {}).get(kind) for run in runs], most)
                for what, most in (("by", 1), ("calls", MOST))
                for end in (0, 1)
            )
            yield f"| {' | '.join((cell.name, kind, str(len(runs)), *values))} |"


def ends(evaluations: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first and the last evaluation on new problems."""
    tests = [each for each in evaluations if each["split"] == "test"]
    return [tests[0], tests[-1]]


def mean(values: Sequence[float | None], most: float) -> str:
    """Mean over seeds of values in [0, most], with its 95 % interval unless all are equal.

    "none" where there is nothing to count, as calls without a tool.
    """
    counted = [value for value in values if value is not None]
    if len(counted) < len(values):
        return "none"
    ends = [most * end for end in over_problems([value / most for value in counted])]
    return (
        f"{fmean(counted):.2f} [{ends[0]:.2f}, {ends[1]:.2f}]" if ends else f"{fmean(counted):.2f}"
    )


def table(folder: Path) -> str:
    """The tables of all studies of this folder with runs."""
    lines = [f"# {__doc__.splitlines()[0].partition(':')[0]}"]
    for name in NAMES:
        lines += ["", f"## {name}", "", HEAD, f"|{' --- |' * (HEAD.count('|') - 1)}"]
        lines += rows(name, folder)
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.tools.calls", description=__doc__)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of raw/ and tools/")
    folder = parser.parse_args().output
    write_atomically(folder / "tools/calls.md", table(folder / "raw").encode())


if __name__ == "__main__":
    main()
