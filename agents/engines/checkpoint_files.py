"""Engines' own files in a checkpoint: reading them runs no code, and fails in one line."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from agents.errors import AgentsError, CheckpointError, typed_errors


def checkpoint_path(folder: Path, name: str) -> Path:
    """Path of an engine's own file or folder in a checkpoint; CheckpointError without it."""
    if not (folder / name).exists():
        raise CheckpointError(
            f"the checkpoint {folder} has no {name}: it is incomplete or of another engine"
        )
    return folder / name


def read_tensors(path: Path) -> Any:
    """Tensors and plain values in a file of `torch.save`, on the CPU.

    Raises:
        CheckpointError: The file is damaged, or refers to anything else.
    """
    with checkpoint_errors(path):
        return torch.load(path, map_location="cpu", weights_only=True)


@contextmanager
def checkpoint_errors(path: Path) -> Iterator[None]:
    """Replaces errors in the content of a file or folder of a checkpoint by a `CheckpointError`."""
    try:
        with typed_errors("training"):
            yield
    except (AgentsError, MemoryError):
        raise
    except Exception as error:  # readers raise any on damaged content
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        if isinstance(error, pickle.UnpicklingError):  # torch's advice would run it
            reason = "a file has more than tensors and plain values, or is damaged"
        raise CheckpointError(f"the checkpoint {path} does not fit this run: {reason}") from error
