"""Time and memory of a training step."""

import contextlib
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch

MOST_SHARE = 1 / 20
"""Share of a run's time that an action at intervals may take."""


class Interval:
    """Time between two actions, such as checkpoints; longer where the action itself takes long."""

    def __init__(self, seconds: float, *, last: float | None = None) -> None:
        """Args: least time between two actions, 0 for none; time of the last, if not now."""
        self.seconds = seconds
        self._last = time.monotonic() if last is None else last
        self._duration = 0.0

    def is_due(self) -> bool:
        """True if it is time for the next action."""
        least = max(self.seconds, self._duration / MOST_SHARE)
        return self.seconds > 0 and time.monotonic() - self._last >= least

    def restart(self) -> None:
        """Starts the interval to the next action."""
        self._last = time.monotonic()

    @contextlib.contextmanager
    def action(self) -> Iterator[None]:
        """Measures the action, after which the interval to the next one starts."""
        start = time.monotonic()
        yield
        self._duration = time.monotonic() - start
        self.restart()


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
        self.add(part, time.perf_counter() - start)

    def add(self, part: str, seconds: float) -> None:
        """Adds seconds to the time of `part`."""
        self.seconds[part] = self.seconds.get(part, 0.0) + seconds

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
