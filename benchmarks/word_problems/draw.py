"""Tables and a picture of the word problems from their records.

python -m benchmarks.word_problems.draw
"""

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from agents.cli.defaults import SHORT
from benchmarks.word_problems.run import ENV, GENEROUS, SPLITS

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
LIMIT = SHORT[ENV]["max_response_length"]
COLORS = {"cpgd": "#c44e52", "grpo": "#4878a8", "rloo": "#55a868", "reinforce": "#8c8c8c"}
STYLES = {"lora": "--", "large": "-."}
WINDOW = 5
"""Steps of a moving mean: a step has eight problems alone."""
Run = dict[str, Any]


def row(name: str, accuracies: Sequence[dict[str, Any]]) -> str:
    """Line of a table: accuracy on each split, mean of seeds, ends of intervals averaged."""
    cells = []
    for split in SPLITS:
        parts = [each[split] for each in accuracies]
        mean = statistics.mean(part["accuracy"] for part in parts)
        ends = zip(*(part["interval"] for part in parts), strict=True)
        low, high = map(statistics.mean, ends)
        cells.append(f"{mean:.3f} [{low:.3f}, {high:.3f}]")
    length = statistics.mean(each["test"]["length_mean"] for each in accuracies)
    return f"| {name} | {' | '.join(cells)} | {length:.0f} |"


def table(name: str, lines: Iterable[str]) -> str:
    """Markdown table of rows."""
    head = [f"| {name} | {' | '.join(SPLITS)} | tokens |", "|---" * (len(SPLITS) + 2) + "|"]
    return "\n".join([*head, *lines])


def by_name(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Runs that differ in their seeds alone."""
    groups = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run["name"], run["seed"])):
        groups[run["name"]].append(run)
    return groups


def cost(name: str, runs: Sequence[Run]) -> str:
    """Line of a table: seconds of a run's steps, and peak memory."""
    seconds = [run["seconds"] for run in runs]
    peak = max(max(run["curves"]["memory/peak_gib"]) for run in runs)
    steps, threads = runs[0]["steps"], runs[0]["machine"]["num_threads"]
    ends = dict.fromkeys(f"{end:.0f}" for end in (min(seconds), max(seconds)))
    span = f"{' to '.join(ends)} s"
    return f"| {name} | {len(runs)} | {steps} | {threads} | {span} | {peak:.1f} GiB |"


def curve(run: Run, name: str) -> np.ndarray:
    """Moving mean of a metric over `WINDOW` steps, [t], from step `WINDOW` on."""
    return np.convolve(run["curves"][name], np.full(WINDOW, 1 / WINDOW), "valid")


def draw(groups: dict[str, list[Run]], path: Path) -> None:
    """Accuracy of all weights, accuracy of the other runs, and length, by step.

    A line is the mean over seeds of moving means, and its band goes from the lowest to the highest.
    """
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for name, runs in groups.items():
        plain = name == runs[0]["learner"]
        style = "-" if plain else STYLES.get(name.partition("-")[2], ":")
        for axis, metric in (
            (axes[0] if plain else axes[1], "reward/accuracy"),
            (axes[2], "response/length_mean"),
        ):
            values = np.array([curve(run, metric) for run in runs])
            steps, color = np.arange(values.shape[1]) + WINDOW, COLORS.get(runs[0]["learner"])
            seeds = f"{len(runs)} seed{'s' * (len(runs) > 1)}"
            axis.plot(steps, values.mean(0), style, color=color, label=f"{name}, {seeds}")
            if len(runs) > 1:
                axis.fill_between(steps, values.min(0), values.max(0), color=color, alpha=0.15)
    for axis, title in zip(axes[:2], ("all weights", "adapters, more steps, control"), strict=True):
        axis.set(xlabel="step", ylabel="accuracy", ylim=(0, 1), title=title)
        axis.legend(loc="lower right")
    axes[2].set(xlabel="step", ylabel="tokens of a response", ylim=(0, None), title="length")
    for axis in axes:
        axis.grid(alpha=0.25)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    """The command line."""
    starts = json.loads((HERE / "start.json").read_text())
    groups = by_name(json.loads((HERE / "runs.json").read_text()))
    print(table(f"start, {GENEROUS} tokens", [row(each["prompt"], [each]) for each in starts]))
    lines = [row(name, [run["end"] for run in runs]) for name, runs in groups.items()]
    print("\n" + table(f"end, {LIMIT} tokens", lines))
    print("\n| | seeds | steps | threads | seconds | peak |\n" + "|---" * 6 + "|")
    print("\n".join(cost(name, runs) for name, runs in groups.items()))
    draw(groups, HERE / "curves.png")


if __name__ == "__main__":
    main()
