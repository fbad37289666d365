"""SHA-256 digests of the files of a folder, in a file that `sha256sum -c` reads."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agents.errors import ModelError
from agents.storage.atomic_files import write_atomically

DIGESTS = "SHA256SUMS"


def write_digests(folder: Path) -> None:
    """Writes the digest of every file in a folder and its subfolders, hidden files excepted."""
    digests = _digests(folder, sorted(_names(folder)))
    lines = (f"{digest}  {name}\n" for name, digest in digests.items())
    write_atomically(folder / DIGESTS, "".join(lines).encode())


def damage(folder: Path) -> str:
    """First difference of a folder from its digests, in a few words; empty if there is none."""
    if not (folder / DIGESTS).is_file():
        return f"{DIGESTS} is missing"
    expected, names = _expected(folder), _names(folder)
    if missing := expected.keys() - names:
        return f"{min(missing)} is missing"
    if additional := names - expected.keys():
        return f"{min(additional)} is no file of it"
    return _difference(folder, expected)


def check_model(folder: Path) -> None:
    """Compares what a model is loaded from with its digests, if it has some.

    Raises:
        ModelError: A file differs.
    """
    if not (folder / DIGESTS).is_file():
        return
    # Optimizer states and the card are not read with a model, and need not be there.
    names = {path.name for path in folder.iterdir() if path.suffix not in (".pt", ".md")}
    expected = {name: digest for name, digest in _expected(folder).items() if name in names}
    if difference := _difference(folder, expected):
        raise ModelError(
            f"the model in {folder} is damaged ({difference}): use another one, or remove "
            f"{DIGESTS} if you have changed the file yourself"
        )


def digest(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal; raises OSError where it cannot be read."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def data_digest(data: str | None) -> str | None:
    """SHA-256 of the file that `--data` names; None for a folder, a hub, or no data."""
    return digest(Path(data)) if data and Path(data).is_file() else None


def _difference(folder: Path, expected: dict[str, str]) -> str:
    try:
        actual = _digests(folder, list(expected))
    except OSError as error:
        return f"{Path(error.filename or folder).name} cannot be read: {error.strerror}"
    different = [name for name in expected if expected[name] != actual[name]]
    return f"{different[0]} differs from its digest in {DIGESTS}" if different else ""


def _names(folder: Path) -> set[str]:
    """Names of the files that have a digest."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    names = {path.as_posix() for path in paths if not any(p.startswith(".") for p in path.parts)}
    return names - {DIGESTS}


def _digests(folder: Path, names: list[str]) -> dict[str, str]:
    """Digest of each file by name; a thread reads each of several files at a time."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        return dict(zip(names, pool.map(lambda name: digest(folder / name), names), strict=True))


def _expected(folder: Path) -> dict[str, str]:
    """Digest of each file by name, as they were written."""
    lines = (folder / DIGESTS).read_text(errors="replace").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
