"""An evaluation as bars, beside those of a paper where asked."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.evaluation.published import OWN, PublishedTable
from agents.evaluation.tables import Result, rate
from agents.storage.files import write_atomically

OURS, THEIRS, FURTHER, DOUBTFUL = "tab:blue", "darkgray", "gainsboro", "mistyrose"


def draw(path: Path, results: Mapping[str, Result], tables: Sequence[PublishedTable] = ()) -> None:
    """Writes a PNG: a row of panels for each table, a panel for each environment in it.

    Args:
        path: Replaced by a whole file.
        results: By environment.
        tables: Of a paper; those that have none of the environments are left out. Where a table
            has two columns for one, the second stands behind the first, as Best behind Last; what
            is called a misprint is drawn pale.

    Raises:
        ImportError: In one line, where matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("no picture without matplotlib: pip install matplotlib") from error
    shown = [(table, envs) for table in tables if (envs := _envs(table, results))]
    heights = [len(table.rows) + 1 for table, _ in shown] or [len(results)]
    width = max([len(envs) for _, envs in shown], default=1)
    size = (2.0 + 3.0 * width, 0.25 * sum(heights) + 0.8 * len(heights))
    figure = Figure(figsize=size, layout="constrained")
    ratios = {"height_ratios": heights}
    axes = figure.subplots(len(heights), width, squeeze=False, gridspec_kw=ratios)
    for row, (table, envs) in zip(axes, shown, strict=False):
        for place, axis in enumerate(row):
            axis.set_visible(place < len(envs))
        for axis, env in zip(row, envs, strict=False):
            _compare(axis, table, env, results[env])
            axis.tick_params(labelleft=axis is row[0])
        row[0].set_ylabel(f"{table.name}: {table.about}", fontsize="small")
    if not shown:
        _overview(axes[0][0], results)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=120)
    write_atomically(path, drawn.getvalue())


def _envs(table: PublishedTable, results: Mapping[str, Result]) -> list[str]:
    """Environments of a table that were evaluated, in its own order."""
    return list(dict.fromkeys(str(env) for env in table.envs if env in results))


def _overview(axis: Any, results: Mapping[str, Result]) -> None:
    """A bar for each environment."""
    for place, result in enumerate(results.values()):
        _bar(axis, place, rate(result), OURS, _error(result))
        _write(axis, place, f"{rate(result):.3f}", 1)
    _finish(axis, list(results), "accuracy", 1)


def _compare(axis: Any, table: PublishedTable, env: str, result: Result) -> None:
    """A bar of our own, and one for each row of a table."""
    own = rate(result) * table.unit
    columns = [k for k, name in enumerate(table.envs) if name == env]
    _bar(axis, 0, own, OURS, _error(result, table.unit))
    _write(axis, 0, table.written(columns[0], own), table.unit)
    for place, (row, values) in enumerate(table.rows.items(), 1):
        for k, color in reversed(list(zip(columns, (THEIRS, FURTHER), strict=False))):
            _bar(axis, place, values[k], DOUBTFUL if table.is_misprint(row, k) else color)
        _write(axis, place, "  ".join(table.cell(row, k) for k in columns), table.unit)
    heads = " and ".join(table.columns[k] for k in columns)
    _finish(axis, [OWN, *table.rows], heads, table.unit)


def _bar(axis: Any, place: int, value: float, color: str, error: Any = None) -> None:
    axis.barh(place, value, color=color, xerr=error, capsize=3)


def _write(axis: Any, place: int, text: str, end: float) -> None:
    """A number at the end of the axis, where few bars hide it."""
    axis.text(0.98 * end, place, text, va="center", ha="right", fontsize="x-small")


def _error(result: Result, unit: float = 1) -> list[list[float]] | None:
    """Distances of the interval's ends from the rate, as matplotlib takes them."""
    low, high = (result["official"] or result).get("interval") or (None, None)
    if low is None or high is None:
        return None
    return [[max(0, rate(result) - low) * unit], [max(0, high - rate(result)) * unit]]


def _finish(axis: Any, names: Sequence[str], title: str, unit: float) -> None:
    axis.set_yticks(range(len(names)), names, fontsize="small")
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlim(0, unit)
    axis.tick_params(axis="x", labelsize="x-small")
    axis.set_title(title, fontsize="small")
