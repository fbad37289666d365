"""Checks of GPUs, compiler, memory, cores, limits and disk."""

import os
import re
import resource
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agents.diagnosis.result import CheckResult, check_result

GIB = 2**30
ARCHITECTURE = re.compile(r"\d+\.\d+(\+PTX)?")
"""Architectures that DeepSpeed can parse in TORCH_CUDA_ARCH_LIST; torch also allows 9.0a."""
COMPILERS = {
    "g++": "apt-get install g++",
    "ninja": "pip install ninja",
    "nvcc": "install the CUDA toolkit of torch's version, or use torch_adam in DeepSpeed",
}
"""Tools with which DeepSpeed compiles some optimizers at first use, the last two for GPUs."""


def check_devices(torch: Mapping[str, Any], driver: str | None) -> CheckResult:
    """GPUs of torch against the driver's.

    Args:
        torch: `version`, `cuda` (of its build, or None), `gpus` (pairs of name and GiB) and `error`
            where CUDA cannot be initialised.
        driver: Output of `nvidia-smi`, None without it.
    """
    version, cuda, reason = torch["version"], torch["cuda"], torch["error"]
    match = re.search(r"CUDA Version:\s*([0-9.]+)", driver or "")
    supported = match[1] if match else "?"
    fix = "update the driver, or install torch for its CUDA version; check CUDA_VISIBLE_DEVICES"
    if torch["gpus"]:
        gpus = ", ".join(f"{name} {memory:.0f} GiB" for name, memory in torch["gpus"])
        return check_result("devices", f"{gpus}; torch {version}, driver for CUDA {supported}")
    if driver is None:
        text = f"no GPU; torch {version} trains on the CPU, small models only"
        return check_result("devices", text, note=True)
    if cuda is None:
        text, fix = f"torch {version} is a build for the CPU", "install a build of torch for CUDA"
        return check_result("devices", f"the driver sees a GPU, and {text}", fix, problem=True)
    # Within a major version an older driver runs builds of a newer toolkit.
    if match and int(cuda.split(".")[0]) > int(supported.split(".")[0]):
        reason = f"the driver supports CUDA up to {supported}"
    text = f"torch {version} is built for CUDA {cuda} and sees no GPU" + f": {reason}" * bool(
        reason
    )
    return check_result("devices", text, fix, problem=True)


def check_compiler(
    which: Callable[[str], str | None], environment: Mapping[str, str], *, gpu: bool
) -> CheckResult:
    """Tools and settings with which DeepSpeed compiles kernels at first use."""
    architectures = re.split(r"[;\s]+", environment.get("TORCH_CUDA_ARCH_LIST", "").strip())
    invalid = [a for a in architectures if a and not ARCHITECTURE.fullmatch(a)]
    if invalid:
        text = f"TORCH_CUDA_ARCH_LIST contains {invalid[0]}, which DeepSpeed cannot parse"
        valid = ";".join(re.sub(r"(\d+\.\d+)[a-z]", r"\1", a) for a in architectures)
        return check_result(
            "compiler", text, f'export TORCH_CUDA_ARCH_LIST="{valid}"', problem=True
        )
    paths = {name: which(name) for name in (COMPILERS if gpu else ("g++",))}
    missing = [name for name, path in paths.items() if path is None]
    if missing:
        text = f"no {', no '.join(missing)}: DeepSpeed compiles some optimizers at first use"
        return check_result("compiler", text, COMPILERS[missing[0]], note=True)
    return check_result("compiler", ", ".join(str(path) for path in paths.values()))


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
