"""A run of CPGD in a process of its own to which something happens, for the tests of whole runs.

Usage: python happenings.py WHAT NUMBER FLAGS...; it happens when response NUMBER is rewarded.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from agents import run
from agents.cpgd import CPGD
from helpers import letters
from helpers.tiny_runs import SMALL, before_response, flags

HELPERS = Path(__file__).parent
MEBIBYTE = 2**20


def limit(resource_name: str, value: int) -> None:
    """Lowers what this process may have."""
    import resource

    kind = getattr(resource, resource_name)
    resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))


def held() -> int:
    """Bytes of address space that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def twice() -> None:
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)


WHAT = {
    "nothing": lambda: None,
    "terminate": lambda: signal.raise_signal(signal.SIGTERM),
    "interrupt twice": twice,
    "small files": lambda: limit("RLIMIT_FSIZE", MEBIBYTE),
    "no files": lambda: limit("RLIMIT_FSIZE", 1),
    "no memory": lambda: limit("RLIMIT_AS", held() + 20 * MEBIBYTE),
}


def command(what: str, number: int, **settings: Any) -> list[str]:
    """Of a small run with these settings."""
    script = [str(HELPERS / "happenings.py"), what, str(number)]
    return [sys.executable, *script, *flags(**SMALL | settings)]


def start(words: list[str]) -> subprocess.Popen[str]:
    """The process, whose standard error is read as text."""
    paths = os.pathsep.join([str(HELPERS.parents[1]), str(HELPERS.parent)])
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)


def end(words: list[str]) -> tuple[int, str]:
    """Status and standard error of the process when it is done."""
    with start(words) as process:
        try:
            said = process.communicate(timeout=300)[1]
            return process.returncode, said
        finally:
            process.kill()


if __name__ == "__main__":
    from helpers import vowels

    happens = before_response(int(sys.argv[2]), WHAT[sys.argv[1]])
    letters.REWARDS["letters"] = happens
    vowels.REWARDS["letters"] = (0.25, happens[1])
    run.main(CPGD, sys.argv[3:])
