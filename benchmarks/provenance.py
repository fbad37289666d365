"""When, where and with what a benchmark was run."""

import os
import platform
import shlex
import shutil
import subprocess
import sys
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = ("reasonenv", "math-verify", "latex2sympy2_extended", "sympy", "numpy")


def provenance(script: str) -> dict[str, Any]:
    """The date, the command, the machine and the versions, as the first keys of a result."""
    return {
        "date": date.today().isoformat(),
        # Where this machine has its files is nobody's business.
        "command": shlex.join(["python", f"benchmarks/{script}", *map(_name, sys.argv[1:])]),
        "machine": machine(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _PACKAGES},
    }


def machine() -> dict[str, Any]:
    """Processor, and GPUs where there are."""
    return {"cpu": _cpu(), "cores": _num_cores(), "platform": platform.system(), **_gpus()}


def _version(name: str) -> str:
    """Of a distribution; "" for one that is used from its folder, without being installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _gpus() -> dict[str, list[str]]:
    """Names of the GPUs, from their driver: asking CUDA would take some of their memory."""
    if not shutil.which("nvidia-smi"):
        return {}
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return {"gpus": answer.stdout.splitlines()} if answer.returncode == 0 else {}


def _name(argument: str) -> str:
    return Path(argument).name if "/" in argument else argument


def _cpu() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")


def _num_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
