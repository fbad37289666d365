"""Pictures: where a step spends its time, and how that grows."""

import json
from pathlib import Path
from typing import Any

from throughput.figures import PHASES

COLORS = dict(
    zip(PHASES, ("#1f4e79", "#c55a11", "#7f9c3d", "#8fb3d9", "#7f6084", "#b8b8b8"), strict=True)
)
LABELS = {"ours": "reasonenv", "trl": "TRL", "trl-liger": "TRL, Liger"}
AXES = {
    "length": "tokens of a response",
    "group": "responses of a group",
    "image": "tokens of an image",
    "ranks": "ranks",
}


def draw_all(folder: Path) -> None:
    """Draws every result in a folder anew."""
    for path in sorted(folder.glob("*.json")):
        (growth if "rows" in json.loads(path.read_text()) else steps)(path)


def steps(path: Path) -> None:
    """Phases of the median step: a bar for each side, a panel for each regime."""
    result = json.loads(path.read_text())
    figure, axes = _panels(len(result["regimes"]), 2.4)
    for axis, (regime, taken) in zip(axes, result["regimes"].items(), strict=True):
        names = [name for name in LABELS if "phases_s" in taken.get(name, {})]
        bars = [{p: v["median"] for p, v in taken[name]["phases_s"].items()} for name in names]
        _stacked(axis, range(len(names)), bars, 0.6)
        axis.set_xticks(range(len(names)), [LABELS[name] for name in names])
        axis.set_title(regime)
        for place, bar in enumerate(bars):
            axis.text(
                place, sum(bar.values()), f"{sum(bar.values()):.3g} s", ha="center", va="bottom"
            )
        axis.margins(y=0.1)
    _finish(figure, axes, path)


def growth(path: Path) -> None:
    """Phases of our median step as one quantity grows, a panel for each quantity."""
    rows = json.loads(path.read_text())["rows"]
    kinds = [kind for kind in AXES if any(row["kind"] == kind for row in rows)]
    figure, axes = _panels(len(kinds), 3.0)
    for axis, kind in zip(axes, kinds, strict=True):
        found = [row for row in rows if row["kind"] == kind]
        _stacked(axis, range(len(found)), [row["phases_s"] for row in found], 0.7)
        axis.set_xticks(range(len(found)), [f"{row['value']:,}" for row in found], rotation=30)
        axis.set_xlabel(AXES[kind])
    _finish(figure, axes, path)


def _panels(count: int, width: float) -> tuple[Any, list[Any]]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, count, figsize=(1.2 + width * count, 3.4), layout="constrained", squeeze=False
    )
    return figure, list(axes[0])


def _stacked(axis: Any, places: Any, bars: list[dict[str, float]], width: float) -> None:
    bottom = [0.0] * len(bars)
    for name in PHASES:
        heights = [bar.get(name, 0.0) for bar in bars]
        axis.bar(places, heights, width, bottom=bottom, color=COLORS[name], label=name)
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]


def _finish(figure: Any, axes: list[Any], path: Path) -> None:
    axes[0].set_ylabel("seconds of a step")
    handles, names = axes[0].get_legend_handles_labels()
    named = [name.replace("log_prob", "log-prob") for name in names]
    figure.legend(handles[::-1], named[::-1], loc="outside right center")
    figure.savefig(path.with_suffix(".png"), dpi=150)
