"""An evaluation as bars, beside those of a paper where asked."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.evaluation.published import OWN, PublishedTable
from agents.evaluation.tables import Result, rate
from agents.files import write_atomically

OURS, THEIRS, DOUBTFUL = "tab:blue", "lightgray", "mistyrose"


def draw(path: Path, results: Mapping[str, Result], tables: Sequence[PublishedTable] = ()) -> None:
    """Writes a PNG: a panel for each column of the tables that was measured, else one for all.

    Args:
        path: Replaced by a whole file.
        results: By environment.
        tables: Of a paper; what they call a misprint is drawn pale.

    Raises:
        ImportError: In one line, where matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("no picture without matplotlib: pip install matplotlib") from error
    panels = [
        (table, column)
        for table in tables
        for column, env in enumerate(table.envs)
        if env in results
    ]
    width = min(3, max(1, len(panels)))
    height = -(-max(1, len(panels)) // width)
    longest = max([len(results), *(len(table.rows) + 1 for table, _ in panels)])
    figure = Figure(figsize=(5 * width, (0.28 * longest + 0.9) * height), layout="constrained")
    axes = list(figure.subplots(height, width, squeeze=False).flat)
    for axis, (table, column) in zip(axes, panels, strict=False):
        _compare(axis, table, column, results[str(table.envs[column])])
    for axis in axes[max(1, len(panels)) :]:
        axis.set_visible(False)
    if not panels:
        _overview(axes[0], results)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=120)
    write_atomically(path, drawn.getvalue())


def _overview(axis: Any, results: Mapping[str, Result]) -> None:
    """A bar for each environment."""
    for place, result in enumerate(results.values()):
        _bar(axis, place, rate(result), OURS, _error(result))
        _write(axis, place, f"{rate(result):.3f}")
    _finish(axis, list(results), "accuracy", 1)


def _compare(axis: Any, table: PublishedTable, column: int, result: Result) -> None:
    """A bar for each row of a table's column, the best on top, and one of our own."""
    bars = [(values[column], row) for row, values in table.rows.items()]
    bars.append((rate(result) * table.unit, OWN))
    bars.sort()
    for place, (value, row) in enumerate(bars):
        own = row == OWN
        color = OURS if own else DOUBTFUL if table.is_misprint(row, column) else THEIRS
        _bar(axis, place, value, color, _error(result, table.unit) if own else None)
        _write(axis, place, f"{value:.4g}")
    title = f"{table.columns[column]} ({table.name}: {table.about})"
    _finish(axis, [row for _, row in bars], title, table.unit)


def _bar(axis: Any, place: int, value: float, color: str, error: Any) -> None:
    axis.barh(place, value, color=color, xerr=error, capsize=3)


def _write(axis: Any, place: int, text: str) -> None:
    """A number beside its bar's end of the axis, where no bar hides it."""
    where = ("axes fraction", "data")
    axis.annotate(text, (1.01, place), xycoords=where, va="center", fontsize="small")


def _error(result: Result, unit: float = 1) -> list[list[float]] | None:
    """Distances of the interval's ends from the rate, as matplotlib takes them."""
    low, high = (result["official"] or result).get("interval") or (None, None)
    if low is None or high is None:
        return None
    return [[max(0, rate(result) - low) * unit], [max(0, high - rate(result)) * unit]]


def _finish(axis: Any, names: Sequence[str], title: str, unit: float) -> None:
    axis.set_yticks(range(len(names)), names, fontsize="small")
    axis.set_xlim(0, unit)
    axis.set_title(title, fontsize="small")
