"""When, where and with what a benchmark was run."""

import os
import platform
import shlex
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

_PACKAGES = ("reasonenv", "math-verify", "latex2sympy2_extended", "sympy", "numpy")


def provenance(script: str) -> dict[str, Any]:
    """The date, the command, the machine and the versions, as the first keys of a result."""
    return {
        "date": date.today().isoformat(),
        # Where this machine has its files is nobody's business.
        "command": shlex.join(["python", f"benchmarks/{script}", *map(_name, sys.argv[1:])]),
        "machine": {"cpu": _cpu(), "cores": _num_cores(), "platform": platform.system()},
        "python": platform.python_version(),
        "versions": {name: version(name) for name in _PACKAGES},
    }


def _name(argument: str) -> str:
    return Path(argument).name if "/" in argument else argument


def _cpu() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")


def _num_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
