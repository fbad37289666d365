"""SHA-256 digests of the files of a folder, in a file that `sha256sum -c` reads."""

import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agents.errors import ModelError
from agents.storage.atomic_files import write_atomically

DIGESTS = "SHA256SUMS"
_NO_WEIGHTS = (".pt", ".md")
"""Suffixes of files beside a model that loading the model does not read."""


def write_digests(folder: Path) -> None:
    """Writes the digest of every file in a folder and its subfolders, hidden files excepted."""
    digests = _digests(folder, file_names(folder))
    content = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    write_atomically(folder / DIGESTS, content.encode())


def damage(folder: Path) -> str:
    """First difference of a folder from its digests, in a few words; empty if there is none."""
    if not (folder / DIGESTS).is_file():
        return f"{DIGESTS} is missing"
    expected = _read(folder)
    actual = set(file_names(folder))
    if missing := expected.keys() - actual:
        return f"{min(missing)} is missing"
    if additional := actual - expected.keys():
        return f"{min(additional)} is no file of it"
    return _first_difference(folder, expected)


def check_model(folder: Path) -> None:
    """Compares what a model is loaded from with its digests, if it has some.

    Raises:
        ModelError: A file differs.
    """
    if not (folder / DIGESTS).is_file():
        return
    expected = {
        name: digest
        for name, digest in _read(folder).items()
        if "/" not in name and not name.endswith(_NO_WEIGHTS) and (folder / name).is_file()
    }
    if difference := _first_difference(folder, expected):
        raise ModelError(
            f"the model in {folder} is damaged ({difference}): use another one, or remove "
            f"{DIGESTS} if you have changed the file yourself"
        )


def file_names(folder: Path) -> list[str]:
    """Names of the files that have a digest, in order."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    names = (path.as_posix() for path in paths if not any(p.startswith(".") for p in path.parts))
    return sorted(name for name in names if name != DIGESTS)


def _first_difference(folder: Path, expected: dict[str, str]) -> str:
    try:
        actual = _digests(folder, expected)
    except OSError as error:
        return f"{Path(error.filename or folder).name} cannot be read: {error.strerror}"
    different = (name for name, digest in expected.items() if digest != actual[name])
    return next((f"{name} differs from its digest in {DIGESTS}" for name in different), "")


def digest(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal; raises OSError where it cannot be read."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def data_digest(data: str | None) -> str | None:
    """SHA-256 of the file that `--data` names; None for a folder, a hub, or no data."""
    return digest(Path(data)) if data and Path(data).is_file() else None


def _digests(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Digest of each file by name; a thread reads each of several files at a time."""
    names = list(names)
    with ThreadPoolExecutor(max_workers=4) as pool:
        return dict(zip(names, pool.map(digest, (folder / name for name in names)), strict=True))


def _read(folder: Path) -> dict[str, str]:
    """Digest of each file by name, as they were written."""
    text = (folder / DIGESTS).read_bytes().decode(errors="replace")
    lines = (line.partition("  ") for line in text.splitlines())
    return {name: digest for digest, _, name in lines}
