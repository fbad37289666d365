"""Checkpoints that survive a kill at any moment, and how a run begins or goes on."""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
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
from agents.storage.atomic_files import sync, write_atomically
from agents.storage.json_files import read_json

STATE = "trainer_state.json"
WRITE_ERRORS = (OSError, RuntimeError, SafetensorError)
"""How a full disk shows itself in plain Python, in torch and in safetensors."""
MAY_CHANGE = {
    *("num_steps", "save_every", "keep_checkpoints", "evaluate_every", "num_test_problems"),
    *("output_dir", "resume", "tensorboard", "on_collapse", "max_skipped"),
    *("parity_tolerance", "agreement"),  # its name in the records of 0.1.0
    *("microbatch_size", "tokens_per_microbatch", "gradient_checkpointing"),
    *("sampler_batch_size", "deepspeed", "vllm"),
}
"""Settings that a resumed run may give anew: how long it is, what is kept of it, and what a run is
told to lower that has no memory left."""


def start(folder: Path, settings: Mapping[str, Any], resume: bool) -> Path | None:
    """The checkpoint to go on from, or None for a run that begins.

    What a killed save left is removed. All ranks may call this; none writes before all have.

    Args:
        folder: Directory of the run; need not exist.
        settings: What the run is about to do, as `json_value` returns it.
        resume: Whether a run that is there goes on.

    Raises:
        UsageError: Another run is there, it had other settings, or nothing can be written there.
        CheckpointError: Its last checkpoint is damaged.
    """
    record = folder / "run.json"
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: give another --output-dir")
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"{folder}: nothing can be written in {there}: give another --output-dir")
    if not resume:
        if any((folder / name).exists() for name in ("run.json", "metrics.jsonl", "checkpoints")):
            raise UsageError(
                f"{folder} holds another run: continue it by --resume, or give another --output-dir"
            )
        return None
    if record.exists():
        _check_settings(folder, read_json(record).get("settings", {}), settings)
    _remove_leftovers(folder / "checkpoints")
    return latest(folder)


def save(  # noqa: PLR0913 - what, then by name how: no caller gives all
    folder: Path,
    step: int,
    write: Callable[[Path], None],
    state: Mapping[str, Any] | None = None,
    *,
    keep: int | None = None,
    rank: int = 0,
    barrier: Callable[[], None] = lambda: None,
) -> Path:
    """The folder `checkpoints/step-N`, which is there whole or not at all.

    It is written aside, brought to the disk and renamed. Every rank calls this; a step that is
    saved already is not written again.

    Args:
        folder: Directory of the run, the same for all ranks.
        step: N, the number of steps done.
        write: Writes this rank's files into an existing folder.
        state: What else `read_state` shall give; JSON values.
        keep: Number of checkpoints left, the newest; None keeps all.
        rank: Of this process; 0 renames.
        barrier: Returns when every rank has called it.

    Raises:
        SaveError: The disk is full, say; the checkpoints of before are untouched.
        LostRankError: Another rank has ended.
    """
    final = folder / "checkpoints" / f"step-{step}"
    aside = final.with_name(f".step-{step}.tmp")
    saved = final.exists()
    barrier()
    if saved:
        return final
    try:
        aside.mkdir(parents=True, exist_ok=True)
        with typed_errors("training"):
            write(aside)
            barrier()
        if rank == 0:
            _seal(aside, {"step": step, **(state or {})})
            aside.rename(final)
            sync(final.parent)
            _prune(_all(final.parent)[: -keep if keep else 0])
    except (*WRITE_ERRORS, MemoryError) as error:
        if rank == 0:
            shutil.rmtree(aside, ignore_errors=True)
        if isinstance(error, AgentsError):
            raise
        raise SaveError(f"cannot save the checkpoint of step {step}: {error}") from error
    barrier()
    return final


def latest(folder: Path) -> Path | None:
    """The last checkpoint of the run in `folder`, or None where there is none yet.

    Raises:
        CheckpointError: It is damaged: a file is missing or not of the size that it was written
            with.
    """
    found = _all(folder / "checkpoints")
    if not found:
        return None
    last = found[-1]
    fault = _damage(last)
    if fault:
        before = f"go on from {found[-2].name}" if len(found) > 1 else "begin anew"
        raise CheckpointError(f"{last} is damaged ({fault}): remove it, and --resume will {before}")
    return last


def steps(folder: Path) -> list[int]:
    """Those after which the run in `folder` has checkpoints, in order."""
    return [_step(path) for path in _all(folder / "checkpoints")]


def remove_after(
    folder: Path, step: int, *, rank: int = 0, barrier: Callable[[], None] = lambda: None
) -> None:
    """Removes all checkpoints after a step; every rank calls it."""
    barrier()
    if rank == 0:
        _prune([path for path in _all(folder / "checkpoints") if _step(path) > step])
    barrier()


def resume_hint(folder: Path) -> str:
    """The way to continue an interrupted run, in words."""
    found = _all(folder / "checkpoints")
    where = f"from {found[-1].name}" if found else "from the beginning: nothing was saved yet"
    return f"--resume continues {where}"


def read_state(checkpoint: Path, expected: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What was given to `save` as state, and `step`.

    Args:
        checkpoint: A folder that `save` made.
        expected: Entries that must be as they were saved: the learner, `fingerprint` of the model,
            the number of ranks.

    Raises:
        CheckpointError: The checkpoint does not fit; the message names every entry.
    """
    state = read_json(checkpoint / STATE)
    wrong = [
        f"{name} is {state.get(name)} there and {value} here"
        for name, value in (expected or {}).items()
        if state.get(name) != value
    ]
    if wrong:
        raise CheckpointError(f"{checkpoint} does not fit this run: {'; '.join(wrong)}")
    return state


def fingerprint(weights: Iterable[tuple[str, Tensor]]) -> str:
    """Number of tensors and values of a model, and a digest of their names and shapes.

    The order of the tensors does not matter. Parameters that ZeRO has taken apart count as whole.
    """
    shapes = {name: list(getattr(weight, "ds_shape", weight.shape)) for name, weight in weights}
    count = sum(math.prod(shape) for shape in shapes.values())
    digest = hashlib.sha256(json.dumps(shapes, sort_keys=True).encode()).hexdigest()[:8]
    return f"{len(shapes)} tensors of {count:,} values ({digest})"


def _check_settings(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    before, now = _flat(old), _flat(new)
    changed = [
        f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name) and name.split(".")[-1] not in MAY_CHANGE
    ]
    if changed:
        raise UsageError(
            f"{folder} cannot go on with other settings: {'; '.join(changed)}; "
            "give the old ones, or another --output-dir without --resume"
        )


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        inner = _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else None
        flat |= inner or {f"{prefix}{name}": value}
    return flat


def _all(checkpoints: Path) -> list[Path]:
    """Checkpoints by their step, the newest last."""
    steps = [path.name.removeprefix("step-") for path in checkpoints.glob("step-*")]
    return [checkpoints / f"step-{n}" for n in sorted(int(s) for s in steps if s.isdecimal())]


def _seal(folder: Path, state: Mapping[str, Any]) -> None:
    """Brings a folder to the disk; its state comes last, with the sizes of the other files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != STATE)
    for path in [*files, *(path for path in folder.rglob("*") if path.is_dir())]:
        sync(path)
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
    content = json.dumps({**state, "files": sizes}, indent=2, allow_nan=False)
    write_atomically(folder / STATE, content.encode())


def _damage(checkpoint: Path) -> str:
    """What is wrong with a checkpoint, in a few words; empty when nothing is."""
    try:
        sizes = read_json(checkpoint / STATE)["files"]
    except (RecordError, KeyError):
        return f"{STATE} is missing or unreadable"
    for name, size in sizes.items():
        path = checkpoint / name
        found = path.stat().st_size if path.is_file() else None
        if found != size:
            return f"{name} is missing" if found is None else f"{name} has {found} of {size} bytes"
    return ""


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-"))


def _prune(found: Iterable[Path]) -> None:
    """Removes checkpoints; renamed first, for a kill between two files."""
    for path in found:
        shutil.rmtree(path.rename(path.with_name(f".{path.name}.old")), ignore_errors=True)


def _remove_leftovers(checkpoints: Path) -> None:
    for path in checkpoints.glob(".step-*"):
        shutil.rmtree(path, ignore_errors=True)
