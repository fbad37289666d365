"""Sampling with a vLLM server on other GPUs or another node, shared by the trainer's ranks.

Start it with `python -m agents.engines.vllm_server`. Requests carry token ids and return token ids.
Weights go from the trainer's memory to the server's over a group of their own, NCCL between GPUs
and gloo otherwise, and never through a disk.
"""

import base64
import io
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import torch
from PIL import Image
from torch import Tensor, distributed

from agents.engines import ranks
from agents.engines.chat import Chat
from agents.engines.sampling import Sampling
from agents.engines.vllm.client import VLLMClient
from agents.engines.vllm.requests import RequestSampler, Rollout, SamplingRequest
from agents.engines.vllm.weight_transfer import Group, join, send
from agents.errors import AgentsError, SamplerError
from agents.rollout import Prompt


class RemoteSampler(RequestSampler):
    """A `RolloutEngine` on a vLLM server; all ranks of the trainer share the server.

    Each response has its own seed, so requests of other ranks change its rounding at most.
    """

    def __init__(
        self,
        url: str,
        chat: Chat,
        sampling: Sampling,
        max_response_length: int,
        *,
        log_probs: bool = True,
        timeout: float = 1800.0,
    ) -> None:
        """Connects to the server of the chat's model; call `load_weights` before sampling.

        Log-probabilities are those of `sampling.behaviour`, or NaN. The `timeout` is in seconds
        without a response, or for all weights, after which the server counts as hung.

        Raises:
            SamplerError: There is no such server.
        """
        super().__init__(chat, sampling, max_response_length, log_probs=log_probs)
        self.client = VLLMClient(url, timeout)
        config = self.client.config()
        model, parallel = config["model_config"], config["parallel_config"]
        if model["logprobs_mode"] != "processed_logprobs":
            raise SamplerError(
                f"the server at {url} does not return the log-probabilities of the distribution "
                "that it samples from: start it without --logprobs-mode"
            )
        if (banned := chat.banned) and not model["logits_processors"]:
            raise SamplerError(
                f"this model has {len(banned)} tokens that are never sampled, {banned[0]} first, "
                f"and that of the server at {url} has none: start it with this model"
            )
        self.dtype = getattr(torch, model["dtype"].removeprefix("torch."))
        self.max_length = int(model["max_model_len"])
        self._num_workers = parallel["world_size"] * parallel["data_parallel_size"]
        self._backend = (config["weight_transfer_config"] or {}).get("backend")
        self._group: Group | None = None
        self._has_weights = False
        self._ranks: Any = None
        self._is_closed = False

    def use_own_group(self) -> None:
        """Has the ranks of the trainer agree over a process group that no update uses.

        Weights can then be loaded in another thread, beside an update; every rank calls it.
        """
        if distributed.is_initialized():
            self._ranks = distributed.new_group(backend="gloo")

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Replaces the server's weights: every rank iterates over them, and rank 0 sends them.

        They are sent in the trainer's dtype, and vLLM casts them to its own. All ranks return once
        the server has loaded them, or raise together.

        Raises:
            SamplerError: The server cannot load them.
        """
        self._has_weights, failures, weights = False, [""], iter(weights)
        if ranks()[0] == 0:
            try:
                self._send(weights)
            except AgentsError as error:
                failures = [str(error)]
        for _ in weights:  # all ranks take part in the all-gather of a sharded weight
            pass
        if distributed.is_initialized():
            distributed.broadcast_object_list(failures, 0, group=self._ranks)
        if failures[0]:
            raise SamplerError(failures[0])
        self._has_weights = True

    def release(self) -> None:
        """No-op: the server shares no memory with the trainer."""

    def close(self) -> None:
        """Leaves the server, which keeps running and can serve another run."""
        self._group, self._is_closed = None, True

    def _run(self, rollout: Rollout) -> None:
        bodies = [partial(self._body, r, rollout.prompts[r.first]) for r in rollout.requests]
        # An open connection would keep the server sampling after an error.
        with closing(self.client.generate(bodies)) as pieces:
            for number, piece in pieces:
                if self._is_closed:  # by another thread
                    raise SamplerError("the sampler is closed")
                request = rollout.requests[number]
                if (tokens := piece.get("prompt_token_ids")) is not None:
                    request.check_tokens(tokens)
                for choice in piece["choices"]:
                    reason, log_probs = choice["finish_reason"], None
                    if reason not in (None, "stop", "length"):
                        url = self.client.url
                        line = f"the vLLM server at {url} ended a response early: {reason}"
                        raise SamplerError(line)
                    if choice["logprobs"] is not None:
                        log_probs = [token["logprob"] for token in choice["logprobs"]["content"]]
                    parts = choice["index"], choice["token_ids"], log_probs
                    rollout.extend(request, *parts, is_last=reason is not None)

    def _convert(self, prompt: Prompt) -> dict[str, Any]:
        if not prompt.images:
            return {"token_ids": prompt.token_ids}
        return {"token_ids": self.chat.collapsed(prompt), "return_token_ids": True}

    def _body(self, request: SamplingRequest, prompt: Prompt) -> dict[str, Any]:
        """Body of a request to /inference/v1/generate."""
        options = self._options(request.count, request.seed, request.row_size)
        images = [{"type": "image_url", "url": url} for url in self._urls(prompt)]
        content = {"content_parts": images} if images else {}
        return request.prompt | content | {"sampling_params": options, "stream": True}

    def _urls(self, prompt: Prompt) -> Iterator[str]:
        """Images of a prompt, in the size in which the model sees them, as URLs of PNG files."""
        if prompt.image_grid_thw is None:
            return
        processor = self.chat.image_processor
        side, resample = processor.patch_size, Image.Resampling(processor.resample)
        grids = prompt.image_grid_thw.tolist()
        for image, (_, rows, columns) in zip(prompt.images, grids, strict=True):
            file = io.BytesIO()
            resized = Image.fromarray(image).resize((columns * side, rows * side), resample)
            resized.save(file, "png", compress_level=1)
            yield "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()

    def _send(self, weights: Iterator[tuple[str, Tensor]]) -> None:
        """Sends the weights after the running requests and before the next."""
        if self._group is None:
            self._group = join(self.client, self._backend, self._num_workers)
        # A group is not used again after an error.
        group, self._group = self._group, None
        self.client.post("/pause?mode=wait")
        try:
            send(self.client, group, weights)
        finally:
            self.client.post("/resume")
        self._group = group
