"""CPU time and memory of this process and everything that it started, on Linux.

A clock of the kernel is read for each process, so that neither a busy machine nor the 10 ms
ticks of /proc blur what one answer costs.
"""

import os
import resource
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def descendants() -> list[int]:
    """The ids of the processes that this one started, directly or not."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _fields(int(folder.name))):
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found, open_ids = [], [os.getpid()]
    while open_ids:
        below = children.get(open_ids.pop(), [])
        found += below
        open_ids += below
    return found


def cpu_seconds(processes: list[int] | None = None) -> float:
    """CPU seconds of this process and all that it started, ended ones included.

    Args:
        processes: What `descendants` gave, to save the search; None to search.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + ended.ru_utime + ended.ru_stime
    for process in descendants() if processes is None else processes:
        total += clock(process)
    return total


def peak_mib(processes: list[int] | None = None) -> float:
    """The largest memory of each of the processes; None for this one and its descendants."""
    return sum(_high_water(process) for process in processes or [os.getpid(), *descendants()])


def clock(process: int) -> float:
    """CPU seconds of a process and of those of its children that ended; 0 when it is gone."""
    try:
        # How the kernel numbers the clock of another process: clock_getcpuclockid(3).
        own = time.clock_gettime((~process << 3) | 2)
    except OSError:
        return 0.0
    fields = _fields(process)
    return own + (int(fields[13]) + int(fields[14])) / _TICKS if fields else own


def _fields(process: int) -> list[str]:
    """The fields of /proc/ID/stat from the third on, empty when the process is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return []
    return text.rpartition(") ")[2].split()


def _high_water(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)
