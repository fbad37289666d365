"""The tables of the papers, from `published.json`, and a result put beside them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reasonenv.scoring.benchmarks.overall import BASELINE
from reasonenv.scoring.benchmarks.overall import overall as over_baseline

FILE = Path(__file__).with_name("published.json")
OWN, OVERALL = "this model", "Overall"


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper."""

    paper: str
    """Where it stands, such as arXiv:2505.12504."""
    name: str
    about: str
    unit: float
    """What the paper writes for a rate of 1: 100 for percent."""
    columns: tuple[str, ...]
    envs: tuple[str | None, ...]
    """The environment of each column; None where there is none."""
    rows: Mapping[str, tuple[float, ...]]
    """As printed."""
    misprints: Mapping[tuple[str | None, str], str]
    """Row and column, or None and column for its head -> what is wrong."""

    def beside(self, rates: Mapping[str, float]) -> list[str]:
        """The table in lines, the columns that `rates` knows alone, and `rates` as its first row.

        Args:
            rates: Accuracy in [0, 1] by environment.

        Returns:
            Nothing when no column is known. A misprint is marked by a star and said at the end.
        """
        own = {k: rates[str(env)] * self.unit for k, env in enumerate(self.envs) if env in rates}
        if not own:
            return []
        total = overall(rates)
        if total is not None and OVERALL in self.columns:
            own[self.columns.index(OVERALL)] = total
        shown = list(own)
        cells = [["", *(self.columns[k] for k in shown)]]
        cells += [[OWN, *(self.written(k, value) for k, value in own.items())]]
        stars = []
        for row in self.rows:
            cells += [[row, *(self.cell(row, k) for k in shown)]]
            stars += [said for k in shown if (said := self._misprint(row, k))]
        title = f"{self.name} of {self.paper}: {self.about}"
        return [title, *aligned(cells), *(f"  * {said}" for said in stars)]

    def is_misprint(self, row: str, column: int) -> bool:
        """Whether a value cannot be right."""
        return (row, self.columns[column]) in self.misprints

    def cell(self, row: str, column: int) -> str:
        """A value as printed, with a star where it is a misprint."""
        return self.written(column, self.rows[row][column]) + (
            "*" if self.is_misprint(row, column) else ""
        )

    def _misprint(self, row: str, column: int) -> str:
        said = self.misprints.get((row, self.columns[column]), "")
        return said and f"{row}, {self.columns[column]}: {said}"

    def written(self, column: int, value: float) -> str:
        """As precisely as the paper writes."""
        if self.columns[column] == OVERALL:
            return f"{value:.2f}"
        return f"{value:.1f}" if self.unit == 100 else f"{value:.4f}"


@dataclass(frozen=True)
class Paper:
    """A paper's tables, and how its numbers came about."""

    tables: tuple[PublishedTable, ...]
    notes: tuple[str, ...]

    def beside(self, rates: Mapping[str, float]) -> list[str]:
        """Every table that has a column for `rates`, and the notes; nothing when none has."""
        found = [lines for table in self.tables if (lines := table.beside(rates))]
        parts = [*found, [f"  {note}" for note in self.notes]] if found else []
        return [line for part in parts for line in ("", *part)]


def published() -> dict[str, Paper]:
    """The papers by name, `cpgd` and `rpg`."""
    papers: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: Paper(
            tables=tuple(_table(paper, table) for table in paper["tables"]),
            notes=tuple(paper["notes"]),
        )
        for name, paper in papers.items()
    }


def overall(rates: Mapping[str, float]) -> float | None:
    """The papers' Overall of six environments; None unless all six are there.

    Args:
        rates: Accuracy in [0, 1] by environment; others than the six are passed over.
    """
    percent = {name: 100 * rates[f"{name}-v0"] for name in BASELINE if f"{name}-v0" in rates}
    return over_baseline(percent) if percent.keys() == BASELINE.keys() else None


def aligned(rows: list[list[str]]) -> list[str]:
    """Lines of a table of words: the first column to the left, the others to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if k else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _table(paper: Mapping[str, Any], table: Mapping[str, Any]) -> PublishedTable:
    return PublishedTable(
        paper=paper["source"],
        name=table["name"],
        about=table["about"],
        unit=paper["unit"],
        columns=tuple(column["name"] for column in table["columns"]),
        envs=tuple(column["env"] for column in table["columns"]),
        rows={name: tuple(values) for name, values in table["rows"].items()},
        misprints={(m["row"], m["column"]): m["says"] for m in table["misprints"]},
    )
