"""Checkpoints, atomic even if a run is killed, and the start or resumption of a run."""

import hashlib
import json
import math
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from torch import Tensor

from agents.errors import (
    AgentsError,
    CheckpointError,
    RecordError,
    SaveError,
    UsageError,
    typed_errors,
)
from agents.storage import digests
from agents.storage.atomic_files import sync, sync_all, write_atomically
from agents.storage.json_files import read_json
from agents.storage.provenance import check_settings
from reasonenv.console import print_line

_STATE = "trainer_state.json"
_NAME = re.compile(r"step-(0|[1-9][0-9]{0,17})")
"""Name of a checkpoint."""

_RUN_FILES = ("run.json", "metrics.jsonl", "checkpoints")
"""Entries of a folder that has a run."""
WRITE_ERRORS = (OSError, RuntimeError, SafetensorError)
"""Errors of a full disk in Python, torch and safetensors."""
_ROLLBACK = Path("checkpoints", "rollback.json")


def start(folder: Path, settings: Mapping[str, Any], resume: bool, *, rank: int = 0) -> Path | None:
    """Checkpoint to resume from, or None for a new run.

    Removes the remains of an interrupted save, and completes an interrupted rollback. Call it on
    all ranks before any of them writes.

    Args:
        folder: Run directory; need not exist.
        settings: Settings of the run as JSON values.
        resume: True to resume the run in the folder.
        rank: Of this process; rank 0 looks for the checkpoint, the others get None.

    Raises:
        UsageError: The folder has another run, or none to resume, or one with other settings that
            has gone a step.
        RecordError: The record of the run is damaged.
        CheckpointError: There are checkpoints, and each is damaged.
    """
    has_run = any((folder / name).exists() for name in _RUN_FILES)
    if has_run and not resume:
        raise UsageError(
            f"{folder} has another run: continue it with --resume, or give another --output-dir"
        )
    if resume and not has_run:
        records = [*sorted(folder.glob("*/run.json")), *sorted(folder.parent.glob("*/run.json"))]
        runs = "there are " + ", ".join(str(path.parent) for path in records[:10])
        raise UsageError(
            f"{folder} has no run to resume, and beside it {runs if records else 'none'}: give the "
            "folder of one by --output-dir, or start one without --resume"
        )
    if has_run:
        check_settings(folder, settings, binding=_has_results(folder))
    if rank != 0:
        return None
    checkpoint = recover(folder) if has_run else None
    if checkpoint is None:
        (folder / _ROLLBACK).unlink(missing_ok=True)
        return None
    last = last_rollback(folder)
    is_before = read_state(checkpoint).get("num_rollbacks", 0) < last.count
    # A rollback was recorded, and then interrupted.
    if is_before and step_of(checkpoint) > last.step and (goal := recover(folder, last.step)):
        remove_after(folder, step_of(goal))
        return goal
    return checkpoint


def _has_results(folder: Path) -> bool:
    """True if the run in a folder has metrics or a checkpoint, intact or not."""
    metrics, entries = folder / "metrics.jsonl", (folder / "checkpoints").glob("[!.]*")
    return any(entries) or (metrics.exists() and metrics.stat().st_size > 0)


def save(  # noqa: PLR0913 - optional ones are keywords, and no caller needs all
    folder: Path,
    step: int,
    write: Callable[[Path], None],
    state: Mapping[str, Any] | None = None,
    *,
    keep: int | None = None,
    every: int = 1,
    best: int | None = None,
    rank: int = 0,
    barrier: Callable[[], None] = lambda: None,
) -> Path:
    """Writes the folder `checkpoints/step-N`, completely or not at all.

    Writes a temporary folder, syncs it to disk and renames it. Every rank calls this. An existing
    checkpoint is not written again.

    Args:
        folder: Run directory, the same for all ranks.
        step: N, the number of completed steps.
        write: Writes this rank's files into an existing folder.
        state: Further values for `read_state`; JSON types.
        keep: Number of checkpoints to keep, the newest; None for all. See `outdated`.
        every: Steps between checkpoints.
        best: Step of a checkpoint to keep besides.
        rank: Of this process; 0 renames.
        barrier: Waits for all ranks.

    Raises:
        SaveError: For example, the disk is full; earlier checkpoints are unchanged.
        LostRankError: Another rank has ended.
    """
    final = path_of(folder, step)
    temporary, saved = final.with_name(f".step-{step}.tmp"), final.exists()
    barrier()
    if saved:
        return final
    try:
        temporary.mkdir(parents=True, exist_ok=True)
        with typed_errors("training"):
            write(temporary)
            barrier()
        if rank == 0:
            sync_all(temporary)
            values = json.dumps({"step": step, **(state or {})}, indent=2, allow_nan=False)
            write_atomically(temporary / _STATE, values.encode())
            digests.write_digests(temporary)
            temporary.rename(final)
            sync(final.parent)
            old = outdated(steps(folder), keep, every, best) if keep else []
            _remove(path_of(folder, step) for step in old)
    except (*WRITE_ERRORS, MemoryError) as error:
        if rank == 0:
            shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, AgentsError):
            raise
        reason = failed_write(error, folder)
        raise SaveError(f"cannot save the checkpoint of step {step}: {reason}") from error
    barrier()
    return final


def failed_write(error: Exception, folder: Path) -> str:
    """The reason of `WRITE_ERRORS` in words, and the folder; torch names a line of its own code."""
    text = str(error)
    if "enforce fail" in text:
        text = f"a write failed, {shutil.disk_usage(folder).free / 2**30:.2f} GiB are free"
    return text if str(folder) in text else f"{text}, in {folder}"


def outdated(steps: Sequence[int], keep: int, every: int = 1, best: int | None = None) -> list[int]:
    """Steps of the checkpoints to remove.

    What stays are the last `keep` of those at intervals of steps; the newest of all, which may be
    one by time, or of an interrupt; others where these are fewer than `keep`, as after a change of
    the interval; and the best.

    Args:
        steps: Of all checkpoints, in order.
        keep: At least 1.
        every: Interval.
        best: Step of the best checkpoint, if any.
    """
    kept = {*[step for step in steps if step % every == 0][-keep:], *steps[-1:]}
    others = [step for step in steps if step not in kept]
    kept |= {*others[max(len(others) + len(kept) - keep, 0) :], best}
    return [step for step in steps if step not in kept]


def latest(folder: Path) -> Path | None:
    """Newest intact checkpoint of the run in `folder`, or None for a run without checkpoints.

    Raises:
        CheckpointError: There are checkpoints, and each is damaged.
    """
    return _newest_intact(folder)[0]


def recover(folder: Path, last: int | None = None) -> Path | None:
    """Newest intact checkpoint; damaged newer ones are moved aside, with a line for each.

    Args:
        folder: Run directory, which no other process writes.
        last: Ignores checkpoints after this step, and gives None if no earlier one is intact.

    Raises:
        CheckpointError: Without `last`: there are checkpoints, and each is damaged.
    """
    for path in (folder / "checkpoints").glob(".step-*"):  # the remains of an interrupted save
        shutil.rmtree(path, ignore_errors=True)
    checkpoint, damages = _newest_intact(folder, last)
    if checkpoint is None:
        return None
    for path, reason in damages.items():
        aside = path.with_name(f"damaged-{path.name}")
        shutil.rmtree(aside, ignore_errors=True)  # of an earlier time
        path.rename(aside)  # so that its step can be saved again
        line = f"{path} is damaged ({reason}): renamed {aside.name}; {checkpoint.name} is used"
        print_line(line, sys.stderr)
    return checkpoint


def _newest_intact(folder: Path, last: int | None = None) -> tuple[Path | None, dict[Path, str]]:
    """Newest intact checkpoint up to a step, and the damage of each newer one."""
    damages: dict[Path, str] = {}
    for path in reversed(_all(folder)):
        if last is None or step_of(path) <= last:
            reason = digests.damage(path)
            if not reason and (step := read_state(path)["step"]) != step_of(path):
                reason = f"{_STATE} is of step {step}"
            if not reason:
                return path, damages
            damages[path] = reason
    if damages and last is None:
        listed = "; ".join(f"{path.name}: {reason}" for path, reason in damages.items())
        raise CheckpointError(
            f"every checkpoint of {folder} is damaged ({listed}): bring one back from a copy, or "
            f"remove {folder / 'checkpoints'}, and --resume starts from the beginning"
        )
    return None, damages


def steps(folder: Path) -> list[int]:
    """Steps of all checkpoints of the run in `folder`, in order."""
    return [step_of(path) for path in _all(folder)]


def remove_after(
    folder: Path, step: int, *, rank: int = 0, barrier: Callable[[], None] = lambda: None
) -> None:
    """Removes all checkpoints after a step; every rank calls it."""
    barrier()
    if rank == 0:
        _remove(path for path in _all(folder) if step_of(path) > step)
    barrier()


@dataclass(frozen=True)
class Rollback:
    """Record of the last rollback of a run, written before it begins.

    A checkpoint has digests and is never written again, so what a rollback changes is in a file
    beside. It counts where it is of a later rollback than the checkpoint. A rollback that a kill
    interrupts is completed when the run resumes.
    """

    step: int
    """Of the checkpoint that it goes to."""
    position: int
    """Index of the next problem in the problem order, over all ranks."""
    count: int
    """Rollbacks of the run up to this one."""

    def write(self, folder: Path) -> None:
        """Records it for the run in a folder, durably on return."""
        write_atomically(folder / _ROLLBACK, json.dumps(asdict(self)).encode() + b"\n")


def last_rollback(folder: Path) -> Rollback:
    """The last rollback of the run in a folder; one to nowhere, with the count 0, if none."""
    path = folder / _ROLLBACK
    return Rollback(**read_json(path)) if path.exists() else Rollback(0, 0, 0)


def resume_hint(folder: Path) -> str:
    """The way to continue an interrupted run, in words."""
    paths = _all(folder)
    where = f"from {paths[-1].name}" if paths else "from the beginning: nothing was saved yet"
    return f"--resume continues {where}"


def read_state(checkpoint: Path, expected: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The state passed to `save`, and `step`.

    Args:
        checkpoint: Folder of a checkpoint.
        expected: Entries that must have these values: the learner, the `fingerprint` of the
            model, the number of ranks.

    Raises:
        CheckpointError: The file is damaged, or entries differ; the message names all of them.
    """
    try:
        state = read_json(checkpoint / _STATE)
    except RecordError as error:
        raise CheckpointError(f"{checkpoint} is damaged: {error}") from error
    differences = "; ".join(
        f"{name} is {state.get(name)} in the checkpoint and {value} in the run"
        for name, value in (expected or {}).items()
        if state.get(name) != value
    )
    if differences:
        raise CheckpointError(f"{checkpoint} does not fit this run: {differences}")
    return state


def fingerprint(weights: Iterable[tuple[str, Tensor]]) -> str:
    """Number of tensors and values of a model, and a digest of their names and shapes.

    Independent of the order of the tensors and of their partition by ZeRO.
    """
    shapes = {name: list(getattr(weight, "ds_shape", weight.shape)) for name, weight in weights}
    count = sum(math.prod(shape) for shape in shapes.values())
    digest = hashlib.sha256(json.dumps(shapes, sort_keys=True).encode()).hexdigest()[:8]
    return f"{len(shapes)} tensors of {count:,} values ({digest})"


def step_of(checkpoint: Path) -> int:
    """Step in the name of a checkpoint."""
    return int(checkpoint.name.removeprefix("step-"))


def path_of(folder: Path, step: int) -> Path:
    """Checkpoint of a step of the run in `folder`."""
    return folder / "checkpoints" / f"step-{step}"


def _all(folder: Path) -> list[Path]:
    """Checkpoints of the run in `folder`, in the order of steps."""
    paths = (folder / "checkpoints").glob("step-*")
    return sorted((path for path in paths if _NAME.fullmatch(path.name)), key=step_of)


def _remove(checkpoints: Iterable[Path]) -> None:
    """Removes checkpoints; renames first, so that a kill leaves no partial one."""
    for path in checkpoints:
        shutil.rmtree(path.rename(path.with_name(f".{path.name}.old")), ignore_errors=True)
