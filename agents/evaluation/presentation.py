"""Results of an evaluation as tables and as a bar chart beside published values."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.errors import MissingPackageError
from agents.evaluation.published import FACTS, OWN, PublishedTable, published
from agents.evaluation.statistics import Result, headline, rate
from agents.storage.atomic_files import write_atomically
from reasonenv.score_tables import NONE, Table, interval_text

BLUE, GRAY, LIGHT_GRAY, PALE = "tab:blue", "darkgray", "gainsboro", "mistyrose"
"""Colours of own values, published values, a second published column, and misprints."""

MAX_KINDS = 40
"""Rows of a table by kind that is shown; longer ones are in the JSON."""


def evaluation_tables(results: Mapping[str, Result], compare: str | None) -> Iterator[Table]:
    """The results, the accuracy by kind of problem, and a paper's tables.

    Args:
        results: By environment.
        compare: Name of a paper to compare with.
    """
    yield result_table(results)
    for env, result in results.items():
        rows = [[kind, f"{value:.3f}"] for kind, value in result["by"].items()]
        if 1 < len(rows) <= MAX_KINDS:
            yield Table([f"{env} by kind", "accuracy"], rows)
    if compare:
        yield from published()[compare].comparison(results)


def result_table(results: Mapping[str, Result]) -> Table:
    """A row for each environment; columns only where there is something to tell."""
    samples = next(iter(results.values()))["num_samples"]
    columns = list(_COLUMNS)
    if samples == 1:
        columns.remove("pass@k")
    if not any(result["num_left_out"] for result in results.values()):
        columns.remove("left out")
    has_official = any(result["official"] for result in results.values())
    if not has_official:
        columns = [name for name in columns if name not in ("official", "95 %")]
    titles = {"pass@k": f"pass@{samples}", "accuracy": f"mean@{samples}" if samples > 1 else None}
    return Table(
        [titles.get(name) or name.strip() for name in columns],
        [
            [env, *(_COLUMNS[name](result) for name in columns[1:])]
            for env, result in results.items()
        ],
        notes=[_NOTES[name] for name in columns if name in _NOTES],
    )


def _number(value: float | None, form: str = ".3f") -> str:
    return NONE if value is None else format(value, form)


_COLUMNS: dict[str, Callable[[Result], str]] = {
    "environment": str,
    "split": lambda result: result["split"],
    **{name: FACTS[name] for name in ("problems", "left out")},
    "accuracy": lambda result: _number(result["accuracy"]),
    "95 % ": lambda result: interval_text(result["interval"]),
    "pass@k": lambda result: _number(result["pass@k"][str(result["num_samples"])]),
    "official": lambda result: _number((result["official"] or {}).get("accuracy")),
    "95 %": lambda result: interval_text((result["official"] or {}).get("interval")),
    **{name: FACTS[name] for name in ("temperature", "cut")},
    "tokens": lambda result: _number(result["length_mean"], ".1f"),
    "responses/s": lambda result: _number(result["throughput/responses_per_s"], ".1f"),
}
"""Content of each column; the keys of the two intervals differ by a space, which is stripped."""
_NOTES = {
    "official": "Official: by the rules of the benchmark's own evaluation code, as far as "
    "python -m reasonenv.score has them; accuracy: by the grader that rewards training",
    "left out": "Left out: problems without a reference answer or with a broken image",
}


def draw_results(
    path: Path, results: Mapping[str, Result], tables: Sequence[PublishedTable] = ()
) -> None:
    """Writes a PNG: a row of panels for each published table, a panel for each environment.

    Args:
        path: Replaced atomically.
        results: By environment.
        tables: Of a paper; those without any of the environments are skipped. Where a table has
            two columns for one environment, such as Last and Best, the second is drawn behind the
            first; misprints are drawn pale.

    Raises:
        MissingPackageError: In one line, where matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackageError(
            "no picture without matplotlib: pip install matplotlib"
        ) from error
    panels = [(table, envs) for table in tables if (envs := _envs(table, results))]
    heights = [len(table.rows) + 1 for table, _ in panels] or [len(results)]
    width = max([len(envs) for _, envs in panels], default=1)
    size = (2.0 + 3.0 * width, 0.25 * sum(heights) + 0.8 * len(heights))
    figure = Figure(figsize=size, layout="constrained")
    ratios = {"height_ratios": heights}
    axes = figure.subplots(len(heights), width, squeeze=False, gridspec_kw=ratios)
    for row, (table, envs) in zip(axes, panels, strict=False):
        for place, axis in enumerate(row):
            axis.set_visible(place < len(envs))
        for axis, env in zip(row, envs, strict=False):
            _comparison_panel(axis, table, env, results[env])
            axis.tick_params(labelleft=axis is row[0])
        row[0].set_ylabel(f"{table.name}: {table.about}", fontsize="small")
    if not panels:
        _overview_panel(axes[0][0], results)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    write_atomically(path, buffer.getvalue())


def _envs(table: PublishedTable, results: Mapping[str, Result]) -> list[str]:
    """Environments of a table that were evaluated, in its own order."""
    return list(dict.fromkeys(str(env) for env in table.envs if env in results))


def _overview_panel(axis: Any, results: Mapping[str, Result]) -> None:
    """A bar for each environment."""
    for place, result in enumerate(results.values()):
        _bar(axis, place, rate(result), BLUE, _error_bar(result))
        _label(axis, place, f"{rate(result):.3f}", 1)
    _set_axes(axis, list(results), "accuracy", 1)


def _comparison_panel(axis: Any, table: PublishedTable, env: str, result: Result) -> None:
    """A bar for this model, and one for each row of a table."""
    own = rate(result) * table.unit
    columns = [k for k, name in enumerate(table.envs) if name == env]
    _bar(axis, 0, own, BLUE, _error_bar(result, table.unit))
    _label(axis, 0, table.format(columns[0], own), table.unit)
    for place, (row, values) in enumerate(table.rows.items(), 1):
        for k, color in reversed(list(zip(columns, (GRAY, LIGHT_GRAY), strict=False))):
            _bar(axis, place, values[k], PALE if table.is_misprint(row, k) else color)
        _label(axis, place, "  ".join(table.cell(row, k) for k in columns), table.unit)
    title = " and ".join(table.columns[k] for k in columns)
    _set_axes(axis, [OWN, *table.rows], title, table.unit)


def _bar(axis: Any, place: int, value: float, color: str, error: Any = None) -> None:
    axis.barh(place, value, color=color, xerr=error, capsize=3)


def _label(axis: Any, place: int, text: str, end: float) -> None:
    """A number at the end of the axis, where few bars overlap it."""
    axis.text(0.98 * end, place, text, va="center", ha="right", fontsize="x-small")


def _error_bar(result: Result, unit: float = 1) -> list[list[float]] | None:
    """Distances of the interval's ends from the rate, as matplotlib expects them."""
    if not (ends := headline(result)["interval"]):
        return None
    low, high = ends
    return [[max(0, rate(result) - low) * unit], [max(0, high - rate(result)) * unit]]


def _set_axes(axis: Any, names: Sequence[str], title: str, unit: float) -> None:
    axis.set_yticks(range(len(names)), names, fontsize="small")
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlim(0, unit)
    axis.tick_params(axis="x", labelsize="x-small")
    axis.set_title(title, fontsize="small")
