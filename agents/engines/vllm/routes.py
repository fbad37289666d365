"""Routes of a vLLM server for the trainer: `about`, `generate`, `join` and `load`.

Arguments and results are JSON: token ids, log-probabilities, and images as base64.
"""

import asyncio
import base64
import hmac
import importlib
import json
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import numpy as np
from PIL import Image

from agents.engines.vllm.access import VARIABLE
from agents.engines.vllm.route_arguments import MAX_BODY, check_generate, check_join
from agents.engines.vllm.sampling_requests import check_tokens, vllm_params

ROUTE = "/agents/"
OPEN = ("/health", "/ping")
"""Paths for which no key is needed."""
HEARTBEAT = 5.0
"""Seconds between the empty lines that a server sends while there is no result."""

Send = Callable[[dict[str, Any]], None]
Handler = Callable[[Any, dict[str, Any], Send], Awaitable[None]]


class TrainerRoutes:
    """ASGI middleware of vLLM's application: the key of every path, and the paths under `ROUTE`."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._expected = f"Bearer {os.environ[VARIABLE]}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handles one request (ASGI)."""
        is_request = scope["type"] in ("http", "websocket")
        if is_request and scope["path"] not in OPEN and not self._has_key(scope):
            await _refuse(send, 401, f"this server needs its key: {VARIABLE}")
        elif scope["type"] != "http" or not scope["path"].startswith(ROUTE):
            await self.app(scope, receive, send)
        else:
            await self._handle(scope, receive, send)

    def _has_key(self, scope: Any) -> bool:
        keys = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(keys) == 1 and hmac.compare_digest(keys[0], self._expected)

    async def _handle(self, scope: Any, receive: Any, send: Any) -> None:
        handlers = {"about": _about, "generate": _generate, "join": _join, "load": _load}
        handler = handlers.get(scope["path"].removeprefix(ROUTE))
        if handler is None or scope["method"] != "POST":
            await _refuse(send, 404, "there is no such route")
            return
        try:
            arguments = dict(json.loads(await _body(receive) or b"{}"))
        except (TypeError, ValueError, RecursionError) as error:
            await _refuse(send, 400, f"the request is no JSON object, or too long: {error}")
            return
        # A worker connects to no other machine than the client's.
        arguments |= {"client": scope["client"][0]} if handler is _join else {}
        lines = _lines(handler, scope["app"].state.engine_client, arguments)
        starlette_responses = importlib.import_module("starlette.responses")
        response = starlette_responses.StreamingResponse(lines, media_type="application/jsonl")
        await response(scope, receive, send)


async def _body(receive: Any) -> bytes:
    """Body of a request.

    Raises:
        ValueError: It is too long.
    """
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BODY:
            raise ValueError(f"{len(body)} bytes")
    return bytes(body)


async def _refuse(send: Any, status: int, reason: str) -> None:
    """Ends a request without an answer but its status and a line."""
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": reason.encode()})


async def _lines(handler: Handler, engine: Any, arguments: dict[str, Any]) -> AsyncIterator[bytes]:
    """JSON lines of the results, with an empty object as heartbeat while there is none.

    The last line has the key `done` or `error`.
    """
    queue: asyncio.Queue[Any] = asyncio.Queue()
    task = asyncio.create_task(_run(handler(engine, arguments, queue.put_nowait), queue))
    line: Any = {}
    try:
        while "done" not in line and "error" not in line:
            try:
                line = await asyncio.wait_for(queue.get(), HEARTBEAT)
            except TimeoutError:
                line = {}
            yield json.dumps(line).encode() + b"\n"
    finally:
        # The client may have disconnected; its requests end with it.
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _run(handling: Awaitable[None], queue: asyncio.Queue[Any]) -> None:
    try:
        await handling
        queue.put_nowait({"done": True})
    except Exception as error:
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        queue.put_nowait({"error": " ".join(str(error).split()) or type(error).__name__})


async def _about(engine: Any, _: dict[str, Any], send: Send) -> None:
    config = engine.vllm_config
    about = {
        "dtype": str(config.model_config.dtype).removeprefix("torch."),
        "max_length": config.model_config.max_model_len,
        "num_workers": config.parallel_config.world_size_across_dp,
        "device": config.device_config.device_type,
        "logprobs_mode": config.model_config.logprobs_mode,
    }
    send({"about": about})


async def _join(engine: Any, arguments: dict[str, Any], _: Send) -> None:
    client = arguments.pop("client")
    check_join(arguments, client, engine.vllm_config.model_config.get_vocab_size())
    await engine.collective_rpc("join_trainer", kwargs=arguments)


async def _load(engine: Any, _: dict[str, Any], __: Send) -> None:
    """Loads new weights after the running requests and before the next."""
    await engine.pause_generation(mode="wait")
    try:
        await engine.collective_rpc("receive_weights")
        if not await engine.reset_prefix_cache():
            raise RuntimeError("its prefix cache is in use: it still samples")
        await engine.reset_encoder_cache()
    finally:
        await engine.resume_generation()


async def _generate(engine: Any, arguments: dict[str, Any], send: Send) -> None:
    """Sends each response as soon as it is complete."""
    config = engine.vllm_config.model_config
    check_generate(arguments, config.get_vocab_size(), config.max_model_len)
    async with asyncio.TaskGroup() as tasks:
        for number, group in enumerate(arguments["groups"]):
            params = vllm_params(arguments["params"] | {"n": group["count"], "seed": group["seed"]})
            send_response = partial(_send_response, send, number)
            tasks.create_task(_sample_group(engine, group, params, send_response))


def _send_response(send: Send, number: int, index: int, tokens: list[int], log_probs: list) -> None:
    send({"group": number, "index": index, "tokens": tokens, "log_probs": log_probs})


async def _sample_group(
    engine: Any, group: dict[str, Any], params: Any, send_response: Callable
) -> None:
    """Samples the responses to one prompt."""
    (prompt,) = await engine.renderer.render_cmpl_async([_prompt(group)])
    parts: dict[int, tuple[list[int], list[float]]] = {}
    async for output in engine.generate(prompt, params, f"agents-{uuid.uuid4()}"):
        check_tokens(output.prompt_token_ids, group["token_ids"])
        for part in output.outputs:
            tokens, log_probs = parts.setdefault(part.index, ([], []))
            tokens += part.token_ids
            log_probs += [] if part.logprobs is None else part.logprobs.logprobs
            if part.finish_reason in ("stop", "length"):
                send_response(part.index, tokens, log_probs)
            elif part.finish_reason is not None:
                raise RuntimeError(f"a response was aborted: {part.finish_reason}")


def _prompt(group: dict[str, Any]) -> dict[str, Any]:
    """A prompt in vLLM's format, from that of `RemoteSampler`."""
    if "images" not in group:
        return {"prompt_token_ids": group["token_ids"]}
    images = [
        Image.fromarray(np.frombuffer(base64.b64decode(data), np.uint8).reshape(shape))
        for shape, data in group["images"]
    ]
    return {
        "prompt_token_ids": group["collapsed"],
        "multi_modal_data": {"image": images},
        "mm_processor_kwargs": group["pixels"],
    }
