"""HTTP client of a vLLM server, which turns every failure into an error of one line."""

import http.client
import json
import socket
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

from agents.engines.vllm.access import VARIABLE, api_key, key_file
from agents.engines.vllm.routes import HEARTBEAT, ROUTE
from agents.errors import SamplerError, UsageError

HEARTBEAT_TIMEOUT = 12 * HEARTBEAT
"""Seconds without a heartbeat after which a server counts as lost."""
CONNECTION_ERRORS = (OSError, http.client.HTTPException, json.JSONDecodeError)


class VLLMClient:
    """Client that opens one connection per request, so that requests may overlap."""

    def __init__(self, url: str, timeout: float) -> None:
        """Parses the address; `call` connects.

        Args:
            url: http://HOST:PORT, or https.
            timeout: Seconds without a result after which a server with a heartbeat counts as hung.

        Raises:
            UsageError: The address or the key is not valid.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url!r} is not the address of a server: write http://HOST:PORT")
        self.url, self.timeout = url, timeout
        key = api_key()
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        secure = parts.scheme == "https"
        self._kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self.host, self.port = parts.hostname, parts.port or (443 if secure else 80)

    def call(
        self, method: str, arguments: dict[str, Any] | None = None
    ) -> Generator[dict[str, Any], None, None]:
        """Streams the results of a method of `agents.engines.vllm.routes`.

        Raises:
            SamplerError: The server is unreachable, lost or hung, or the method fails.
        """
        with self._connection() as connection:
            with self._connection_errors(method):
                connection.request(
                    "POST", ROUTE + method, json.dumps(arguments or {}), self._headers
                )
                response = connection.getresponse()
            with closing(response):
                self._check_status(response)
                yield from self._stream(response, method)

    def _check_status(self, response: http.client.HTTPResponse) -> None:
        if response.status == http.HTTPStatus.UNAUTHORIZED:
            raise SamplerError(
                f"the vLLM server at {self.url} has another key: set {VARIABLE} to that of the "
                f"server, or copy its {key_file().name} to {key_file().parent}"
            )
        if response.status != http.HTTPStatus.OK:
            raise SamplerError(
                f"the server at {self.url} answers {response.status} {response.reason}: it was "
                f"not started with `{self._start_command()}`"
            )

    def lost(self, method: str) -> str:
        """First half of the error message about a server that was lost during a method."""
        return f"the vLLM server at {self.url} was lost during {method!r}"

    def local_address(self) -> str:
        """Address of this machine, as the server sees it."""
        address = (self.host, self.port)
        with (
            self._connection_errors("about"),
            socket.create_connection(address, HEARTBEAT_TIMEOUT) as connection,
        ):
            return connection.getsockname()[0]

    @contextmanager
    def _connection(self) -> Iterator[http.client.HTTPConnection]:
        connection = self._kind(self.host, self.port, timeout=HEARTBEAT_TIMEOUT)
        try:
            connection.connect()
        except OSError as error:
            raise SamplerError(
                f"no vLLM server at {self.url} ({_reason(error)}): start it there with "
                f"`{self._start_command()}`, wait until it is up, and check that its port is open"
            ) from error
        try:
            yield connection
        finally:
            connection.close()

    def _stream(self, response: http.client.HTTPResponse, method: str) -> Iterator[dict[str, Any]]:
        deadline = time.monotonic() + self.timeout
        while True:
            with self._connection_errors(method):
                line = json.loads(response.readline() or _end_of_stream())
            if "error" in line:
                raise SamplerError(
                    f"the vLLM server at {self.url} cannot {method}: {line['error']}"
                )
            if "done" in line:
                return
            if line:
                deadline = time.monotonic() + self.timeout
                yield line
            elif time.monotonic() > deadline:
                raise SamplerError(
                    f"the vLLM server at {self.url} is alive, but has sent no result for "
                    f"{self.timeout:.0f} seconds: see its log and restart it"
                )

    @contextmanager
    def _connection_errors(self, method: str) -> Iterator[None]:
        try:
            yield
        except CONNECTION_ERRORS as error:
            raise SamplerError(
                f"{self.lost(method)} ({_reason(error)}): see its log, restart it, and continue "
                "with --resume"
            ) from error

    def _start_command(self) -> str:
        return f"python -m agents.engines.vllm_server --model DIR --port {self.port}"


def _end_of_stream() -> bytes:
    raise ConnectionError("the stream ended before its last line")


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
