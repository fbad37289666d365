"""What is kept of a run: its metrics step by step, its evaluations, and where they come from."""

import gzip
import json
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from agents.storage.atomic_files import write_atomically
from agents.storage.json_files import read_json, read_json_lines
from benchmarks.grid.study import Task

VARYING = ("time/", "throughput/", "memory/")
"""Metrics that differ between equal runs."""
DIGITS = 6
NUM_RESPONSES = 4
"""Responses of the last rollout that was sampled, to see what a policy has become."""


def path(folder: Path, task: Task) -> Path | None:
    """Where the run of a task is kept; None where it is not."""
    return next(iter(sorted(folder.glob(f"*-{task.key}-seed{task.seed}.json.gz"))), None)


def missing(folder: Path, tasks: Iterable[Task]) -> list[Task]:
    """Those that are not kept, each command once."""
    found = {(task.key, task.seed): task for task in reversed(list(tasks))}
    return [task for task in reversed(found.values()) if path(folder, task) is None]


def read(file: Path) -> dict[str, Any]:
    """What `write` wrote."""
    return json.loads(gzip.decompress(file.read_bytes()))


def write(folder: Path, task: Task, record: dict[str, Any]) -> Path:
    """Keeps a record, whole or not at all; equal records are equal files."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{task.stem}.json.gz"
    text = json.dumps(record, separators=(",", ":"), allow_nan=False)
    write_atomically(file, gzip.compress(text.encode(), mtime=0))
    return file


def record(task: Task, run: Path, used: dict[str, float]) -> dict[str, Any]:
    """What a run directory says.

    Args:
        task: That was run.
        run: Its directory.
        used: Seconds of the process that came to its end, as the operating system counted them.
    """
    told = read_json(run / "run.json")
    # Where this machine has its files is nobody's business.
    settings = told["settings"]
    settings["run"] = {
        name: value
        for name, value in settings["run"].items()
        if name not in ("output_dir", "data", "model", "resume")
    }
    rows = read_json_lines(run / "metrics.jsonl")
    return {
        "cell": task.name,
        "seed": task.seed,
        "command": task.command,
        "settings": settings,
        "steps": columns(rows),
        "evaluations": [_rounded(row) for row in read_json_lines(run / "evaluations.jsonl")],
        "responses": _responses(run / "rollouts"),
        "training_s": round(sum(row["time/step_s"] for row in rows), 1),
        "peak_gib": round(max(row["memory/peak_gib"] for row in rows), 2),
        **used,
        "resumed": len(told.get("resumed", ())),
        **{name: told[name] for name in ("started", "versions", "git", "machine")},
    }


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """Metrics over the steps, rounded; what is missing or no number is null."""
    names = sorted({name for row in rows for name in row if not name.startswith(VARYING)})
    return {name: [_rounded(row.get(name)) for row in rows] for name in names}


def equal(one: dict[str, Any], other: dict[str, Any]) -> str:
    """What differs first between the numbers of two records; empty where nothing does.

    A metric that only `other` has is newer than `one`.
    """
    for name in sorted(one["steps"]):
        here, there = (found["steps"].get(name, []) for found in (one, other))
        if here != there:
            pairs = enumerate(zip_longest(here, there, fillvalue="missing"), 1)
            step, values = next((s, v) for s, v in pairs if v[0] != v[1])
            return f"{name} at step {step} is {values[0]} and {values[1]}"
    return "" if one["evaluations"] == other["evaluations"] else "evaluations"


def _responses(folder: Path) -> list[dict[str, Any]]:
    steps = sorted(folder.glob("step-*.jsonl"), key=lambda file: int(file.stem.split("-")[1]))
    kept = ("question", "response", "reference", "reward", "accuracy", "format")
    rows = read_json_lines(steps[-1])[:NUM_RESPONSES] if steps else []
    return [{name: row[name] for name in kept if name in row} for row in rows]


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return value
