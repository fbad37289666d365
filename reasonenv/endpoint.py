"""Requests to a chat API: each has a deadline, and its answer a largest size."""

import json
import socket
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection, IncompleteRead
from typing import Any, Self
from urllib.parse import urlsplit

LIMIT = 2**24
"""Largest answer in bytes."""


def is_address(url: str) -> bool:
    """True for a URL with a host and, if any, a valid port."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


class Deadline:
    """The end of a request: its connections break then, whatever they are waiting for.

    The timeout of a socket is that of a single read, which a byte every second satisfies.

    Args:
        seconds: Time from now on.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._connections: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._break)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        for connection in self._connections:
            connection.close()

    def remaining(self) -> float:
        """Seconds until the end; 0 after it."""
        return max(0.0, self._end - time.monotonic())

    def connect(self, address: tuple[str, int], *_: object) -> socket.socket:
        """A connection that breaks at the end."""
        fault = OSError(f"{address[0]} has no address")
        for *_family, place in socket.getaddrinfo(*address, type=socket.SOCK_STREAM):
            host, port = str(place[0]), int(place[1])
            try:
                connection = socket.create_connection((host, port), self.remaining())
            except OSError as error:
                fault = error
                continue
            # A duplicate, since TLS takes the original away.
            self._connections.append(connection.dup())
            if not self.remaining():
                self._break()
            return connection
        raise fault

    def _break(self) -> None:
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def post_json(url: str, body: Any, key: str, deadline: Deadline) -> Any:
    """The JSON that a server answers to JSON.

    Args:
        url: Address of the request.
        body: Its content.
        key: Authorization, which a redirect to another address does not get.
        deadline: End of the request.

    Raises:
        OSError: The connection fails or breaks; an HTTPError where the server refuses.
        HTTPException: The answer is no HTTP, or incomplete.
        ValueError: The answer is too large or is no JSON.
    """
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    request.add_unredirected_header("Authorization", f"Bearer {key}")
    with _opener(deadline).open(request, timeout=deadline.remaining()) as response:
        content = response.read(LIMIT + 1)
        if len(content) > LIMIT:
            raise ValueError(f"it is larger than {LIMIT:,} bytes")
        if response.length:
            raise IncompleteRead(content, response.length)
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _opener(deadline: Deadline) -> urllib.request.OpenerDirector:
    """HTTP and HTTPS, also by a proxy; not FTP, to which a redirect may lead."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        *(urllib.request.ProxyHandler(), urllib.request.UnknownHandler(), _Redirects()),
        *(urllib.request.HTTPDefaultErrorHandler(), urllib.request.HTTPErrorProcessor()),
        *(_Http(deadline), _Https(deadline)),
    ):
        opener.add_handler(handler)
    return opener


class _Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        # The base class reads it to its end, which it may not have.
        fp.close()
        return request


class _Http(urllib.request.HTTPHandler):
    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._connection = partial(_connection, HTTPConnection, deadline)

    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(self._connection, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._connection = partial(_connection, HTTPSConnection, deadline)

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(self._connection, req)


def _connection(
    kind: Callable[..., HTTPConnection], deadline: Deadline, host: str, **options: Any
) -> HTTPConnection:
    connection = kind(host, **options)
    connection._create_connection = deadline.connect  # pyright: ignore[reportAttributeAccessIssue]
    return connection
