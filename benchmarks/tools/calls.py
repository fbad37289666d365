"""Accuracy and calls by kind of problem, at first and at last: python -m benchmarks.tools.calls.

From the records of the studies of this folder, as Markdown.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.grid import raw, study
from reasonenv.scoring import over_problems

RESULTS = Path(__file__).parents[1]
MOST = 3
"""Calls of an episode at most, in all studies."""
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
                mean([run[end].get(what, {}).get(kind, 0.0) for run in runs], most)
                for what, most in (("by", 1), ("calls", MOST))
                for end in (0, 1)
            )
            yield f"| {' | '.join((cell.name, kind, str(len(runs)), *values))} |"


def ends(evaluations: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first and the last evaluation on new problems."""
    tests = [each for each in evaluations if each["split"] == "test"]
    return [tests[0], tests[-1]]


def mean(values: Sequence[float], most: float) -> str:
    """Mean over seeds of values in [0, most], with its 95 % interval unless all are equal."""
    ends = [most * end for end in over_problems([value / most for value in values])]
    return f"{fmean(values):.2f} [{ends[0]:.2f}, {ends[1]:.2f}]" if ends else f"{fmean(values):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.tools.calls", description=__doc__)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of raw/")
    folder = parser.parse_args().output / "raw"
    for name in study.PLANNED:
        print(f"\n{name}\n\n{HEAD}\n|{' --- |' * HEAD.count(' | ')} --- |")
        print("\n".join(rows(name, folder)))


if __name__ == "__main__":
    main()
