"""A model written to a folder that is there already, whole or not at all, even if it is killed.

The files are written to a folder within, with their digests last, and then moved. A kill before the
digests leaves nothing of worth; one after them leaves a move to complete.
"""

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from agents.errors import SaveError, UsageError
from agents.storage.atomic_files import sync, sync_all, write_atomically
from agents.storage.checkpoints import WRITE_ERRORS, failed_write
from agents.storage.digests import DIGESTS, write_digests
from agents.storage.json_files import json_value, read_json
from agents.storage.lock import LOCK

STAGE = ".saving"
"""Folder within the folder of the model."""
SETTINGS = ".settings.json"
"""File in it with the settings that determine the model."""


def save(folder: Path, write: Callable[[Path], object], settings: Mapping[str, Any]) -> None:
    """Writes a model.

    Args:
        folder: Of the model, created if missing.
        write: Writes the files into a folder.
        settings: That determine the model.

    Raises:
        SaveError: For example, the disk is full; the folder is as it was before.
    """
    stage, is_new = folder / STAGE, not folder.exists()
    shutil.rmtree(stage, ignore_errors=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write(stage)
        write_atomically(stage / SETTINGS, json.dumps(json_value(settings)).encode())
        sync_all(stage)
        write_digests(stage)
    except WRITE_ERRORS as error:
        shutil.rmtree(folder if is_new else stage, ignore_errors=True)
        raise SaveError(
            f"cannot save the model to {folder}: {failed_write(error, folder.parent)}; try again"
        ) from error
    _move(stage)


def complete(folder: Path, settings: Mapping[str, Any]) -> bool:
    """Completes an interrupted save; False if there is none of a model with these settings."""
    stage = folder / STAGE
    is_written = (stage / DIGESTS).exists() or (folder / DIGESTS).exists()
    if not (stage / SETTINGS).exists() or not is_written:
        return False
    if read_json(stage / SETTINGS) != json_value(settings):
        return False
    _move(stage)
    return True


def check_empty(folder: Path, besides: Collection[str] = ()) -> None:
    """Raises UsageError for a folder with anything but the remains of a save and these names."""
    allowed = {LOCK, STAGE, *besides}
    if folder.exists() and any(path.name not in allowed for path in folder.iterdir()):
        raise UsageError(f"{folder} is not empty: give another --output-dir")


def _move(stage: Path) -> None:
    """Moves the files out of the stage, digests last, and removes it."""
    files = [path for path in stage.iterdir() if path.name != SETTINGS]
    for path in sorted(files, key=lambda path: path.name == DIGESTS):
        path.rename(stage.parent / path.name)
    sync(stage.parent)
    shutil.rmtree(stage)
