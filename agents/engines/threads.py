"""Number of threads with which PyTorch computes on the CPU.

Threads meet after each small operation. Where another process takes a core, all of them wait for
the one that shares it, and one thread is faster than two. Sums on another number of threads differ
by rounding, so the number is decided once, at the start of a run.
"""

import hashlib
import math
import os
import time
from concurrent.futures import ThreadPoolExecutor

import torch

NUM_PROBES = 3
"""Measurements of the free cores, of which the largest counts: a short load is no reason."""
PROBE_SECONDS = 0.1
TOLERANCE = 0.25
"""Part of a core that other processes may take."""


def free_cores(count: int, seconds: float = PROBE_SECONDS) -> float:
    """CPU time by wall-clock time of `count` busy threads, in (0, count].

    A measurement, unlike the load average, holds within the quota of a container too.
    """
    with ThreadPoolExecutor(count) as pool:
        return sum(pool.map(_core_share, [seconds] * count))


def _core_share(seconds: float) -> float:
    """Share of a core that the calling thread gets; hashing releases the interpreter's lock."""
    block = bytes(2**18)
    start, cpu_start = time.perf_counter(), time.thread_time()
    while (elapsed := time.perf_counter() - start) < seconds:
        hashlib.sha256(block)
    return (time.thread_time() - cpu_start) / elapsed


def set_threads(previous: int | None = None) -> str:
    """Sets the number of threads of this process: free cores, or those of the run it continues.

    A number in OMP_NUM_THREADS stands, and so does PyTorch's own on a machine with GPUs.

    Args:
        previous: Number of threads of the run that is resumed, if any.

    Returns:
        A message for the user; "" where PyTorch's own number stays and fits.
    """
    count = torch.get_num_threads()
    if "OMP_NUM_THREADS" in os.environ or torch.cuda.is_available():
        return _difference(count, previous or count)
    if previous:
        torch.set_num_threads(min(count, previous))
        return _difference(min(count, previous), previous)
    free = 0.0
    for _ in range(NUM_PROBES):
        free = max(free, free_cores(count))
        if free > count - TOLERANCE:
            return ""
    threads = max(1, math.floor(free + TOLERANCE))
    torch.set_num_threads(threads)
    return (
        f"other processes leave {free:.1f} of {count} cores: computing with {threads} (other "
        "numbers of threads give numbers that differ by rounding; set OMP_NUM_THREADS to choose)"
    )


def _difference(threads: int, previous: int) -> str:
    if threads == previous:
        return ""
    return (
        f"threads: {threads}, not {previous} as before the interruption, so numbers differ by "
        f"rounding from those of an unbroken run; OMP_NUM_THREADS={previous} continues it exactly"
    )
