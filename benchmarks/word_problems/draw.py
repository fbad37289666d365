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

from agents.cli.defaults import SHORT
from benchmarks.word_problems.run import ENV, GENEROUS, SPLITS

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
LIMIT = SHORT[ENV]["max_response_length"]
COLORS = {"cpgd": "#c44e52", "grpo": "#4878a8", "rloo": "#55a868", "reinforce": "#8c8c8c"}
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
    span = f"{min(seconds):.0f} to {max(seconds):.0f} s"
    return f"| {name} | {len(runs)} | {steps} | {threads} | {span} | {peak:.1f} GiB |"


def draw(groups: dict[str, list[Run]], path: Path) -> None:
    """Accuracy and length of the responses of each step, one line a run."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for name, runs in groups.items():
        style = "-" if name == runs[0]["learner"] else "--"
        for number, run in enumerate(runs):
            label = f"{name}, {len(runs)} seeds" if number == 0 else None
            for axis, curve in zip(axes, ("reward/accuracy", "response/length_mean"), strict=True):
                values, color = run["curves"][curve], COLORS.get(run["learner"])
                axis.plot(range(1, len(values) + 1), values, style, color=color, label=label)
    axes[0].set(xlabel="step", ylabel="accuracy of the step's responses", ylim=(0, 1))
    axes[1].set(xlabel="step", ylabel="tokens of a response", ylim=(0, None))
    axes[0].legend(loc="upper left")
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
