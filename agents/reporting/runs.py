"""Content of a run directory, with a line for each file that is damaged or missing."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.errors import RecordError
from agents.reporting.records import (
    Row,
    few,
    read_evaluations,
    read_metrics,
    read_record,
    read_responses,
)
from agents.storage.provenance import GRADER
from agents.storage.resumed_settings import flat_settings

SEED_SETTINGS = {
    *("seed", "output_dir", "resume", "save_every", "save_minutes", "keep_checkpoints"),
    *("keep_best", "track", "show_responses"),
    *("evaluate_every", "microbatch_size", "tokens_per_microbatch", "sampler_batch_size"),
    *("gradient_checkpointing", "push_to_hub", "parity_tolerance"),
}
"""Settings in which runs of one curve may differ: no number of a run follows from them but by
rounding, nor the problems of an evaluation."""


@dataclass
class RunFolder:
    """Content of a run directory."""

    folder: Path
    rows: list[Row] = field(default_factory=list)
    """Of `metrics.jsonl`."""
    evaluations: list[Row] = field(default_factory=list)
    record: Row = field(default_factory=dict)
    """Of `run.json`; empty where it cannot be read."""
    rollouts: list[tuple[int, list[Row]]] = field(default_factory=list)
    """Step, and the lines of its file."""
    faults: list[str] = field(default_factory=list)
    """Lines on damaged or missing files."""

    @property
    def settings(self) -> dict[str, Any]:
        """Of the run and of its learner, by dotted names; `algorithm` and `grader` among them."""
        settings = flat_settings(self.record.get("settings") or {})
        grader = (self.record.get("versions") or {}).get(GRADER)
        return settings | {"grader": grader} if settings and grader else settings

    @property
    def seed(self) -> Any:
        """None where it is unknown."""
        return self.settings.get("run.seed")

    @property
    def kind(self) -> str:
        """Equal for runs that differ only in seed and folder; see `SEED_SETTINGS`."""
        settings = {
            n: v for n, v in self.settings.items() if n.removeprefix("run.") not in SEED_SETTINGS
        }
        return json.dumps(settings, sort_keys=True) if settings else str(self.folder)


def read_run(folder: Path) -> RunFolder:
    """The content of a run directory.

    Raises:
        RecordError: The folder does not exist or is no run directory.
    """
    if not folder.is_dir():
        raise RecordError(f"{folder} is no folder: give the directory of a run")
    run = RunFolder(folder)
    names = {path.name for path in folder.iterdir()}
    if not names & {"metrics.jsonl", "run.json", "evaluations.jsonl", "rollouts"}:
        raise RecordError(
            f"{folder} holds no run: there is neither metrics.jsonl nor run.json in it"
        )
    run.record = read_record(folder / "run.json", run.faults)
    run.rows = read_metrics(folder / "metrics.jsonl", run.faults)
    run.evaluations = read_evaluations(folder / "evaluations.jsonl", run.faults)
    if not run.rows:
        run.faults.append("metrics.jsonl holds no step: there are no curves")
    paths = (folder / "rollouts").glob("step-*.jsonl")
    files = {step: path for path in paths if (step := _step(path)) is not None}
    for step in sorted(files):
        run.rollouts.append((step, read_responses(files[step], run.faults)))
    run.faults = few(run.faults)
    return run


def run_labels(runs: Sequence[RunFolder]) -> list[str]:
    """A label of each run: algorithm, environment, and settings that differ."""
    flat = [run.settings for run in runs]
    names = sorted({name for settings in flat for name in settings})
    differing = [
        name
        for name in names
        if name.removeprefix("run.") not in {*SEED_SETTINGS, "algorithm", "env"}
        and len({str(settings.get(name)) for settings in flat if settings}) > 1
    ]
    return [
        _label(run, [name for name in differing if _same_algorithm(run, runs, name)])
        for run in runs
    ]


def _label(run: RunFolder, differing: Sequence[str]) -> str:
    settings = run.settings
    if not settings:
        return run.folder.name
    words = [f"{settings.get('algorithm')} on {settings.get('run.env')}"]
    words += [f"{name.rpartition('.')[2]} {settings[name]}" for name in differing]
    return ", ".join(words)


def _same_algorithm(run: RunFolder, runs: Sequence[RunFolder], name: str) -> bool:
    """True if a setting differs between this run and another one of the same algorithm."""
    mine = run.settings
    return name in mine and any(
        other.settings.get("algorithm") == mine.get("algorithm")
        and other.settings.get(name) != mine[name]
        for other in runs
    )


def _step(path: Path) -> int | None:
    number = path.stem.removeprefix("step-")
    return int(number) if re.fullmatch("[0-9]{1,15}", number) else None
