"""Checks of GPUs, memory, cores, limits and disk."""

import os
import re
import resource
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.diagnosis.result import CheckResult, check_result

GIB = 2**30


def check_devices(torch: Mapping[str, Any], *, driver: bool) -> CheckResult:
    """GPUs of torch, as `trials.devices` returns them; `driver` is true if nvidia-smi runs."""
    version, cuda, reason = torch["version"], torch["cuda"], torch["error"]
    if torch["gpus"]:
        gpus = ", ".join(f"{name} {memory:.0f} GiB" for name, memory in torch["gpus"])
        return check_result("devices", f"{gpus}; torch {version} for CUDA {cuda}")
    if not driver:
        text = f"no GPU; torch {version} trains on the CPU, small models only"
        return check_result("devices", text, note=True)
    if cuda is None:
        text, fix = f"torch {version} is a build for the CPU", "install a build of torch for CUDA"
        return check_result("devices", f"the driver sees a GPU, and {text}", fix, problem=True)
    text = f"torch {version} is built for CUDA {cuda} and sees no GPU" + f": {reason}" * bool(
        reason
    )
    fix = "update the driver, or install torch for its CUDA version; check CUDA_VISIBLE_DEVICES"
    return check_result("devices", text, fix, problem=True)


def check_memory(meminfo: str, limit: str = "max") -> CheckResult:
    """Memory by the contents of /proc/meminfo and of the control group's memory.max."""
    pairs = re.findall(r"^(\w+):\s+(\d+) kB", meminfo, re.M)
    sizes = {name: int(value) / 2**20 for name, value in pairs}
    total, free, swap = (sizes.get(k, 0.0) for k in ("MemTotal", "MemAvailable", "SwapTotal"))
    total = min(total, int(limit) / GIB) if limit.strip().isdigit() else total
    free = min(free, total)
    text = f"{free:.1f} of {total:.1f} GiB free, {swap:.1f} GiB of swap"
    fix = "end other programs: the tiny model needs 2.5 GiB"
    return check_result("memory", text, fix, problem=free < 2)


def check_cores(num_cores: int, environment: Mapping[str, str]) -> CheckResult:
    """Available cores against OMP_NUM_THREADS."""
    threads = environment.get("OMP_NUM_THREADS") or "unset"
    is_number = threads.isdigit()
    return check_result(
        "cores",
        f"{num_cores} cores, OMP_NUM_THREADS {threads}",
        f"export OMP_NUM_THREADS={num_cores}",
        problem=not is_number and threads != "unset",
        note=is_number and int(threads) > num_cores,
    )


def check_open_files(soft: int, hard: int) -> CheckResult:
    """Limit of open files, of which graders, data loaders and vLLM need many."""
    fix = f"ulimit -n {min(65536, hard) if hard > 0 else 65536}"
    is_low = soft != resource.RLIM_INFINITY and soft < 1024
    return check_result("open files", f"at most {soft} at a time", fix, problem=is_low)


def check_disk(name: str, folder: Path, required: float, recommended: float) -> CheckResult:
    """Write access and free GiB of a folder, or of its nearest parent that exists."""
    folder = folder.absolute()
    while not folder.exists():
        folder = folder.parent
    try:
        # Permissions do not suffice: a file system may be read-only or out of inodes.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        text = f"{folder} is not writable: {error.strerror}"
        return check_result(name, text, "choose another folder", problem=True)
    stat = os.statvfs(folder)
    free = stat.f_bavail * stat.f_frsize / GIB
    text, fix = f"{free:.1f} GiB free in {folder}", f"free {recommended:.0f} GiB of disk space"
    return check_result(name, text, fix, problem=free < required, note=free < recommended)


def check_shared_memory(folder: Path, *, is_required: bool) -> CheckResult:
    """Size of /dev/shm, through which several ranks on one machine exchange tensors."""
    stat = os.statvfs(folder) if folder.is_dir() else None
    size = stat.f_blocks * stat.f_frsize / GIB if stat else 0.0
    fix = "docker run --shm-size 16g, or mount -o remount,size=16G /dev/shm"
    text = f"{size:.2f} GiB in {folder}" + ": too small for several ranks or vLLM" * (size < 1)
    return check_result("shared memory", text, fix, problem=size < 1 and is_required, note=size < 1)
