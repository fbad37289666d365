"""Contents of one checkpoint: its state, its digests, and damage found by them."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from agents.errors import CheckpointError, RecordError
from agents.storage import digests
from agents.storage.atomic_files import sync_all, write_atomically
from agents.storage.json_files import read_json

STATE = "trainer_state.json"
NAME = re.compile(r"step-(0|[1-9][0-9]{0,17})")
"""Name of a checkpoint."""


def step_of(checkpoint: Path) -> int:
    """Step in the name of a checkpoint."""
    return int(checkpoint.name.removeprefix("step-"))


def seal(folder: Path, state: Mapping[str, Any]) -> None:
    """Writes the state, then the digests of all files; syncs to disk."""
    sync_all(folder)
    write_atomically(folder / STATE, json.dumps(state, indent=2, allow_nan=False).encode())
    digests.write_digests(folder)


def damage(checkpoint: Path) -> str:
    """Damage of a checkpoint in a few words; empty if there is none."""
    if reason := digests.damage(checkpoint):
        return reason
    step = read_state(checkpoint)["step"]
    return "" if step == step_of(checkpoint) else f"{STATE} is of step {step}"


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
        state = read_json(checkpoint / STATE)
    except RecordError as error:
        raise CheckpointError(f"{checkpoint} is damaged: {error}") from error
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
