"""What ends a run from outside, in one line: memory, a disk, a sampler or a rank that gives out."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import walk_tb

import torch

_NO_MEMORY = re.compile(
    r"out of memory|can't allocate memory|cannot allocate memory|not enough memory|bad_alloc", re.I
)
_NO_RANK = re.compile(
    r"closed by (the )?(remote )?peer|reset by peer|broken pipe|remote process|socket closed", re.I
)
_SAMPLERS = tuple(
    f"agents.engines.{name}"
    for name in ("transformers", "vllm", "guest", "remote", "requests", "transfer")
)
"""Beginnings of the names of modules that sample."""
_SPEAKERS = (*_SAMPLERS, "reasonenv")
"""Those whose ValueErrors are words to a user: of a sampler that failed, of a problem's image."""
TRAIN = (
    "lower --tokens-per-microbatch or --microbatch-size, or give --gradient-checkpointing, a "
    "higher ZeRO stage by --deepspeed, or --lora"
)
SAMPLE = "lower --sampler-batch-size or --max-response-length"


def explain(error: BaseException) -> str | None:
    """Why a run cannot go on and what to change, in one line; None for faults of the program."""
    reason = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or _says(error, _NO_MEMORY):
        phase, lower = ("sampling", SAMPLE) if _samples(error) else ("training", TRAIN)
        return f"out of memory in {phase}: {lower} ({reason[:200]})"
    # Ranks also lose each other while they save, which is told as a checkpoint that failed.
    if _says(error, _NO_RANK) or _says(error.__cause__, _NO_RANK):
        return f"another rank has ended, and says why where it wrote ({reason[:200]})"
    told = isinstance(error, ValueError) and _modules(error)[-1].startswith(_SPEAKERS)
    return reason if told or isinstance(error, OSError) else None


@contextmanager
def in_one_line(way_on: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Ends the program with one line where `explain` has one, or Ctrl-C stops it; all else passes.

    Args:
        way_on: What to do after it has been mended, such as `checkpoints.way_on`.
    """
    try:
        yield
    except KeyboardInterrupt:
        print("; ".join(filter(None, ("stopped", way_on()))), file=sys.stderr)
        sys.exit(130)
    except (RuntimeError, MemoryError, ValueError, OSError) as error:
        line = explain(error)
        if line is None or os.environ.get("REASONENV_TRACEBACK"):
            raise
        sys.exit("; ".join(filter(None, (f"error: {line}", way_on()))))


def _says(error: BaseException | None, pattern: re.Pattern[str]) -> bool:
    """Whether torch tells of it; it has no class of its own for memory of CPUs or a lost rank."""
    return isinstance(error, RuntimeError) and pattern.search(str(error)) is not None


def _samples(error: BaseException) -> bool:
    return any(module.startswith(_SAMPLERS) for module in _modules(error))


def _modules(error: BaseException) -> list[str]:
    """Those that an error went through; the last raised it."""
    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    return [frame.f_globals.get("__name__", "") for frame in frames] or [""]
