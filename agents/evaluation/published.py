"""Published tables of the papers, from `published.json`, and comparisons of a result with them."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.evaluation.statistics import Result, headline, rate
from reasonenv.score_tables import Table, interval_text

FILE = Path(__file__).with_name("published.json")
OWN, OVERALL = "this model", "Overall"
BASELINE: Mapping[str, float] = {
    "MathVista": 68.2,
    "MathVerse": 47.9,
    "MathVision": 25.4,
    "OlympiadBench": 20.2,
    "WeMath": 62.1,
    "MMK12": 53.6,
}
"""Accuracy of Qwen2.5-VL-7B-Instruct in per cent: CPGD (arXiv:2505.12504), Table 1."""


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

    def comparison(self, results: Mapping[str, Result]) -> Table | None:
        """The table with the results in its first rows, restricted to their columns.

        Args:
            results: By environment.

        Returns:
            None when no column matches. Misprints are marked by a star and explained at the end.
        """
        own = {k: results[str(env)] for k, env in enumerate(self.envs) if env in results}
        if not own:
            return None
        values = {k: rate(result) * self.unit for k, result in own.items()}
        overall = overall_score({env: rate(result) for env, result in results.items()})
        if overall is not None and OVERALL in self.columns:
            values[self.columns.index(OVERALL)] = overall
        notes = [
            f"* {row}, {self.columns[k]}: {self.misprints[row, self.columns[k]]}"
            for row in self.rows
            for k in values
            if self.is_misprint(row, k)
        ]
        return Table(
            ["", *(self.columns[k] for k in values)],
            [
                [OWN, *(self.format(k, value) for k, value in values.items())],
                *self._facts(own, values),
                *([row, *(self.cell(row, k) for k in values)] for row in self.rows),
            ],
            f"{self.name} of {self.paper}: {self.about}",
            notes,
        )

    def _facts(self, own: Mapping[int, Result], columns: Iterable[int]) -> Iterator[list[str]]:
        """Rows about this model's values, without which they are no match for a paper's."""
        facts = {"95 %": self._interval, **FACTS}
        if not any(result["num_left_out"] for result in own.values()):
            del facts["left out"]
        for name, text in facts.items():
            yield [f"  {name}", *(text(own[k]) if k in own else "" for k in columns)]

    def _interval(self, result: Result) -> str:
        ends = headline(result)["interval"]
        digits = ".1f" if self.unit == 100 else ".4f"
        return interval_text([end * self.unit for end in ends], digits)

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

    def comparison(self, results: Mapping[str, Result]) -> list[Table]:
        """Every table that has a column for the results; the last one with the paper's notes."""
        tables = [table for each in self.tables if (table := each.comparison(results))]
        if tables:
            tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, *self.notes))
        return tables


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


def problems_text(result: Result) -> str:
    """Number of problems, such as "10 of 1,000" where the split has more."""
    count, size = result["num_problems"], result["split_size"]
    return f"{count:,}" if size in (None, count) else f"{count:,} of {size:,}"


FACTS: dict[str, Callable[[Result], str]] = {
    "problems": problems_text,
    "left out": lambda result: f"{result['num_left_out']:,}",
    "temperature": lambda result: f"{result['temperature']:g}",
    "cut": lambda result: f"{result['truncated']:.1%}",
}
"""Of an accuracy: its problems, those left out, the temperature, and responses that were cut."""


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


def over_baseline(accuracies: Mapping[str, float]) -> float:
    """Mean over benchmarks of accuracy / the baseline's accuracy; 1 for the baseline itself.

    CPGD (arXiv:2505.12504), section 5: (1/N) sum_j X_j / X_j^baseline with N = 6.

    Args:
        accuracies: By the names of `BASELINE`, in per cent; one for each.

    Raises:
        ValueError: When a benchmark is missing or unknown.
    """
    if accuracies.keys() != BASELINE.keys():
        wrong = sorted(accuracies.keys() ^ BASELINE.keys())
        raise ValueError(
            f"Overall is of {', '.join(BASELINE)}: {', '.join(wrong)} missing or unknown"
        )
    return sum(accuracies[name] / value for name, value in BASELINE.items()) / len(BASELINE)
