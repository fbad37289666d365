"""Time and memory of a training step."""

import contextlib
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch


class Clock:
    """Stopwatch for the parts of one step."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        """Adds the time of the context to that of `part`, in seconds."""
        start = time.perf_counter()
        yield
        self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - start

    def metrics(self, responses: int, tokens: float) -> dict[str, float]:
        """Seconds of each part, throughput, and memory of this process.

        Args:
            responses: Of this step, over all ranks.
            tokens: Of these responses.
        """
        total = time.perf_counter() - self.start
        return {
            **{f"time/{part}_s": seconds for part, seconds in self.seconds.items()},
            "time/step_s": total,
            "throughput/responses_per_s": responses / total,
            "throughput/tokens_per_s": tokens / total,
            "memory/peak_gib": peak_memory(),
        }


def peak_memory() -> float:
    """Peak memory of this process in GiB: on its GPU if there is one, else in RAM."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**30
    # On Linux a process inherits `ru_maxrss` from the one that started it, which may be larger.
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
