"""Settings of a run that is resumed: those on record, and the changes that it may make."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.errors import RecordError, UsageError
from agents.storage.provenance import read_run

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

_PLACE = ("run.output_dir", "run.resume")
"""Settings that say where and that a run is resumed."""


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
    places = {place.removeprefix("run.") for place in _PLACE}
    own = {name: value for name, value in settings.items() if name not in places}
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
    changes = [
        f"{name} was {old!r} and is {new!r}"
        for name, (old, new) in different.items()
        if name.split(".")[-1] not in _MAY_CHANGE | with_length
    ]
    if changes:
        raise UsageError(
            f"{folder} cannot resume with other settings: {'; '.join(changes)}; "
            "use the old ones, or give another --output-dir without --resume"
        )


def describe_changes(folder: Path, settings: Mapping[str, Any]) -> str:
    """A line on the settings in which a resumed run differs from its record; else ""."""
    changes = [
        f"{name.split('.')[-1]} is {new}, was {old}"
        for name, (old, new) in _changes(read_run(folder), settings).items()
        if name not in _PLACE
    ]
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
