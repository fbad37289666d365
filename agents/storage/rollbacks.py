"""Record of the last rollback, written before it begins and kept for the checkpoint it goes to.

A checkpoint has digests and is never written again, so what a rollback changes, the position in
the problem order and the number of rollbacks, is in a file beside. It counts where it is of a later
rollback than the checkpoint, until the next checkpoint holds both. A rollback that a kill
interrupts is completed when the run resumes.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from agents.storage.atomic_files import write_atomically
from agents.storage.json_files import read_json

FILE = "rollback.json"
"""File beside the checkpoints of a run."""


@dataclass(frozen=True)
class Rollback:
    """A rollback of a run."""

    step: int
    """Of the checkpoint that it goes to."""
    position: int
    """Index of the next problem in the problem order, over all ranks."""
    count: int
    """Rollbacks of the run up to this one."""

    def write(self, folder: Path) -> None:
        """Records it for the run in a folder, durably on return."""
        content = json.dumps(asdict(self)).encode() + b"\n"
        write_atomically(folder / "checkpoints" / FILE, content)


def last_rollback(folder: Path) -> Rollback:
    """The last rollback of the run in a folder; one to nowhere, with the count 0, if none."""
    path = folder / "checkpoints" / FILE
    return Rollback(**read_json(path)) if path.exists() else Rollback(0, 0, 0)


def clear(folder: Path) -> None:
    """Removes the record of an earlier run, as a run begins."""
    (folder / "checkpoints" / FILE).unlink(missing_ok=True)
