"""Checkpoints, atomic even if a run is killed, and the start or resumption of a run."""

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
"""Errors of a full disk in Python, torch and safetensors."""
MAY_CHANGE = {
    *("num_steps", "save_every", "keep_checkpoints", "evaluate_every", "num_test_problems"),
    *("output_dir", "resume", "tensorboard", "on_collapse", "max_skipped"),
    *("parity_tolerance", "agreement"),  # its name in the records of 0.1.0
    *("microbatch_size", "tokens_per_microbatch", "gradient_checkpointing"),
    *("sampler_batch_size", "deepspeed", "vllm"),
}
"""Settings that a resumed run may change: length, records, and remedies for a lack of memory."""

ADDED = {
    "run.trust_remote_code": False,
    "run.weight_decay": 0.01,
    "run.adam_epsilon": 1e-8,
    "run.step_without_signal": True,
}
"""Settings that the records of earlier versions lack, and the value that they had."""


def start(folder: Path, settings: Mapping[str, Any], resume: bool) -> Path | None:
    """Checkpoint to resume from, or None for a new run.

    Removes the remains of an interrupted save. Call it on all ranks before any of them writes.

    Args:
        folder: Run directory; need not exist.
        settings: Settings of the run as JSON values.
        resume: True to resume the run in the folder.

    Raises:
        UsageError: The folder has another run, or one with other settings, or is not writable.
        CheckpointError: The last checkpoint is damaged.
    """
    record = folder / "run.json"
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: give another --output-dir")
    parent = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError(f"cannot write {folder} in {parent}: give another --output-dir")
    if not resume:
        if any((folder / name).exists() for name in ("run.json", "metrics.jsonl", "checkpoints")):
            raise UsageError(
                f"{folder} has another run: continue it with --resume, or give another --output-dir"
            )
        return None
    if record.exists():
        _check_settings(folder, read_json(record).get("settings", {}), settings)
    _remove_leftovers(folder / "checkpoints")
    return latest(folder)


def save(  # noqa: PLR0913 - optional ones are keywords, and no caller needs all
    folder: Path,
    step: int,
    write: Callable[[Path], None],
    state: Mapping[str, Any] | None = None,
    *,
    keep: int | None = None,
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
        keep: Number of checkpoints to keep, the newest; None for all.
        rank: Of this process; 0 renames.
        barrier: Waits for all ranks.

    Raises:
        SaveError: For example, the disk is full; earlier checkpoints are unchanged.
        LostRankError: Another rank has ended.
    """
    final = folder / "checkpoints" / f"step-{step}"
    temporary = final.with_name(f".step-{step}.tmp")
    saved = final.exists()
    barrier()
    if saved:
        return final
    try:
        temporary.mkdir(parents=True, exist_ok=True)
        with typed_errors("training"):
            write(temporary)
            barrier()
        if rank == 0:
            _seal(temporary, {"step": step, **(state or {})})
            temporary.rename(final)
            sync(final.parent)
            _remove(_all(final.parent)[: -keep if keep else 0])
    except (*WRITE_ERRORS, MemoryError) as error:
        if rank == 0:
            shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, AgentsError):
            raise
        raise SaveError(f"cannot save the checkpoint of step {step}: {error}") from error
    barrier()
    return final


def latest(folder: Path) -> Path | None:
    """Last checkpoint of the run in `folder`, or None if there is none.

    Raises:
        CheckpointError: It is damaged: a file is missing or has another size than when written.
    """
    paths = _all(folder / "checkpoints")
    if not paths:
        return None
    last = paths[-1]
    if damage := _damage(last):
        action = f"continue from {paths[-2].name}" if len(paths) > 1 else "start again"
        raise CheckpointError(
            f"{last} is damaged ({damage}): remove it, and --resume will {action}"
        )
    return last


def steps(folder: Path) -> list[int]:
    """Steps of all checkpoints of the run in `folder`, in order."""
    return [_step(path) for path in _all(folder / "checkpoints")]


def remove_after(
    folder: Path, step: int, *, rank: int = 0, barrier: Callable[[], None] = lambda: None
) -> None:
    """Removes all checkpoints after a step; every rank calls it."""
    barrier()
    if rank == 0:
        _remove([path for path in _all(folder / "checkpoints") if _step(path) > step])
    barrier()


def resume_hint(folder: Path) -> str:
    """The way to continue an interrupted run, in words."""
    paths = _all(folder / "checkpoints")
    where = f"from {paths[-1].name}" if paths else "from the beginning: nothing was saved yet"
    return f"--resume continues {where}"


def read_state(checkpoint: Path, expected: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The state passed to `save`, and `step`.

    Args:
        checkpoint: Folder of a checkpoint.
        expected: Entries that must have these values: the learner, the `fingerprint` of the
            model, the number of ranks.

    Raises:
        CheckpointError: Entries differ; the message names all of them.
    """
    state = read_json(checkpoint / STATE)
    differences = [
        f"{name} is {state.get(name)} in the checkpoint and {value} in the run"
        for name, value in (expected or {}).items()
        if state.get(name) != value
    ]
    if differences:
        raise CheckpointError(f"{checkpoint} does not fit this run: {'; '.join(differences)}")
    return state


def fingerprint(weights: Iterable[tuple[str, Tensor]]) -> str:
    """Number of tensors and values of a model, and a digest of their names and shapes.

    Independent of the order of the tensors and of their partition by ZeRO.
    """
    shapes = {name: list(getattr(weight, "ds_shape", weight.shape)) for name, weight in weights}
    count = sum(math.prod(shape) for shape in shapes.values())
    digest = hashlib.sha256(json.dumps(shapes, sort_keys=True).encode()).hexdigest()[:8]
    return f"{len(shapes)} tensors of {count:,} values ({digest})"


def _check_settings(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    old, new = _flat(old), _flat(new)
    old = {name: value for name, value in ADDED.items() if name in new} | old
    changes = [
        f"{name} was {old.get(name)!r} and is {new.get(name)!r}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name) and name.split(".")[-1] not in MAY_CHANGE
    ]
    if changes:
        raise UsageError(
            f"{folder} cannot resume with other settings: {'; '.join(changes)}; "
            "use the old ones, or give another --output-dir without --resume"
        )


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as a flat dict with dotted names."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        inner = _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else None
        flat |= inner or {f"{prefix}{name}": value}
    return flat


def _all(checkpoints: Path) -> list[Path]:
    """Checkpoints in the order of steps."""
    steps = [path.name.removeprefix("step-") for path in checkpoints.glob("step-*")]
    return [checkpoints / f"step-{n}" for n in sorted(int(s) for s in steps if s.isdecimal())]


def _seal(folder: Path, state: Mapping[str, Any]) -> None:
    """Syncs a folder to disk; writes its state last, with the sizes of all other files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != STATE)
    for path in [*files, *(path for path in folder.rglob("*") if path.is_dir())]:
        sync(path)
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
    content = json.dumps({**state, "files": sizes}, indent=2, allow_nan=False)
    write_atomically(folder / STATE, content.encode())


def _damage(checkpoint: Path) -> str:
    """Damage of a checkpoint in a few words; empty if there is none."""
    try:
        sizes = read_json(checkpoint / STATE)["files"]
    except (RecordError, KeyError):
        return f"{STATE} is missing or unreadable"
    for name, size in sizes.items():
        path = checkpoint / name
        actual = path.stat().st_size if path.is_file() else None
        if actual != size:
            return (
                f"{name} is missing" if actual is None else f"{name} has {actual} of {size} bytes"
            )
    return ""


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-"))


def _remove(checkpoints: Iterable[Path]) -> None:
    """Removes checkpoints; renames first, so that a kill leaves no partial one."""
    for path in checkpoints:
        shutil.rmtree(path.rename(path.with_name(f".{path.name}.old")), ignore_errors=True)


def _remove_leftovers(checkpoints: Path) -> None:
    for path in checkpoints.glob(".step-*"):
        shutil.rmtree(path, ignore_errors=True)
