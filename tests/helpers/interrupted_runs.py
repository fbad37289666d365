"""A run of CPGD in its own process with an injected fault, such as a signal or a full disk.

Usage: python interrupted_runs.py FAULT NUMBER FLAGS...; the fault comes with response NUMBER.
"""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from agents import run
from agents.cpgd import CPGD
from helpers import letters, torchrun
from helpers.tiny_runs import SMALL, before_response, flags

HELPERS = Path(__file__).parent
BLOCKS: list[bytearray] = []
MEBIBYTE = 2**20


def limit(resource_name: str, value: int) -> None:
    """Lowers a resource limit of this process."""
    import resource

    kind = getattr(resource, resource_name)
    resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))


def address_space() -> int:
    """Address space of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def twice() -> None:
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)


def fill_memory() -> None:
    """Leaves 20 MiB to this process, of the memory that it keeps free for itself too."""
    limit("RLIMIT_AS", address_space() + 20 * MEBIBYTE)
    with contextlib.suppress(MemoryError):
        while True:
            BLOCKS.append(bytearray(2 * MEBIBYTE))
    del BLOCKS[-10:]


FAULTS = {
    "nothing": lambda: None,
    "terminate": lambda: signal.raise_signal(signal.SIGTERM),
    "interrupt twice": twice,
    "small files": lambda: limit("RLIMIT_FSIZE", MEBIBYTE),
    "no memory": fill_memory,
}


def command(fault: str, number: int, **settings: Any) -> list[str]:
    """Command of a small run with these settings and a fault."""
    script = [str(HELPERS / "interrupted_runs.py"), fault, str(number)]
    return [sys.executable, *script, *flags(**SMALL | settings)]


def start(words: list[str]) -> subprocess.Popen[str]:
    """The process, with its standard error as text."""
    environment = torchrun.ENVIRONMENT | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)


def end(words: list[str]) -> tuple[int, str]:
    """Exit status and standard error of the process."""
    with start(words) as process:
        try:
            stderr = process.communicate(timeout=300)[1]
            return process.returncode, stderr
        finally:
            process.kill()


if __name__ == "__main__":
    from helpers import vowels

    fault = before_response(int(sys.argv[2]), FAULTS[sys.argv[1]])
    letters.REWARDS["letters"] = fault
    vowels.REWARDS["letters"] = (0.25, fault[1])
    run.main(CPGD, sys.argv[3:])
