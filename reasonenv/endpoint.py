"""Requests to a chat API: each has a deadline, and its answer a largest size."""

import asyncio
import functools
import json
import ssl
from typing import Any

LIMIT = 2**24
"""Largest answer in bytes."""
BUSY = (408, 409, 425, 429, 500, 502, 503, 504, 529)
"""Statuses after which a request is repeated."""
_LONGEST_REFUSAL = 12_000


class RequestError(Exception):
    """Raised when a request fails; `may_pass` tells whether a repetition may succeed."""

    def __init__(self, fault: str, may_pass: bool) -> None:
        super().__init__(fault)
        self.may_pass = may_pass


def post_json(url: str, body: Any, key: str, seconds: float) -> Any:
    """The JSON that a server answers to JSON; no redirect is followed.

    Args:
        url: Address of the request.
        body: Its content.
        key: Authorization.
        seconds: Time for the whole answer.

    Raises:
        TimeoutError: The time has passed.
        RequestError: The connection fails or breaks, or the server refuses.
        ValueError: The answer is too large or is no JSON.
    """
    status, reason, content = asyncio.run(_answer(url, body, key, seconds))
    if not 200 <= status < 300:
        text = content.decode(errors="replace")
        # No half of a key, each of whose characters may be an escape.
        text = text if len(content) < _LONGEST_REFUSAL else text[: -7 * len(key)]
        raise RequestError(f"HTTP {status} {reason}: {text}", status in BUSY)
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


async def _answer(url: str, body: Any, key: str, seconds: float) -> tuple[int, str, bytes]:
    """Status, reason and content, of a refusal only its beginning."""
    import httpx2

    # A bomb of compressed text would be larger than it seems.
    headers = {"Authorization": f"Bearer {key}", "Accept-Encoding": "identity"}
    content = b""
    try:
        # The timeouts of a client are those of a single read, which a byte a second satisfies.
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(timeout=None, verify=_trusted()) as client,
            client.stream("POST", url, json=body, headers=headers) as response,
        ):
            most = LIMIT if response.is_success else _LONGEST_REFUSAL * response.is_error
            async for part in response.aiter_raw():
                content += part
                if len(content) > most:
                    break
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        if isinstance(error, TimeoutError):
            raise
        raise RequestError(str(error) or type(error).__name__, may_pass=True) from None
    if response.is_success and len(content) > LIMIT:
        raise ValueError(f"it is larger than {LIMIT:,} bytes")
    return response.status_code, response.reason_phrase, content


@functools.cache
def _trusted() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()
