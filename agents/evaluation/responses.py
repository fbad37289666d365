"""Responses on disk: written as they come, whole at any moment, gone on with by a second run."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from agents.evaluation.summary import Row
from agents.monitoring.logs import line, read_lines
from agents.storage.files import append, read_object, write_atomically

RECORD, LOCK = "run.json", ".lock"
NEEDED = ("id", "sample", "response", "correct", "length", "finished", "kind")


class ResponseFile:
    """The responses to one exam, a line each, in whole batches."""

    def __init__(self, path: Path, sizes: Sequence[int]) -> None:
        """Reads what an earlier run left; what is no whole batch is removed.

        Args:
            path: A `.jsonl`, which need not exist.
            sizes: Responses of each batch.

        Raises:
            ValueError: The file is damaged, or holds more than was asked.
        """
        self.path = path
        self.rows: list[Row] = read_lines(path)
        for number, row in enumerate(self.rows, 1):
            missing = [name for name in NEEDED if name not in row]
            if missing:
                raise ValueError(f"{path}, line {number} has no {missing[0]!r}: remove the file")
        if len(self.rows) > sum(sizes):
            raise ValueError(
                f"{path} holds {len(self.rows)} responses, and {sum(sizes)} are asked for: its "
                "problems were others; give another --output-dir"
            )
        self.num_batches = _whole(sizes, len(self.rows))
        """Those that need not be sampled any more."""
        self._sizes = sizes
        kept = sum(sizes[: self.num_batches])
        content = b"".join(line(row) for row in self.rows[:kept])
        if path.exists() and path.stat().st_size != len(content):
            write_atomically(path, content)
        del self.rows[kept:]

    @property
    def is_complete(self) -> bool:
        """Whether every response is there."""
        return self.num_batches == len(self._sizes)

    def append(self, rows: Sequence[Row]) -> None:
        """Adds a batch; on the disk on return, and either whole or not at all."""
        append(self.path, b"".join(line(row) for row in rows))
        self.rows += rows
        self.num_batches += 1


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """A folder that no other process evaluates into; made if missing, removed if left empty.

    Raises:
        ValueError: Another process does.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: give another --output-dir")
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise ValueError(
            f"{folder} is being written by another evaluation: wait, or give another --output-dir"
        ) from error
    try:
        yield
    finally:
        lock.release()
        if [path.name for path in folder.iterdir()] == [LOCK]:
            shutil.rmtree(folder)


def check_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Refuses to go on with other settings than those that the responses in a folder had.

    Args:
        folder: Of an evaluation, begun or not.
        settings: What decides the responses, by the name of the flag.

    Raises:
        ValueError: In one line, with every setting that differs.
    """
    record = folder / RECORD
    if not record.exists():
        if any(folder.glob("*.jsonl")):
            raise ValueError(f"{folder} holds something else: give another --output-dir")
        return
    before = read_object(record).get("settings", {})
    changed = [
        f"{_flag(name)} was {before.get(name)!r} and is {value!r}"
        for name, value in settings.items()
        if before.get(name) != value
    ]
    if changed:
        raise ValueError(
            f"{folder} cannot go on with other settings: {'; '.join(changed)}; give the old ones, "
            "or another --output-dir"
        )


def weights_of(model: str) -> str | None:
    """What tells a model in a folder from one that was written there later; None for a hub name.

    Names, sizes and times of its files: reading a large model to the end takes minutes.
    """
    folder = Path(model)
    if not folder.is_dir():
        return None
    files = sorted(path for path in folder.iterdir() if path.suffix in (".safetensors", ".bin"))
    stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(repr(stats).encode()).hexdigest()[:12]


def _flag(name: str) -> str:
    return "what is in --model" if name == "weights" else f"--{name.replace('_', '-')}"


def _whole(sizes: Sequence[int], count: int) -> int:
    """Batches that the first `count` responses fill."""
    done = 0
    for size in sizes:
        count -= size
        if count < 0:
            break
        done += 1
    return done
