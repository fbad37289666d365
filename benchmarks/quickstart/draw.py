"""Tables and pictures of the quickstart from its records: python -m benchmarks.quickstart.draw.

Prints the tables of the page as Markdown, and draws NAME.png from each NAME.json of `run`.
"""

import json
import statistics
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks.quickstart.run import GOAL

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
NAMES = ("level2", "level1", "fresh")
SPLITS = {"test": "#c44e52", "heldout": "#dd9b3a"}


def seconds_to_goal(run: dict[str, Any]) -> float | None:
    """Seconds after which a checkpoint was above the goal; None if none was."""
    return next((p["seconds"] for p in run["test_curve"] if p["accuracy"] > GOAL), None)


def pooled(runs: list[dict[str, Any]], when: str, split: str, family: str | None) -> list[float]:
    """Mean accuracy of the seeds, and the means of the ends of their intervals."""
    rows = [run[when][split]["all" if family is None else "families"] for run in runs]
    rows = rows if family is None else [row[family] for row in rows]
    low, high = zip(*(row["interval"] for row in rows), strict=True)
    return [statistics.mean(v) for v in ([row["accuracy"] for row in rows], low, high)]


def table(runs: list[dict[str, Any]]) -> str:
    """Accuracy of all problems and of each family, at the start and the end, on both splits."""
    lines = ["| | test: start | end | held out: start | end |", "|---|---|---|---|---|"]
    for family in (None, *runs[0]["end"]["test"]["families"]):
        cells = [
            f"{mean:.2f} [{low:.2f}, {high:.2f}]"
            for split in SPLITS
            for when in ("start", "end")
            for mean, low, high in [pooled(runs, when, split, family)]
        ]
        lines.append(f"| {family or 'all'} | {' | '.join(cells)} |")
    return "\n".join(lines)


def times(runs: list[dict[str, Any]]) -> str:
    """Seconds and memory of each seed."""
    lines = ["| seed | first reward | test above .8 | end | peak |", "|---|---|---|---|---|"]
    for run in runs:
        goal = seconds_to_goal(run)
        cells = run["first_reward_seconds"], goal, run["seconds"]
        words = " | ".join("-" if value is None else f"{value:.0f} s" for value in cells)
        lines.append(f"| {run['seed']} | {words} | {run['peak_gib']} GiB |")
    return "\n".join(lines)


def errors(runs: list[dict[str, Any]]) -> str:
    """Rates of the kinds of errors, at the start and the end, on both splits."""
    kinds = ("slip", "misread", "arithmetic", "copy", "form")
    lines = [f"| | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
    for split in SPLITS:
        for when in ("start", "end"):
            rates = [
                statistics.mean(run[when][split]["errors"].get(kind, 0.0) for run in runs)
                for kind in kinds
            ]
            cells = " | ".join(f"{rate:.3f}" for rate in rates)
            lines.append(f"| {split}, {when} | {cells} |")
    return "\n".join(lines)


def methods(runs: list[dict[str, Any]]) -> str:
    """Accuracy on both splits after each method of `methods.json`."""
    lines = ["| | seconds | test | held out |", "|---|---|---|---|"]
    rows = [run["methods"] for run in runs]
    for name in rows[0]:
        cells = [f"{statistics.mean(row[name]['seconds'] for row in rows):.0f}"]
        for split in SPLITS:
            mean, low, high = pooled(rows, name, split, None)
            cells.append(f"{mean:.3f} [{low:.3f}, {high:.3f}]")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    """Accuracy over seconds of each seed, and of each family at both ends."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=[1, 1.3]
    )
    for number, run in enumerate(runs):
        points = [(p["seconds"], p["accuracy"]) for p in run["test_curve"]]
        points.append((run["seconds"], run["end"]["test"]["all"]["accuracy"]))
        x, y = zip(*points, strict=True)
        label = "new images, each seed" if number == 0 else None
        left.plot(x, y, color="#4878a8", alpha=0.7, linewidth=1.2, label=label)
    left.axhline(GOAL, color="grey", linewidth=0.8, linestyle=":")
    left.set(xlabel="seconds from the start", ylabel="sampled accuracy", ylim=(0, 1.02))
    left.grid(alpha=0.25)
    left.legend(loc="lower right")
    families = list(runs[0]["end"]["test"]["families"])
    place = np.arange(len(families))
    for shift, (split, color) in zip((-0.2, 0.2), SPLITS.items(), strict=True):
        start, end = (
            np.array([pooled(runs, when, split, family) for family in families])
            for when in ("start", "end")
        )
        label = {"test": "new images", "heldout": "held-out combinations"}[split]
        right.bar(place + shift, end[:, 0], 0.38, color=color, label=label)
        error = np.abs(end[:, 1:].T - end[:, 0])
        right.errorbar(place + shift, end[:, 0], error, fmt="none", color="black", linewidth=0.8)
        right.plot(place + shift, start[:, 0], "_", color="black", markersize=9)
    right.set_xticks(place, families, rotation=40, ha="right")
    right.set(ylim=(0, 1.02), title="after training; dashes: before")
    right.legend(loc="lower right")
    right.grid(axis="y", alpha=0.25)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    """The command line."""
    for name in NAMES:
        path = HERE / f"{name}.json"
        if path.exists():
            runs = json.loads(path.read_text())
            print(f"## {name}, {len(runs)} seeds\n\n{times(runs)}\n")
            print(f"{table(runs)}\n\n{errors(runs)}\n")
            draw(runs, path.with_suffix(".png"))
    if (path := HERE / "methods.json").exists():
        print(f"## methods\n\n{methods(json.loads(path.read_text()))}")


if __name__ == "__main__":
    main()
