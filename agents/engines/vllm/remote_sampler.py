"""Sampling with a vLLM server on other GPUs or another node, shared by the trainer's ranks.

Start it with `python -m agents.engines.vllm_server`. Weights go from the trainer's memory to the
server's over a group of their own, NCCL between GPUs and gloo otherwise, and never through a disk.
"""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import torch
from torch import Tensor, distributed

from agents.engines.chat import Chat
from agents.engines.sampling import Row, Sampling, collate
from agents.engines.vllm.client import VLLMClient
from agents.engines.vllm.sampling_requests import (
    SamplingRequest,
    check_length,
    sampling_options,
    sampling_requests,
)
from agents.engines.vllm.weight_transfer import WeightTransferGroup, connect, rendezvous
from agents.errors import AgentsError, SamplerError
from agents.rollout import Prompt, Responses

CPU = torch.device("cpu")


class RemoteSampler:
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
        """Connects to the server; call `load_weights` before sampling.

        Args:
            url: Such as http://node7:8000.
            chat: Of the model that the server was started with.
            sampling: Sampling distribution; log-probabilities are those of `sampling.behaviour`.
            max_response_length: Tokens after which a response is truncated.
            log_probs: False for responses without log-probabilities, which are then NaN.
            timeout: Seconds without a response, or for all weights, after which the server counts
                as hung.

        Raises:
            SamplerError: There is no such server.
        """
        self.chat = chat
        self.sampling = sampling
        self.max_response_length = max_response_length
        self.log_probs = log_probs
        self.client = VLLMClient(url, timeout)
        (about,) = (line["about"] for line in self.client.call("about"))
        if about["logprobs_mode"] != "processed_logprobs":
            raise SamplerError(
                f"the server at {url} does not return the log-probabilities of the distribution "
                "that it samples from: start it without --logprobs-mode"
            )
        self.dtype: torch.dtype = getattr(torch, about["dtype"])
        self.max_length = int(about["max_length"])
        self._num_workers = int(about["num_workers"])
        both = about["device"] == "cuda" and torch.cuda.is_available()
        self._device = torch.device("cuda", torch.cuda.current_device()) if both else CPU
        self._group: WeightTransferGroup | None = None
        self._has_weights = False

    def encode(self, observations: Mapping) -> tuple[Prompt, ...]:
        """See `RolloutEngine`."""
        return self.chat.encode(observations)

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """See `RolloutEngine`; every rank iterates over `weights`, and only rank 0 sends them.

        They are sent in the trainer's dtype, and vLLM casts them to its own. All ranks return once
        the server has loaded them, or raise together.

        Raises:
            SamplerError: The server cannot load them.
        """
        self._has_weights, failure, weights = False, "", iter(weights)
        if _rank() == 0:
            try:
                self._send(weights)
            except AgentsError as error:
                failure = str(error)
        for _ in weights:
            # All ranks take part in the all-gather of a sharded weight.
            pass
        failure = _broadcast(failure)
        if failure:
            raise SamplerError(failure)
        self._has_weights = True

    def release(self) -> None:
        """No-op: the server shares no memory with the trainer."""

    def close(self) -> None:
        """Leaves the server, which keeps running and can serve another run."""
        self._group = None

    def generate(
        self,
        prompts: tuple[Prompt, ...],
        seed: tuple[int, ...],
        finished: Callable[[int, str], object] | None = None,
    ) -> Responses:
        """See `RolloutEngine`.

        Raises:
            SamplerError: The server fails, is lost, or has no weights.
            UsageError: A prompt is too long.
        """
        if not self._has_weights:
            raise SamplerError("the server has no weights to sample from: call load_weights first")
        requests = sampling_requests(prompts, seed, self._convert)
        rows = [Row() for _ in prompts]
        # An open connection would keep the server sampling after an error.
        with closing(self.client.call("generate", self._arguments(requests))) as results:
            for result in results:
                for index in self._store(requests[result["group"]], result, rows):
                    if finished is not None:
                        finished(index, rows[index].text)
        return collate(prompts, rows, self.chat.ended, log_probs=self.log_probs)

    def _store(
        self, request: SamplingRequest, result: dict[str, Any], rows: list[Row]
    ) -> Iterable[int]:
        """Stores a response and gives its rows: the whole group when decoding is greedy."""
        tokens, text = result["tokens"], self.chat.decode(result["tokens"])
        if self.sampling.temperature > 0:
            rows[request.first + result["index"]] = Row(tokens, result["log_probs"], text)
            return (request.first + result["index"],)
        group = range(request.first, request.first + request.count)
        for index in group:
            # vLLM returns the model's log-probability; under greedy decoding it is 0.
            rows[index] = Row(tokens, [0.0] * len(tokens), text)
        return group

    def _convert(self, prompt: Prompt) -> dict[str, Any]:
        """A prompt as JSON, with one placeholder per image, which vLLM expands itself."""
        check_length(len(prompt.token_ids), self.max_response_length, self.max_length)
        fields: dict[str, Any] = {"token_ids": prompt.token_ids}
        if prompt.images:
            size = self.chat.image_processor.size
            fields["collapsed"] = self.chat.collapsed(prompt)
            fields["pixels"] = {
                "min_pixels": size["shortest_edge"],
                "max_pixels": size["longest_edge"],
            }
            fields["images"] = [
                [image.shape, base64.b64encode(image.tobytes()).decode()] for image in prompt.images
            ]
        return fields

    def _arguments(self, requests: list[SamplingRequest]) -> dict[str, Any]:
        greedy = self.sampling.temperature == 0
        length, log_probs = self.max_response_length, self.log_probs
        return {
            "groups": [
                request.prompt | {"count": 1 if greedy else request.count, "seed": request.seed}
                for request in requests
            ],
            "params": sampling_options(self.sampling, length, self.chat, log_probs=log_probs),
        }

    def _send(self, weights: Iterator[tuple[str, Tensor]]) -> None:
        """Sends the weights while the server, whose sampling is paused, loads them."""
        if self._group is None:
            self._group = self._join()
        # A group is not used again after an error.
        group, self._group = self._group, None
        with self._concurrent_call("load"):
            group.send(weights)
        self._group = group

    def _join(self) -> WeightTransferGroup:
        """Connects this process and the server's workers."""
        size, address = 1 + self._num_workers, self.client.local_address()
        store = rendezvous(address, 0, size, hosts=True)
        arguments = {
            "address": address,
            "port": store.port,
            "device": self._device.type,
            "banned": self.chat.banned,
            "timeout": self.client.timeout,
        }
        with self._concurrent_call("join", arguments):
            return connect(store, 0, size, self._device, self.client.timeout)

    @contextmanager
    def _concurrent_call(
        self, method: str, arguments: dict[str, Any] | None = None
    ) -> Iterator[None]:
        """Context in which the server runs a method, whose end it awaits."""
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(lambda: list(self.client.call(method, arguments)))
            try:
                yield
            except ConnectionError as error:
                # Raises the server's own error, which says more, if there is one.
                future.result()
                line = self.client.lost(method)
                raise SamplerError(f"{line} ({str(error)[:300]}): see its log") from error
            future.result()


def _rank() -> int:
    return distributed.get_rank() if distributed.is_initialized() else 0


def _broadcast(text: str) -> str:
    """The text of rank 0, on all ranks."""
    if not distributed.is_initialized():
        return text
    texts = [text]
    distributed.broadcast_object_list(texts, 0)
    return texts[0]
