"""HTTP client of a vLLM server, which turns every failure into an error of one line."""

import http.client
import json
import socket
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit

from agents.engines.vllm.access import VARIABLE, api_key, key_file
from agents.engines.vllm.compatibility import check_server_version
from agents.errors import SamplerError, UsageError

_GENERATE = "/inference/v1/generate"
CONNECTIONS = 512
"""Requests for responses that run at the same time."""
_CONNECT_TIMEOUT = 60.0
"""Seconds in which a server must accept a connection, or answer a question about itself."""
_KEEP_ALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Options of a socket by which a machine that is gone counts as lost after a minute."""
_CONNECTION_ERRORS = (OSError, http.client.HTTPException, json.JSONDecodeError)


class VLLMClient:
    """Client that opens one connection per request, so that requests may overlap.

    Its methods raise a `SamplerError` if the server is unreachable, lost or hung, or fails.
    """

    def __init__(self, url: str, timeout: float) -> None:
        """Parses the address; the methods connect.

        Args:
            url: http://HOST:PORT, or https.
            timeout: Seconds without a result after which a server counts as hung.

        Raises:
            UsageError: The address or the key is not valid.
        """
        try:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
                raise ValueError
        except ValueError:  # also that of an invalid port
            reason = f"{url!r} is not the address of a server: write http://HOST:PORT"
            raise UsageError(reason) from None
        self.url, self.timeout = url, timeout
        key = api_key()
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        secure = parts.scheme == "https"
        self._kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self.host, self.port = parts.hostname, parts.port or (443 if secure else 80)

    def config(self) -> dict[str, Any]:
        """Configuration of the server, in vLLM's parts.

        Raises:
            SamplerError: The server is too old, or takes weights from anyone.
        """
        check_server_version(self._json("GET", "/version", _CONNECT_TIMEOUT)["version"])
        with self._response("GET", "/is_paused", _CONNECT_TIMEOUT, headers={}) as response:
            if response.status == http.HTTPStatus.OK:
                raise SamplerError(
                    f"the server at {self.url} takes weights from anyone who reaches it: start it "
                    f"with `{self._start_command()}`, or with --middleware "
                    "agents.engines.vllm.access.RequireKey"
                )
        return self._json("GET", "/server_info?config_format=json", _CONNECT_TIMEOUT)["vllm_config"]

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> None:
        """Has the server do something, and waits until it is done."""
        self._json("POST", path, self.timeout, body or {})

    @contextmanager
    def posting(self, path: str, body: Mapping[str, Any]) -> Iterator[None]:
        """Context in which the server does something with this process, whose end it awaits."""
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(self.post, path, body)
            try:
                yield
            except ConnectionError as error:
                # Raises the server's own error, which says more, if there is one.
                future.result()
                line = f"{self._lost(path)} ({str(error)[:300]}): see its log"
                raise SamplerError(line) from error
            future.result()

    def generate(
        self, bodies: Sequence[Callable[[], dict[str, Any]]]
    ) -> Generator[tuple[int, dict[str, Any]], None, None]:
        """Pieces of responses as they come, each with the number of its request.

        An early end of the iteration ends the requests on the server.

        Args:
            bodies: Of the requests, which run at the same time.
        """
        results: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        sockets: list[socket.socket] = []

        def run(number: int, body: Callable[[], dict[str, Any]]) -> None:
            try:
                for piece in self._stream(body(), sockets):
                    results.put((number, piece))
                results.put((number, None))
            except BaseException as error:  # raised where the results are read
                results.put((number, error))

        with ThreadPoolExecutor(CONNECTIONS) as pool:
            futures = [pool.submit(run, number, body) for number, body in enumerate(bodies)]
            try:
                yield from self._pieces(results, len(bodies))
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                # A request that was cancelled before it began is done, and `wait` does not say so.
                while running := [future for future in futures if not future.done()]:
                    for connected in tuple(sockets):
                        with suppress(OSError):  # it has been closed already
                            connected.shutdown(socket.SHUT_RDWR)
                    wait(running, 0.1)

    def local_address(self) -> str:
        """Address of this machine, as the server sees it."""
        with self._connection(_CONNECT_TIMEOUT) as connection:
            return connection.sock.getsockname()[0]

    def _pieces(
        self, results: SimpleQueue[tuple[int, Any]], count: int
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Pieces out of a queue, until so many requests are complete or one has failed."""
        while count:
            try:
                number, result = results.get(timeout=self.timeout)
            except Empty:
                raise SamplerError(
                    f"the vLLM server at {self.url} has sent no result for {self.timeout:.0f} "
                    "seconds: see its log and restart it"
                ) from None
            if isinstance(result, BaseException):
                raise result
            if result is None:
                count -= 1
            else:
                yield number, result

    def _stream(
        self, body: dict[str, Any], sockets: list[socket.socket]
    ) -> Iterator[dict[str, Any]]:
        """Pieces of the responses to one request, whose socket is added to the others."""
        with self._response("POST", _GENERATE, None, body, opened=sockets.append) as response:
            self._check_status(response, _GENERATE)
            with self._connection_errors(_GENERATE):
                for event in iter(partial(_event, response), b"[DONE]"):
                    piece = json.loads(event)
                    if "error" in piece:
                        raise self._failed(_GENERATE, piece)
                    yield piece

    def _json(
        self, method: str, path: str, timeout: float, body: Mapping[str, Any] | None = None
    ) -> Any:
        """The server's answer to a request."""
        with self._response(method, path, timeout, body) as response:
            self._check_status(response, path)
            with self._connection_errors(path):
                return json.loads(response.read())

    @contextmanager
    def _response(
        self,
        method: str,
        path: str,
        timeout: float | None,
        body: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        opened: Callable[[socket.socket], None] = lambda _: None,
    ) -> Iterator[http.client.HTTPResponse]:
        """Response to a request, of which only the headers have been read."""
        content = None if body is None else json.dumps(body)
        headers = {
            "Content-Type": "application/json",
            **(self._headers if headers is None else headers),
        }
        with self._connection(timeout) as connection:
            opened(connection.sock)
            with self._connection_errors(path):
                connection.request(method, path, content, headers)
                response = connection.getresponse()
            with response:
                yield response

    def _check_status(self, response: http.client.HTTPResponse, path: str) -> None:
        if response.status == http.HTTPStatus.OK:
            return
        if response.status == http.HTTPStatus.UNAUTHORIZED:
            raise SamplerError(
                f"the vLLM server at {self.url} has another key: set {VARIABLE} to that of the "
                f"server, or copy its {key_file().name} to {key_file().parent}"
            )
        if response.status in (http.HTTPStatus.NOT_FOUND, http.HTTPStatus.FORBIDDEN):
            raise SamplerError(
                f"the server at {self.url} answers {response.status} {response.reason} to {path}: "
                f"it was not started with `{self._start_command()}`"
            )
        with self._connection_errors(path):
            answer = response.read().decode(errors="replace")
        with suppress(json.JSONDecodeError):
            answer = json.loads(answer)
        raise self._failed(path, answer)

    def _failed(self, path: str, answer: Any) -> SamplerError:
        """Error with the reason that a server gives, in one of vLLM's forms."""
        for name in ("error", "message"):
            answer = answer.get(name, answer) if isinstance(answer, dict) else answer
        name = urlsplit(path).path.rpartition("/")[2].replace("_", " ")
        return SamplerError(f"the vLLM server at {self.url} cannot {name}: {_line(answer)[:1000]}")

    @contextmanager
    def _connection(self, timeout: float | None) -> Iterator[http.client.HTTPConnection]:
        connection = self._kind(self.host, self.port, timeout=_CONNECT_TIMEOUT)
        try:
            connection.connect()
        except OSError as error:
            raise SamplerError(
                f"no vLLM server at {self.url} ({_line(error)}): start it there with "
                f"`{self._start_command()}`, wait until it is up, and check that its port is open"
            ) from error
        try:
            connection.sock.settimeout(timeout)
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name in _KEEP_ALIVE.keys() & vars(socket).keys():
                option = getattr(socket, name)
                connection.sock.setsockopt(socket.IPPROTO_TCP, option, _KEEP_ALIVE[name])
            yield connection
        finally:
            connection.close()

    @contextmanager
    def _connection_errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except _CONNECTION_ERRORS as error:
            raise SamplerError(
                f"{self._lost(path)} ({_line(error)}): see its log, restart it, and continue "
                "with --resume"
            ) from error

    def _lost(self, path: str) -> str:
        return f"the vLLM server at {self.url} was lost during {path}"

    def _start_command(self) -> str:
        return f"python -m agents.engines.vllm_server --model DIR --port {self.port}"


def _event(response: http.client.HTTPResponse) -> bytes:
    """The next server-sent event.

    Raises:
        ConnectionError: The stream has ended.
    """
    while line := response.readline():
        if line.startswith(b"data: "):
            return line.removeprefix(b"data: ").strip()
    raise ConnectionError("the stream ended before its last line")


def _line(reason: object) -> str:
    return " ".join(str(reason).split()) or type(reason).__name__
