"""Content of a run directory, and which runs are one curve."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agents.errors import RecordError
from agents.storage import provenance
from agents.storage.json_files import read_json_lines, read_steps
from agents.storage.provenance import GRADER, flat_settings

Row = dict[str, Any]
_SEED_SETTINGS = {
    *("seed", "output_dir", "resume", "save_every", "save_minutes", "keep_checkpoints"),
    *("keep_best", "track", "show_responses"),
    *("evaluate_every", "microbatch_size", "tokens_per_microbatch", "sampler_batch_size"),
    *("gradient_checkpointing", "max_skipped", "push_to_hub", "parity_tolerance"),
}
"""Settings in which runs of one curve may differ: no number of a run follows from them but by
rounding, nor the problems of an evaluation."""


@dataclass(frozen=True)
class RunFolder:
    """Content of a run directory."""

    folder: Path
    record: Row
    """Of `run.json`."""
    rows: list[Row]
    """Of `metrics.jsonl`."""
    evaluations: list[Row]
    rollouts: dict[int, list[Row]]
    """The lines of the file of a step, in the order of steps."""

    @cached_property
    def settings(self) -> Row:
        """Of the run and of its learner, by dotted names; `algorithm` and `grader` among them."""
        grader = self.record["versions"].get(GRADER)
        return flat_settings(self.record["settings"]) | ({"grader": grader} if grader else {})

    @property
    def seed(self) -> Any:
        """Seed of the run."""
        return self.settings.get("run.seed")

    @property
    def algorithm(self) -> Any:
        """Name of its learner."""
        return self.settings.get("algorithm")

    @property
    def kind(self) -> str:
        """Equal for runs that differ only in seed and folder; see `_SEED_SETTINGS`."""
        own = {n: v for n, v in self.settings.items() if _short(n) not in _SEED_SETTINGS}
        return json.dumps(own, sort_keys=True)

    @property
    def last_step(self) -> int:
        """The last step with metrics or rollouts; 0 if there is none."""
        return max([row["step"] for row in self.rows[-1:]] + [*self.rollouts][-1:], default=0)


def read_run(folder: Path) -> RunFolder:
    """The content of a run directory.

    Raises:
        RecordError: The folder does not exist, is no run directory, or has a damaged file.
    """
    if not folder.is_dir():
        raise RecordError(f"{folder} is no folder: give the directory of a run")
    if not (folder / "run.json").exists():
        raise RecordError(f"{folder} holds no run: there is no run.json in it")
    paths = {int(p.stem.split("-")[1]): p for p in (folder / "rollouts").glob("step-*.jsonl")}
    return RunFolder(
        folder,
        provenance.read_run(folder),
        read_steps(folder / "metrics.jsonl"),
        read_steps(folder / "evaluations.jsonl"),
        {step: read_json_lines(paths[step]) for step in sorted(paths)},
    )


def run_labels(runs: Sequence[RunFolder]) -> list[str]:
    """A label of each run: algorithm, environment, and settings that differ.

    Settings that differ between algorithms alone are left out.
    """
    return [_label(run, [r for r in runs if r.algorithm == run.algorithm]) for run in runs]


def _label(run: RunFolder, others: Sequence[RunFolder]) -> str:
    words = [f"{run.algorithm} on {run.settings.get('run.env')}"]
    words += [
        f"{name.rpartition('.')[2]} {value}"
        for name, value in sorted(run.settings.items())
        if _short(name) not in {*_SEED_SETTINGS, "env"}
        and any(other.settings.get(name) != value for other in others)
    ]
    return ", ".join(words)


def _short(name: str) -> str:
    return name.removeprefix("run.")
