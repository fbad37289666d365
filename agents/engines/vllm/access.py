"""The API key that a vLLM server and its trainers share.

It is `VLLM_API_KEY`, vLLM's own variable, or else stands in a file that only its owner can read.
The server writes that file when there is none, so that on one machine, or with a common home
directory, nothing has to be set. vLLM asks for it on some of its paths; `RequireKey` on all others.
"""

import hmac
import os
import secrets
import tempfile
from pathlib import Path
from typing import Any

from agents.errors import UsageError
from agents.storage.cache import cache_folder

VARIABLE = "VLLM_API_KEY"
OPEN = ("/health", "/ping")
"""Paths of a server for which no key is needed."""
_CLOSED = ("/collective_rpc",)
"""Paths that are for nobody: vLLM runs any method of its workers there."""


class RequireKey:
    """ASGI middleware of vLLM's application that asks for the key.

    vLLM's own does so on paths such as /v1 and /inference, and not on those that pause the server
    or replace its weights. UsageError where there is no key.
    """

    def __init__(self, app: Any) -> None:
        self.app = app
        key = api_key()
        if key is None:
            raise UsageError(f"this server has no key: set {VARIABLE}")
        self._expected = f"Bearer {key}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handles one request (ASGI)."""
        is_request = scope["type"] in ("http", "websocket")
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        if is_request and path not in OPEN and not self._has_key(scope):
            await _refuse(send, 401, f"this server needs its key: {VARIABLE}")
        elif is_request and path in _CLOSED:
            await _refuse(send, 404, "there is no such route")
        else:
            await self.app(scope, receive, send)

    def _has_key(self, scope: Any) -> bool:
        keys = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(keys) == 1 and hmac.compare_digest(keys[0], self._expected)


async def _refuse(send: Any, status: int, reason: str) -> None:
    """Ends a request without an answer but its status and a line."""
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": reason.encode()})


def key_file() -> Path:
    """`vllm.key` in the folder of caches, by default `~/.cache/reasonenv`."""
    return cache_folder() / "vllm.key"


def api_key(*, create: bool = False) -> str | None:
    """The key, or None if there is neither variable nor file, unless that is to be created.

    UsageError if others can read the file, or there is no key in it.
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
