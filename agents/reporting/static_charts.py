"""Curves of runs as plain SVG, for viewers in which scripts do not run."""

from collections.abc import Iterator, Sequence
from html import escape

from agents.reporting.runs import RunFolder
from reasonenv.console import printable

METRICS = (
    *("reward/accuracy", "reward/mean", "response/length_mean", "response/truncated"),
    *("policy/entropy", "policy/kl_old", "train/grad_norm", "train/lr"),
)
"""Metrics of training steps that are drawn."""
WIDTH, HEIGHT = 320.0, 110.0
COLOURS = ("#3465c8", "#c8552d", "#2d8a4e", "#8d4bb8", "#a8801a", "#1f8f9b")
Points = list[tuple[int, float]]


def static_charts(runs: Sequence[RunFolder]) -> str:
    """A figure for each split that is evaluated and each of `METRICS` that is not zero throughout.

    Args:
        runs: Each is a line, in the order of `COLOURS`.
    """
    splits = dict.fromkeys(row["split"] or "" for run in runs for row in run.evaluations)
    curves = [(f"evaluation/{s}/accuracy", [_evaluations(run, s) for run in runs]) for s in splits]
    curves += [(name, [_steps(run, name) for run in runs]) for name in METRICS]
    return "\n".join(
        _figure(name, series)
        for name, series in curves
        if any(value for points in series for _, value in points)
    )


def _evaluations(run: RunFolder, split: str) -> Points:
    rows = [row for row in run.evaluations if (row["split"] or "") == split]
    return [(row["step"], row["accuracy"]) for row in rows if row["accuracy"] is not None]


def _steps(run: RunFolder, name: str) -> Points:
    """At most 200 points, each the mean of equally many consecutive steps."""
    points = [(row["step"], row[name]) for row in run.rows if row.get(name) is not None]
    size = max(1, -(-len(points) // 200))
    parts = (points[i : i + size] for i in range(0, len(points), size))
    return [(part[-1][0], sum(value for _, value in part) / len(part)) for part in parts]


def _figure(name: str, series: Sequence[Points]) -> str:
    steps = [step for points in series for step, _ in points]
    values = [value for points in series for _, value in points]
    low, high = min(values), max(values)
    title = f"{printable(name)}: {low:.4g} to {high:.4g}, steps {min(steps)} to {max(steps)}"
    lines = "".join(_lines(series, (min(steps), low), (max(steps), high)))
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg width="{WIDTH:g}" height="{HEIGHT:g}" role="img" aria-label="{escape(title)}">'
        f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="none" stroke="#8888"/>{lines}</svg>'
        "</figure>"
    )


def _lines(
    series: Sequence[Points], least: tuple[int, float], most: tuple[int, float]
) -> Iterator[str]:
    """A line for each run, with a dot at each point where there are few."""
    spans = [(high - low) or 1 for low, high in zip(least, most, strict=True)]
    for number, points in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        places = [
            (
                4 + (WIDTH - 8) * (step - least[0]) / spans[0],
                HEIGHT - 4 - (HEIGHT - 8) * (value - least[1]) / spans[1],
            )
            for step, value in points
        ]
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{corners}"/>'
        for x, y in places if len(places) < 20 else ():
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>'
