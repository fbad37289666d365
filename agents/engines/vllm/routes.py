"""What a vLLM server answers to the trainer: about itself, responses, a group, new weights.

Tokens go in and out as they are, log-probabilities as numbers, pictures as bytes.
"""

import asyncio
import base64
import importlib
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import numpy as np
from PIL import Image

from agents.engines.vllm.sampling_requests import check_read, vllm_params

ROUTE = "/agents/"
HEARTBEAT = 5.0
"""Seconds after which a server that has nothing to tell says that it is there."""

Tell = Callable[[dict[str, Any]], None]
Answer = Callable[[Any, dict[str, Any], Tell], Awaitable[None]]


class Routes:
    """An application around vLLM's own that answers what starts with `ROUTE` itself."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answers one request, as ASGI has it."""
        if scope["type"] != "http" or not scope["path"].startswith(ROUTE):
            await self.app(scope, receive, send)
            return
        answered = importlib.import_module("starlette.responses")
        asked = importlib.import_module("starlette.requests")
        body = await asked.Request(scope, receive).body()
        answers = {"about": _about, "generate": _generate, "join": _join, "load": _load}
        answer = answers[scope["path"].removeprefix(ROUTE)]
        lines = _lines(answer, scope["app"].state.engine_client, json.loads(body or b"{}"))
        streamed = answered.StreamingResponse(lines, media_type="application/jsonl")
        await streamed(scope, receive, send)


async def _lines(answer: Answer, engine: Any, told: dict[str, Any]) -> AsyncIterator[bytes]:
    """What is told, each in a line; an empty one where nothing is for a while.

    The last says that it is, or what went wrong.
    """
    queue: asyncio.Queue[Any] = asyncio.Queue()
    task = asyncio.create_task(_to_the_end(answer(engine, told, queue.put_nowait), queue))
    line: Any = {}
    try:
        while "done" not in line and "error" not in line:
            try:
                line = await asyncio.wait_for(queue.get(), HEARTBEAT)
            except TimeoutError:
                line = {}
            yield json.dumps(line).encode() + b"\n"
    finally:
        # Who asked may have left: what is sampled for nobody is broken off.
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _to_the_end(answering: Awaitable[None], queue: asyncio.Queue[Any]) -> None:
    try:
        await answering
        queue.put_nowait({"done": True})
    except Exception as error:
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        queue.put_nowait({"error": " ".join(str(error).split()) or type(error).__name__})


async def _about(engine: Any, _: dict[str, Any], tell: Tell) -> None:
    config = engine.vllm_config
    about = {
        "dtype": str(config.model_config.dtype).removeprefix("torch."),
        "max_length": config.model_config.max_model_len,
        "num_workers": config.parallel_config.world_size_across_dp,
        "device": config.device_config.device_type,
        "logprobs_mode": config.model_config.logprobs_mode,
    }
    tell({"about": about})


async def _join(engine: Any, told: dict[str, Any], _: Tell) -> None:
    await engine.collective_rpc("join_trainer", kwargs=told)


async def _load(engine: Any, _: dict[str, Any], __: Tell) -> None:
    """New weights, between the responses that are being sampled and the next."""
    await engine.pause_generation(mode="wait")
    try:
        await engine.collective_rpc("receive_weights")
        if not await engine.reset_prefix_cache():
            raise RuntimeError("its prefix cache is in use: it still samples")
    finally:
        await engine.resume_generation()


async def _generate(engine: Any, told: dict[str, Any], tell: Tell) -> None:
    """Each response as soon as it is complete."""
    async with asyncio.TaskGroup() as tasks:
        for number, group in enumerate(told["groups"]):
            drawn = vllm_params(told["params"] | {"n": group["count"], "seed": group["seed"]})
            tasks.create_task(_group(engine, group, drawn, partial(_response, tell, number)))


def _response(tell: Tell, number: int, index: int, tokens: list[int], log_probs: list) -> None:
    tell({"group": number, "index": index, "tokens": tokens, "log_probs": log_probs})


async def _group(engine: Any, group: dict[str, Any], drawn: Any, tell: Callable) -> None:
    """Tells the responses to one prompt."""
    (prompt,) = await engine.renderer.render_cmpl_async([_prompt(group)])
    parts: dict[int, tuple[list[int], list[float]]] = {}
    async for output in engine.generate(prompt, drawn, f"agents-{uuid.uuid4()}"):
        check_read(output.prompt_token_ids, group["token_ids"])
        for part in output.outputs:
            tokens, log_probs = parts.setdefault(part.index, ([], []))
            tokens += part.token_ids
            log_probs += [] if part.logprobs is None else part.logprobs.logprobs
            if part.finish_reason in ("stop", "length"):
                tell(part.index, tokens, log_probs)
            elif part.finish_reason is not None:
                raise RuntimeError(f"a response was broken off: {part.finish_reason}")


def _prompt(group: dict[str, Any]) -> dict[str, Any]:
    """As vLLM takes it, from what `RemoteSampler` made of pictures."""
    if "images" not in group:
        return {"prompt_token_ids": group["token_ids"]}
    pictures = [
        Image.fromarray(np.frombuffer(base64.b64decode(data), np.uint8).reshape(shape))
        for shape, data in group["images"]
    ]
    return {
        "prompt_token_ids": group["collapsed"],
        "multi_modal_data": {"image": pictures},
        "mm_processor_kwargs": group["pixels"],
    }
