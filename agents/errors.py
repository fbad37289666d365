"""Errors that a user can meet; a command ends with one line on these, and on these only.

Each is also of the built-in type that fits it, such as ValueError. Every other exception is a fault
of the program, or of code that a user brings (a learner, a reward, an environment), and keeps its
traceback: such code raises a type of this module where one line says enough.

This module imports nothing but the standard library, so that the mathematics may use it.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

_OUT_OF_MEMORY = re.compile(
    r"out of memory|can't allocate memory|cannot allocate memory|not enough memory|bad_alloc", re.I
)
_LOST_RANK = re.compile(
    r"closed by (the )?(remote )?peer|reset by peer|broken pipe|remote process|socket closed", re.I
)
REMEDIES = {
    "sampling": "lower --sampler-batch-size or --max-response-length",
    "training": (
        "lower --tokens-per-microbatch or --microbatch-size, or give --gradient-checkpointing, a "
        "higher ZeRO stage by --deepspeed, or --lora"
    ),
    "fine-tuning": "lower --batch-size, or choose a smaller --model",
    "generation": "lower --max-response-length or --num-responses, or give smaller images",
}
"""What needs less memory, by phase; its flags are those of the command."""
Phase = Literal["sampling", "training", "fine-tuning", "generation"]


class AgentsError(Exception):
    """Base of the errors of this package."""


class UsageError(AgentsError, ValueError):
    """Raised when an argument, a setting or a flag is out of range or does not fit the others."""


class PromptLengthError(UsageError):
    """Raised when prompts are too long; `reasons` has a line for each of them, by its row."""

    def __init__(self, message: str, reasons: Mapping[int, str] | None = None) -> None:
        super().__init__(message)
        self.reasons = dict(reasons or {})


class MissingPackageError(UsageError, ModuleNotFoundError):
    """Raised when a setting needs an optional package that is not installed."""


class ModelError(AgentsError, ValueError):
    """Raised when a model cannot be loaded, is too large for the machine, or lacks a feature."""


class CheckpointError(AgentsError, ValueError):
    """Raised when a checkpoint is damaged, incomplete or of another run."""


class SaveError(AgentsError, OSError):
    """Raised when a checkpoint cannot be written, because the disk is full for example."""


class UploadError(AgentsError, OSError):
    """Raised when the hub refuses a model, or cannot be reached."""


class RecordError(AgentsError, ValueError):
    """Raised when a JSON file of settings, metrics or responses is damaged or of another run."""


class SamplerError(AgentsError, ValueError):
    """Raised when vLLM, in this process or on a server, cannot start, fails or is unreachable."""


class ParityError(AgentsError, ValueError):
    """Raised when sampler and trainer differ in their prompts or their log-probabilities."""


class OutOfMemoryError(AgentsError, MemoryError):
    """Raised when a GPU or the machine runs out of memory in sampling or in training."""


class LostRankError(AgentsError, RuntimeError):
    """Raised when the connection to another rank breaks, usually because that rank has ended."""


@contextmanager
def typed_errors(phase: Phase) -> Iterator[None]:
    """Replaces errors about memory and lost ranks by `OutOfMemoryError` and `LostRankError`.

    The message decides: torch raises a RuntimeError for the memory of a CPU and for a lost rank.

    Args:
        phase: Part of a step, or command, that the context encloses; an inner context goes before
            an outer one.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if isinstance(error, AgentsError):
            raise
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        if isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(str(error)):
            raise OutOfMemoryError(
                f"out of memory in {phase}: {REMEDIES[phase]} ({reason})"
            ) from error
        if _LOST_RANK.search(str(error)):
            raise LostRankError(f"another rank has ended: see its log ({reason})") from error
        raise
