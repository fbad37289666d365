"""Published tables of the papers, from `published.json`, and comparisons of a result with them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.evaluation.overall import BASELINE
from agents.evaluation.overall import overall as over_baseline

FILE = Path(__file__).with_name("published.json")
OWN, OVERALL = "this model", "Overall"


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper."""

    paper: str
    """Identifier, such as arXiv:2505.12504."""
    name: str
    about: str
    unit: float
    """The paper's value of a rate of 1: 100 for percent."""
    columns: tuple[str, ...]
    envs: tuple[str | None, ...]
    """The environment of each column; None where there is none."""
    rows: Mapping[str, tuple[float, ...]]
    """As printed."""
    misprints: Mapping[tuple[str | None, str], str]
    """Row and column, or None and column for its head -> the error."""

    def comparison(self, rates: Mapping[str, float]) -> list[str]:
        """Lines of the table with `rates` as its first row, restricted to their columns.

        Args:
            rates: Accuracy in [0, 1] by environment.

        Returns:
            Empty when no column matches. Misprints are marked by a star and explained at the end.
        """
        own = {k: rates[str(env)] * self.unit for k, env in enumerate(self.envs) if env in rates}
        if not own:
            return []
        overall = overall_score(rates)
        if overall is not None and OVERALL in self.columns:
            own[self.columns.index(OVERALL)] = overall
        cells = [
            ["", *(self.columns[k] for k in own)],
            [OWN, *(self.format(k, value) for k, value in own.items())],
            *([row, *(self.cell(row, k) for k in own)] for row in self.rows),
        ]
        notes = [
            f"  * {row}, {self.columns[k]}: {self.misprints[row, self.columns[k]]}"
            for row in self.rows
            for k in own
            if self.is_misprint(row, k)
        ]
        return [f"{self.name} of {self.paper}: {self.about}", *align(cells), *notes]

    def is_misprint(self, row: str, column: int) -> bool:
        """True if a value cannot be right."""
        return (row, self.columns[column]) in self.misprints

    def cell(self, row: str, column: int) -> str:
        """A value as printed, with a star where it is a misprint."""
        return self.format(column, self.rows[row][column]) + "*" * self.is_misprint(row, column)

    def format(self, column: int, value: float) -> str:
        """A value with as many digits as the paper prints."""
        if self.columns[column] == OVERALL:
            return f"{value:.2f}"
        return f"{value:.1f}" if self.unit == 100 else f"{value:.4f}"


@dataclass(frozen=True)
class Paper:
    """A paper's tables, and notes on its evaluation protocol."""

    tables: tuple[PublishedTable, ...]
    notes: tuple[str, ...]

    def comparison(self, rates: Mapping[str, float]) -> list[str]:
        """Every table that has a column for `rates`, and the notes; empty when none has."""
        parts = [lines for table in self.tables if (lines := table.comparison(rates))]
        parts += [[f"  {note}" for note in self.notes]] if parts else []
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


def overall_score(rates: Mapping[str, float]) -> float | None:
    """CPGD's Overall score of six environments; None unless all six are there.

    Args:
        rates: Accuracy in [0, 1] by environment; others than the six are ignored.
    """
    percent = {name: 100 * rates[f"{name}-v0"] for name in BASELINE if f"{name}-v0" in rates}
    return over_baseline(percent) if percent.keys() == BASELINE.keys() else None


def align(rows: list[list[str]]) -> list[str]:
    """Lines of a table of texts: the first column left-aligned, the others right-aligned."""
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
