"""HTTP client of a vLLM server, which turns every failure into an error of one line."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

import httpx2

from agents.engines.vllm.access import VARIABLE, api_key, key_file
from agents.engines.vllm.compatibility import check_server_version
from agents.errors import SamplerError, UsageError

_GENERATE = "/inference/v1/generate"
CONNECTIONS = 512
"""Requests for responses that run at the same time."""
_CONNECT_TIMEOUT = 60.0
"""Seconds in which a server must accept a connection, or answer a question about itself."""
_KEEP_ALIVE = {"SO_KEEPALIVE": 1, "TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Options of a socket by which a machine that is gone counts as lost after a minute."""


class VLLMClient:
    """Client that opens one connection per request, so that requests may overlap.

    Its methods raise a `SamplerError` if the server is unreachable, lost or hung, or fails.
    """

    def __init__(self, url: str, timeout: float) -> None:
        """Parses the address, http://HOST:PORT or https; the methods connect.

        `timeout` is in seconds without a result, after which a server counts as hung. UsageError if
        the address or the key is not valid.
        """
        try:
            address = httpx2.URL(url)
        except httpx2.InvalidURL:
            address = httpx2.URL()
        if address.scheme not in ("http", "https") or not address.host:
            raise UsageError(f"{url!r} is not the address of a server: write http://HOST:PORT")
        self.url, self.timeout = url.rstrip("/"), timeout
        self._host = address.host
        self._port = address.port or (443 if address.scheme == "https" else 80)
        key = api_key()
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        levels = {"SO": socket.SOL_SOCKET, "TCP": socket.IPPROTO_TCP}
        self._transport: dict[str, Any] = {
            "verify": address.scheme == "https",
            "limits": httpx2.Limits(max_keepalive_connections=0),
            "socket_options": [
                (levels[name.partition("_")[0]], getattr(socket, name), value)
                for name, value in _KEEP_ALIVE.items()
                if hasattr(socket, name)
            ],
        }

    def config(self) -> dict[str, Any]:
        """Configuration of the server, in vLLM's parts.

        Raises:
            SamplerError: The server is too old, or takes weights from anyone.
        """
        check_server_version(self._json("GET", "/version", _CONNECT_TIMEOUT)["version"])
        if self._request("GET", "/is_paused", _CONNECT_TIMEOUT, headers={}).is_success:
            raise SamplerError(
                f"the server at {self.url} takes weights from anyone who reaches it: start it "
                f"with `{self._start_command()}`, or with --middleware "
                "agents.engines.vllm.access.RequireKey"
            )
        return self._json("GET", "/server_info?config_format=json", _CONNECT_TIMEOUT)["vllm_config"]

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> None:
        """Has the server do something, and waits until it is done."""
        self._json("POST", path, self.timeout, json=body or {})

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

        The requests of these bodies run at the same time; an early end of the iteration ends them.
        """
        results: SimpleQueue[Any] = SimpleQueue()
        # In a thread of its own, since this one may have a loop that runs, as in a notebook.
        with (
            asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner,
            ThreadPoolExecutor(1) as pool,
        ):
            loop = runner.get_loop()
            task = loop.create_task(self._generate(bodies, results))
            pool.submit(loop.run_until_complete, task)
            try:
                while (result := results.get(timeout=self.timeout)) is not None:
                    if isinstance(result, BaseException):
                        raise result
                    yield result
            except Empty:
                raise SamplerError(
                    f"the vLLM server at {self.url} has sent no result for {self.timeout:.0f} "
                    "seconds: see its log and restart it"
                ) from None
            finally:
                loop.call_soon_threadsafe(task.cancel)

    def local_address(self) -> str:
        """Address of this machine, as the server sees it."""
        with (
            self._connection_errors("a connection"),
            socket.create_connection((self._host, self._port), _CONNECT_TIMEOUT) as connected,
        ):
            return connected.getsockname()[0]

    async def _generate(
        self, bodies: Sequence[Callable[[], dict[str, Any]]], results: SimpleQueue[Any]
    ) -> None:
        """Puts all pieces into a queue, then None, or the error of the first request that fails."""
        timeout = httpx2.Timeout(None, connect=_CONNECT_TIMEOUT)
        result, slots = None, asyncio.Semaphore(CONNECTIONS)

        async def stream(number: int, body: Callable[[], dict[str, Any]]) -> None:
            async with slots:  # a body is made when its turn comes
                async for piece in self._stream(client, await asyncio.to_thread(body)):
                    results.put((number, piece))

        try:
            transport = httpx2.AsyncHTTPTransport(**self._transport)
            async with (
                httpx2.AsyncClient(
                    transport=transport, headers=self._headers, timeout=timeout
                ) as client,
                asyncio.TaskGroup() as group,
            ):
                for number, body in enumerate(bodies):
                    group.create_task(stream(number, body))
        except BaseExceptionGroup as errors:
            result = errors.exceptions[0]
        except Exception as error:  # of the client: the reader of the queue would wait for ever
            result = error
        results.put(result)

    async def _stream(
        self, client: httpx2.AsyncClient, body: dict[str, Any]
    ) -> AsyncIterator[dict[str, Any]]:
        """Pieces of the responses to one request."""
        with self._connection_errors(_GENERATE):
            async with client.stream("POST", self.url + _GENERATE, json=body) as response:
                if not response.is_success:
                    await response.aread()
                self._check_status(response, _GENERATE)
                async for line in response.aiter_lines():
                    event = line.removeprefix("data: ").strip()
                    if event == "[DONE]":
                        return
                    if event:
                        piece = json.loads(event)
                        if "error" in piece:
                            raise self._failed(_GENERATE, piece)
                        yield piece
                raise ConnectionError("the stream ended before its last line")

    def _json(self, method: str, path: str, timeout: float, **options: Any) -> Any:
        """The server's answer to a request."""
        response = self._request(method, path, timeout, **options)
        self._check_status(response, path)
        with self._connection_errors(path):
            return response.json()

    def _request(self, method: str, path: str, timeout: float, **options: Any) -> httpx2.Response:
        timeouts = httpx2.Timeout(timeout, connect=_CONNECT_TIMEOUT)
        options = {"headers": self._headers, "timeout": timeouts} | options
        with (
            self._connection_errors(path),
            httpx2.Client(transport=httpx2.HTTPTransport(**self._transport)) as client,
        ):
            return client.request(method, self.url + path, **options)

    def _check_status(self, response: httpx2.Response, path: str) -> None:
        status = response.status_code
        if status == httpx2.codes.UNAUTHORIZED:
            raise SamplerError(
                f"the vLLM server at {self.url} has another key: set {VARIABLE} to that of the "
                f"server, or copy its {key_file().name} to {key_file().parent}"
            )
        if status in (httpx2.codes.NOT_FOUND, httpx2.codes.FORBIDDEN):
            raise SamplerError(
                f"the server at {self.url} answers {status} {response.reason_phrase} to {path}: "
                f"it was not started with `{self._start_command()}`"
            )
        if not response.is_success:
            try:
                answer = response.json()
            except ValueError:
                answer = response.text
            raise self._failed(path, answer)

    def _failed(self, path: str, answer: Any) -> SamplerError:
        """Error with the reason that a server gives, in one of vLLM's forms."""
        for name in ("error", "message"):
            answer = answer.get(name, answer) if isinstance(answer, dict) else answer
        name = path.partition("?")[0].rpartition("/")[2].replace("_", " ")
        return SamplerError(f"the vLLM server at {self.url} cannot {name}: {_line(answer)[:1000]}")

    @contextmanager
    def _connection_errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except (httpx2.ConnectError, httpx2.ConnectTimeout, ConnectionRefusedError) as error:
            raise SamplerError(
                f"no vLLM server at {self.url} ({_line(error)}): start it there with "
                f"`{self._start_command()}`, wait until it is up, and check that its port is open"
            ) from error
        except (httpx2.HTTPError, OSError, json.JSONDecodeError) as error:
            raise SamplerError(
                f"{self._lost(path)} ({_line(error)}): see its log, restart it, and continue "
                "with --resume"
            ) from error

    def _lost(self, path: str) -> str:
        return f"the vLLM server at {self.url} was lost during {path}"

    def _start_command(self) -> str:
        return f"python -m agents.engines.vllm_server --model DIR --port {self._port}"


def _line(reason: object) -> str:
    return " ".join(str(reason).split()) or type(reason).__name__
