"""The API key that a vLLM server and its trainers share.

It is `VLLM_API_KEY`, vLLM's own variable, or else stands in a file that only its owner can read.
The server writes that file when there is none, so that on one machine, or with a common home
directory, nothing has to be set.
"""

import os
import secrets
import tempfile
from pathlib import Path

from agents.errors import UsageError

VARIABLE = "VLLM_API_KEY"


def key_file() -> Path:
    """`vllm.key` in `$REASONENV_CACHE`, by default in `~/.cache/reasonenv`."""
    folder = os.environ.get("REASONENV_CACHE") or Path.home() / ".cache" / "reasonenv"
    return Path(folder) / "vllm.key"


def api_key(*, create: bool = False) -> str | None:
    """The key, or None if there is neither variable nor file.

    Args:
        create: True to write the file where it is missing, with a random key.

    Raises:
        UsageError: Others can read the file, or there is no key in it.
    """
    path, source = key_file(), f"the variable {VARIABLE}"
    key = os.environ.get(VARIABLE)
    if not key:
        if create and not path.exists():
            _write(path)
        if not path.exists():
            return None
        status = path.stat()
        if status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise UsageError(f"{path} is not readable by you alone: remove it, or set {VARIABLE}")
        key, source = path.read_text(errors="replace").strip(), str(path)
    if not key.isascii() or not key.isprintable() or not key or " " in key:
        raise UsageError(f"{source} holds no key: it takes printable ASCII without spaces")
    return key


def _write(path: Path) -> None:
    """Writes a random key, whole or not at all; a key that another process wrote first stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)  # for its owner alone
    try:
        with open(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32))
        os.link(temporary, path)
    except FileExistsError:
        return
    finally:
        os.unlink(temporary)
