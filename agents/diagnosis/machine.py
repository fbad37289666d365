"""Devices, compiler, memory, cores, disk and limits: pure functions of what was read."""

import os
import re
import resource
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agents.diagnosis.finding import Finding

GIB = 2**30
ARCHITECTURE = re.compile(r"\d+\.\d+(\+PTX)?")
"""What DeepSpeed can read in TORCH_CUDA_ARCH_LIST; torch also writes 9.0a."""
OPEN_FILES = 1024
"""Fewer are too few for graders, data loaders and vLLM."""


def check_devices(torch: Mapping[str, Any], driver: str | None) -> Finding:
    """GPUs as torch sees them against the driver's.

    Args:
        torch: `version`, `cuda` (of its build, or None), `available` and `gpus`, each a name and
            GiB; `error` where it cannot start CUDA.
        driver: What `nvidia-smi` says, or None where there is none.
    """
    version, cuda = torch["version"], torch["cuda"]
    if driver is None and not torch["available"]:
        text = f"no GPU; torch {version} trains on the CPU, small models only"
        return Finding("devices", "note", text)
    if cuda is None:
        text = f"the driver sees a GPU, and torch {version} is a build for the CPU"
        return Finding("devices", "problem", text, "install a build of torch for CUDA")
    supported = _driver_cuda(driver)
    if not torch["available"]:
        text = f"torch {version} is built for CUDA {cuda} and sees no GPU"
        if supported and _newer(cuda, supported):
            text += f": the driver knows CUDA up to {supported}"
        elif torch.get("error"):
            text += f": {torch['error']}"
        mend = "update the driver, or install a torch for its CUDA; look at CUDA_VISIBLE_DEVICES"
        return Finding("devices", "problem", text, mend)
    gpus = ", ".join(f"{name} {memory:.0f} GiB" for name, memory in torch["gpus"])
    return Finding("devices", "ok", f"{gpus}; torch {version}, driver for CUDA {supported or '?'}")


def _driver_cuda(driver: str | None) -> str:
    found = re.search(r"CUDA Version:\s*([0-9.]+)", driver or "")
    return found[1] if found else ""


def _newer(version: str, than: str) -> bool:
    # Within a major version an older driver runs what a newer toolkit built.
    return int(version.split(".", maxsplit=1)[0]) > int(than.split(".", maxsplit=1)[0])


def check_compiler(
    which: Callable[[str], str | None], environment: Mapping[str, str], *, gpu: bool
) -> Finding:
    """Whether DeepSpeed could compile what it compiles at first use.

    Args:
        which: Finds a program, as `shutil.which`.
        environment: Of the process.
        gpu: Whether there is a GPU: only its kernels need nvcc and ninja.
    """
    architectures = re.split(r"[;\s]+", environment.get("TORCH_CUDA_ARCH_LIST", "").strip())
    unread = [a for a in architectures if a and not ARCHITECTURE.fullmatch(a)]
    if unread:
        text = f"TORCH_CUDA_ARCH_LIST has {unread[0]}, which DeepSpeed cannot read"
        fitting = ";".join(re.sub(r"(\d+\.\d+)[a-z]", r"\1", a) for a in architectures)
        return Finding("compiler", "problem", text, f'export TORCH_CUDA_ARCH_LIST="{fitting}"')
    wanted = ("g++", "ninja", "nvcc") if gpu else ("g++",)
    missing = [name for name in wanted if which(name) is None]
    if missing:
        text = f"no {', no '.join(missing)}: DeepSpeed compiles some optimizers at first use"
        mend = "apt-get install g++" if "g++" in missing else "pip install ninja"
        if missing == ["nvcc"]:
            mend = "install the CUDA toolkit of torch's version, or keep DeepSpeed to torch_adam"
        return Finding("compiler", "note", text, mend)
    return Finding("compiler", "ok", ", ".join(str(which(name)) for name in wanted))


def check_memory(meminfo: str, limit: str = "max") -> Finding:
    """Memory and swap.

    Args:
        meminfo: Content of /proc/meminfo.
        limit: Content of the control group's memory.max.
    """
    pairs = re.findall(r"^(\w+):\s+(\d+) kB", meminfo, re.M)
    read = {name: int(value) / 2**20 for name, value in pairs}
    total, free, swap = (read.get(k, 0.0) for k in ("MemTotal", "MemAvailable", "SwapTotal"))
    total = min(total, int(limit) / GIB) if limit.strip().isdigit() else total
    free = min(free, total)
    text = f"{free:.1f} of {total:.1f} GiB free, {swap:.1f} GiB of swap"
    if free < 2:
        mend = "end other programs: the tiny model needs 2.5 GiB"
        return Finding("memory", "problem", text, mend)
    return Finding("memory", "ok", text)


def check_cores(num_cores: int, environment: Mapping[str, str]) -> Finding:
    """Cores that this process may use against the threads that it is told to start."""
    threads = environment.get("OMP_NUM_THREADS")
    text = f"{num_cores} cores, OMP_NUM_THREADS {threads or 'unset'}"
    if threads is not None and not threads.isdigit():
        mend = f"export OMP_NUM_THREADS={num_cores}"
        return Finding("cores", "problem", f"{text}: no number", mend)
    if threads is not None and int(threads) > num_cores:
        mend = f"export OMP_NUM_THREADS={num_cores}"
        return Finding("cores", "note", f"{text}: more threads than cores wait", mend)
    return Finding("cores", "ok", text)


def check_files(soft: int, hard: int) -> Finding:
    """The limit of open files."""
    if soft != resource.RLIM_INFINITY and soft < OPEN_FILES:
        mend = f"ulimit -n {min(65536, hard) if hard > 0 else 65536}"
        return Finding("open files", "problem", f"at most {soft} at a time", mend)
    return Finding("open files", "ok", f"at most {soft} at a time")


def check_space(name: str, folder: Path, least: float, plenty: float) -> Finding:
    """Free space of a folder that is written to; its parent's while it is not there.

    Args:
        name: What it is for.
        folder: Where.
        least: GiB below which it is a problem.
        plenty: GiB below which it is worth a note.
    """
    here = folder.absolute()
    while not here.exists():
        here = here.parent
    try:
        # Rights alone do not tell: a file system may be read-only, or full of files.
        with tempfile.TemporaryFile(dir=here):
            pass
    except OSError as error:
        text = f"{here} cannot be written to: {error.strerror}"
        return Finding(name, "problem", text, "choose another folder, or change its rights")
    stat = os.statvfs(here)
    free = stat.f_bavail * stat.f_frsize / GIB
    text = f"{free:.1f} GiB free in {here}"
    if free < plenty:
        level = "problem" if free < least else "note"
        return Finding(name, level, text, f"make room: {plenty:.0f} GiB are plenty")
    return Finding(name, "ok", text)


def size(folder: Path) -> float | None:
    """GiB of the file system of a folder; None where there is no such folder."""
    if not folder.is_dir():
        return None
    stat = os.statvfs(folder)
    return stat.f_blocks * stat.f_frsize / GIB


def check_shared_memory(size: float | None, *, several: bool) -> Finding:
    """/dev/shm, through which processes on one machine hand each other tensors.

    Args:
        size: GiB, None where there is none.
        several: Whether several ranks of this machine will need it.
    """
    if size is not None and size >= 1:
        return Finding("shared memory", "ok", f"{size:.1f} GiB in /dev/shm")
    text = "no /dev/shm" if size is None else f"{size:.2f} GiB in /dev/shm"
    level = "problem" if several else "note"
    mend = "docker run --shm-size 16g, or mount -o remount,size=16G /dev/shm"
    return Finding("shared memory", level, f"{text}: several ranks and vLLM want more", mend)
