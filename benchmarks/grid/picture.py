"""Pictures of a study, from its records alone."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.grid.collapse import collapse
from benchmarks.grid.measures import Record, Runs
from benchmarks.grid.statistics import kaplan_meier
from benchmarks.grid.study import Study

PANELS = {
    "reward/accuracy": ("accuracy", "linear"),
    "policy/ratio_max": ("largest ratio", "log"),
    "policy/ratio_min": ("smallest ratio", "log"),
    "policy/clip_fraction": ("clipped tokens", "linear"),
    "response/length_mean": ("tokens of a response", "linear"),
    "policy/entropy": ("entropy (nats)", "linear"),
    "policy/kl_old": ("KL to the old policy (nats)", "log"),
    "train/grad_norm": ("gradient norm", "log"),
}
"""Metric, to the name and scale of its axis."""
SMOOTH = 5
"""Steps of the moving means of curves."""
COLUMNS = 5
"""Most panels side by side."""
BANDS = 4
"""More cells than these have no bands, which would hide each other."""


def curve(record: Record, metric: str, horizon: int) -> np.ndarray:
    """A metric over all steps; NaN where it is unknown or the run had ended."""
    values = [np.nan if v is None else v for v in record["steps"].get(metric, ())]
    return np.array(values + [np.nan] * (horizon - len(values)), dtype=float)


def smoothed(values: np.ndarray) -> np.ndarray:
    """Mean over up to `SMOOTH` steps around each."""
    half = SMOOTH // 2
    parts = [values[max(0, i - half) : i + half + 1] for i in range(len(values))]
    return np.array([np.nan if np.isnan(part).all() else np.nanmean(part) for part in parts])


def cells(study: Study, runs: Runs, path: Path) -> None:
    """Accuracy: a panel for each cell with its seeds, their mean, and crosses where one collapsed.

    The means of the others are grey.
    """
    names = [cell.name for cell in study.cells if runs.get(cell.name)]
    horizon = _horizon(runs)
    found = {name: _accuracies(runs[name], horizon) for name in names}
    rows = -(-len(names) // COLUMNS)
    columns = -(-len(names) // rows)
    figure, axes = _panels(rows, columns, (2.6, 2.1), sharex=True, sharey=True)
    steps = np.arange(1, horizon + 1)
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    for axis in axes[len(names) - columns : len(names)]:
        axis.tick_params(labelbottom=True)
    for axis, name in zip(axes, names, strict=False):
        for other in found.values():
            axis.plot(steps, _middle(other), color="#bbbbbb", linewidth=0.6)
        axis.plot(steps, found[name].T, color="#4878a8", alpha=0.4, linewidth=0.8)
        axis.plot(steps, _middle(found[name]), color="#1f4e79", linewidth=1.8)
        for values, record in zip(found[name], runs[name].values(), strict=True):
            event = collapse(record["steps"], horizon)
            if event:
                axis.plot(event.step, values[event.step - 1], "x", color="#c44e52", markersize=5)
        axis.set_title(f"{name} ({_seeds(len(found[name]))})", fontsize=9)
        axis.grid(alpha=0.25)
        axis.set_ylim(0, 1.02)
    figure.supxlabel("training step", fontsize=9)
    figure.supylabel("accuracy of training responses", fontsize=9)
    _save(figure, path)


def signs(study: Study, runs: Runs, path: Path) -> None:
    """A panel for each metric: the median of each cell over its seeds, smoothed.

    Of few cells there is a band of all seeds too. The last panel is the part of the runs that have
    not collapsed.
    """
    names = [cell.name for cell in study.cells if runs.get(cell.name)]
    horizon = _horizon(runs)
    steps = np.arange(1, horizon + 1)
    figure, axes = _panels(3, 3, (3.9, 2.6), sharex=True)
    colors = _colors(len(names))
    for axis, (metric, (label, scale)) in zip(axes, PANELS.items(), strict=False):
        found = {n: np.array([curve(r, metric, horizon) for r in runs[n].values()]) for n in names}
        log = scale == "log" and any((values > 0).any() for values in found.values())
        axis.set_yscale("log" if log else "linear")
        for color, name in zip(colors, names, strict=True):
            values = np.where(found[name] > (0 if log else -np.inf), found[name], np.nan)
            _median(axis, steps, values, color, band=len(names) <= BANDS)
        axis.set_title(label, fontsize=9)
        axis.grid(alpha=0.25)
    for color, name in zip(colors, names, strict=True):
        axes[8].step(*_alive(runs[name], horizon), where="post", color=color, label=name)
    axes[8].set_title("part of the runs that have not collapsed", fontsize=9)
    axes[8].set_ylim(-0.02, 1.02)
    axes[8].grid(alpha=0.25)
    figure.supxlabel("training step", fontsize=9)
    figure.legend(loc="outside right center", fontsize=8)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    """Writes a picture in 256 colours, a fifth of the bytes; rare ones, of crosses, stay."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=130)
    colours = Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)
    colours.save(path, optimize=True)


def _accuracies(records: Mapping[int, Record], horizon: int) -> np.ndarray:
    return np.array([smoothed(curve(r, "reward/accuracy", horizon)) for r in records.values()])


def _median(axis: Any, steps: np.ndarray, values: np.ndarray, color: Any, band: bool) -> None:
    known = ~np.isnan(values).all(0)
    if not known.any():
        return
    kept, x = values[:, known], steps[known]
    if band:
        low, high = np.nanmin(kept, 0), np.nanmax(kept, 0)
        axis.fill_between(x, low, high, color=color, alpha=0.08, linewidth=0)
    axis.plot(x, smoothed(np.nanmedian(kept, 0)), color=color, linewidth=1.2)


def _alive(records: Mapping[int, Record], horizon: int) -> tuple[list[float], list[float]]:
    events = [collapse(record["steps"], horizon) for record in records.values()]
    times = [event.step if event else horizon for event in events]
    estimate = kaplan_meier(times, [event is not None for event in events])
    x, y = [0.0, *(t for t, _ in estimate)], [1.0, *(s for _, s in estimate)]
    return [*x, horizon], [*y, y[-1]]


def _middle(values: np.ndarray) -> np.ndarray:
    known = ~np.isnan(values).all(0)
    middle = np.full(values.shape[1], np.nan)
    middle[known] = np.nanmean(values[:, known], 0)
    return middle


def _horizon(runs: Runs) -> int:
    return max(r["settings"]["run"]["num_steps"] for cell in runs.values() for r in cell.values())


def _seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"


def _colors(count: int) -> Any:
    import matplotlib.pyplot as plt

    palette = plt.get_cmap("tab10" if count <= 10 else "tab20")
    return [palette(i) for i in range(count)]


def _panels(rows: int, columns: int, size: tuple[float, float], **shared: Any) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(0.8 + size[0] * columns, 0.5 + size[1] * rows),
        squeeze=False,
        layout="constrained",
        **shared,
    )
    return figure, axes.flat[:]
