"""A vLLM server as one who asks it over HTTP sees it, with every failure in one line."""

import http.client
import json
import socket
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from agents.engines.vllm.routes import HEARTBEAT, ROUTE
from agents.errors import SamplerError, UsageError

SILENCE = 12 * HEARTBEAT
"""Seconds without a sign of life, after which a server counts as gone."""
FAULTS = (OSError, http.client.HTTPException, json.JSONDecodeError)


class Server:
    """Asks one question for each connection, so that several may be open at once."""

    def __init__(self, url: str, patience: float) -> None:
        """Does not connect yet.

        Args:
            url: http://HOST:PORT, or https.
            patience: Seconds without an answer after which a server that lives counts as hung.

        Raises:
            UsageError: In one line, when this is no address.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url!r} is no address of a server: write http://HOST:PORT")
        self.url, self.patience = url, patience
        secure = parts.scheme == "https"
        self._kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self.host, self.port = parts.hostname, parts.port or (443 if secure else 80)

    def ask(
        self, what: str, told: dict[str, Any] | None = None
    ) -> Generator[dict[str, Any], None, None]:
        """What the server answers, as it comes; see `agents.engines.vllm.routes`.

        Raises:
            SamplerError: In one line, when it is not there, dies, hangs or refuses.
        """
        with self._connection() as connection:
            with self._alive(what):
                connection.request("POST", ROUTE + what, json.dumps(told or {}))
                answer = connection.getresponse()
            if answer.status != http.HTTPStatus.OK:
                raise SamplerError(
                    f"the server at {self.url} answers {answer.status} {answer.reason}: it was not "
                    f"started with `{self._start()}`"
                )
            yield from self._lines(answer, what)

    def lost(self, what: str) -> str:
        """The first half of a line on a server that was lost while it did something."""
        return f"the vLLM server at {self.url} was lost while it {what}"

    def seen_from_there(self) -> str:
        """The address of this machine on its way to the server."""
        with self._alive("about"), socket.create_connection((self.host, self.port), SILENCE) as way:
            return way.getsockname()[0]

    @contextmanager
    def _connection(self) -> Iterator[http.client.HTTPConnection]:
        connection = self._kind(self.host, self.port, timeout=SILENCE)
        try:
            connection.connect()
        except OSError as error:
            raise SamplerError(
                f"no vLLM server at {self.url} ({_reason(error)}): start it there with "
                f"`{self._start()}`, wait until it is up, and see that the port can be reached"
            ) from error
        try:
            yield connection
        finally:
            connection.close()

    def _lines(self, answer: http.client.HTTPResponse, what: str) -> Iterator[dict[str, Any]]:
        until = time.monotonic() + self.patience
        while True:
            with self._alive(what):
                line = json.loads(answer.readline() or _ended())
            if "error" in line:
                raise SamplerError(f"the vLLM server at {self.url} cannot {what}: {line['error']}")
            if "done" in line:
                return
            if line:
                until = time.monotonic() + self.patience
                yield line
            elif time.monotonic() > until:
                raise SamplerError(
                    f"the vLLM server at {self.url} lives, but has told nothing for "
                    f"{self.patience:.0f} seconds: see its log, and start it again"
                )

    @contextmanager
    def _alive(self, what: str) -> Iterator[None]:
        try:
            yield
        except FAULTS as error:
            raise SamplerError(
                f"{self.lost(f'was asked to {what}')} ({_reason(error)}): see its log, start it "
                "again, and go on with --resume"
            ) from error

    def _start(self) -> str:
        return f"python -m agents.engines.vllm_server --model DIR --port {self.port}"


def _ended() -> bytes:
    raise ConnectionError("it ended in the middle of an answer")


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
