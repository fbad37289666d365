"""Engines' own files in a checkpoint: reading them runs no code, and fails in one line."""

import os
import pickle
import re
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from agents.errors import AgentsError, CheckpointError, typed_errors

FORCE, FORBID = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError),
    *(OSError, RuntimeError, TypeError, ValueError, pickle.UnpicklingError, struct.error),
    SafetensorError,
)
"""Errors of readers on a file with any content."""


def checkpoint_path(folder: Path, name: str) -> Path:
    """Path of an engine's own file or folder in a checkpoint.

    Args:
        folder: The checkpoint.
        name: Of the file or folder.

    Raises:
        CheckpointError: It does not exist.
    """
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
    with checkpoint_errors(path), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Detected pickle protocol")
        return torch.load(path, map_location="cpu", weights_only=True)


@contextmanager
def checkpoint_errors(path: Path) -> Iterator[None]:
    """Replaces errors in the content of a file or folder of a checkpoint by a `CheckpointError`."""
    try:
        with typed_errors("training"):
            yield
    except _ERRORS as error:
        if isinstance(error, AgentsError):
            raise
        raise CheckpointError(
            f"the checkpoint {path} does not fit this run: {_reason(error)}"
        ) from error


@contextmanager
def weights_only(classes: list[Any]) -> Iterator[None]:
    """Context in which every `torch.load` makes tensors, plain values and these classes only.

    A pickle is a program, and other libraries' calls of `torch.load` would run it.
    """
    before = {name: os.environ.pop(name, None) for name in (FORCE, FORBID)}
    os.environ[FORCE] = "1"
    try:
        with torch.serialization.safe_globals(classes):
            yield
    finally:
        del os.environ[FORCE]
        os.environ.update({name: value for name, value in before.items() if value is not None})


def _reason(error: BaseException) -> str:
    """First words of an error, without torch's advice to load the file nevertheless."""
    text = " ".join(str(error).split())
    if refused := re.search(r"GLOBAL (\w[\w.]*)", text):
        return f"it refers to {refused[1]}, which is neither a tensor nor a plain value"
    text = text.partition("WeightsUnpickler error: ")[2] or text
    return text.partition(" Check the documentation")[0][:300] or type(error).__name__
