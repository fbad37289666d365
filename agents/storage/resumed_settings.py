"""Settings of a run that is resumed: those on record, and the changes that it may make."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agents.errors import RecordError, UsageError
from agents.storage.provenance import read_run

MAY_CHANGE = {
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

PLACE = ("run.output_dir", "run.resume")
"""Settings that say where and that a run is resumed."""


def recorded_settings(folder: Path) -> dict[str, Any]:
    """Settings of the run and its learner by the names of their fields, and its `algorithm`.

    Raises:
        RecordError: The record is missing or damaged, or the run is of an earlier release.
    """
    content = of_this_release(read_run(folder), folder)
    record = content["settings"]
    parts = [record.get(name) for name in ("run", "learner")]
    if not all(isinstance(part, dict) for part in parts):
        raise RecordError(
            f"{folder / 'run.json'} is damaged, it lacks settings: bring it back from a copy, or "
            "give another --output-dir without --resume"
        )
    settings = parts[0] | parts[1]
    # A run may be resumed from another working directory.
    settings |= {n: path for n, path in content["paths"].items() if os.path.exists(str(path))}
    for place in PLACE:
        settings.pop(place.removeprefix("run."), None)
    return settings | {"algorithm": record.get("algorithm")}


def check_settings(folder: Path, settings: Mapping[str, Any], *, binding: bool = True) -> None:
    """Compares the settings of a resumed run with those on record.

    Args:
        folder: Run directory.
        settings: Of the resumed run.
        binding: False if the run has no results yet, so that all settings may change.

    Raises:
        UsageError: One differs that determines the numbers of the run.
        RecordError: The record is missing or damaged, or the run is of an earlier release.
    """
    different = {name: values for name, *values in _changes(folder, settings)}
    # A shorter response may leave no room for the buffer at its end.
    with_length = {"overlong_buffer"} if "run.max_response_length" in different else set()
    may_change = MAY_CHANGE | with_length
    changes = [
        f"{name} was {old!r} and is {new!r}"
        for name, (old, new) in different.items()
        if name.removeprefix("run.").partition(".")[0] not in may_change
    ]
    if changes and binding:
        raise UsageError(
            f"{folder} cannot resume with other settings: {'; '.join(changes)}; "
            "use the old ones, or give another --output-dir without --resume"
        )


def describe_changes(folder: Path, settings: Mapping[str, Any]) -> str:
    """A line on the settings in which a resumed run differs from its record; else ""."""
    changes = [
        f"{name.split('.')[-1]} is {new}, was {old}"
        for name, old, new in _changes(folder, settings)
        if name not in PLACE
    ]
    return f"settings other than before: {'; '.join(changes)}" if changes else ""


def _changes(folder: Path, settings: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Dotted name, recorded value and present value of each setting that differs."""
    record = of_this_release(read_run(folder), folder)
    old, new = flat_settings(record["settings"]), flat_settings(settings)
    old |= {
        f"run.{name}": new[f"run.{name}"]
        for name, path in record["paths"].items()
        if path == os.path.abspath(str(new.get(f"run.{name}")))
    }
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield name, old.get(name), new.get(name)


def of_this_release(record: dict[str, Any], name: object) -> dict[str, Any]:
    """The record of a run, which is of a release with the settings of this one.

    Args:
        record: Content of `run.json`.
        name: Of the run or the file, for the error.

    Raises:
        RecordError: The run is of an earlier release.
    """
    release = str((record.get("versions") or {}).get("reasonenv"))
    run = record["settings"].get("run")
    if release.startswith(("0.1.", "0.2.")) or (isinstance(run, dict) and "adam_beta1" in run):
        raise RecordError(
            f"{name} is of release {release}, whose settings are others: continue it with release "
            "0.3.0, or begin a new run in another --output-dir"
        )
    return record


def flat_settings(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as a flat dict with dotted names."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        inner = flat_settings(value, f"{prefix}{name}.") if isinstance(value, dict) else None
        flat |= inner or {f"{prefix}{name}": value}
    return flat
