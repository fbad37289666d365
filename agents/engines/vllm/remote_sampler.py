"""Sampling with a vLLM server on other GPUs or another node, which the trainer's ranks share.

Start it with `python -m agents.engines.vllm_server`. Weights go from the trainer's memory into the
server's over a group of their own, NCCL between GPUs and gloo else, and never through a disk.
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
from agents.engines.vllm.client import Server
from agents.engines.vllm.sampling_requests import Group, check_length, groups, sampling_options
from agents.engines.vllm.weight_transfer import Link, connect, place
from agents.errors import AgentsError, SamplerError
from agents.rollout import Prompt, Responses

CPU = torch.device("cpu")


class RemoteSampler:
    """A `RolloutEngine` on a vLLM server; each rank of the trainer has one for the same server.

    Each response is drawn from a seed of its own, so what other ranks sample beside it changes
    rounding at most.
    """

    def __init__(
        self,
        url: str,
        chat: Chat,
        sampling: Sampling,
        max_response_length: int,
        *,
        log_probs: bool = True,
        patience: float = 1800.0,
    ) -> None:
        """Asks the server what it is; `load_weights` must follow.

        Args:
            url: Such as http://node7:8000.
            chat: Of the model that the server was started with.
            sampling: How to draw; log-probabilities are those of `sampling.behaviour`.
            max_response_length: Tokens after which a response is cut.
            log_probs: Whether responses come with log-probabilities; without, they are NaN.
            patience: Seconds without a response, or for all weights, after which the server counts
                as hung.

        Raises:
            SamplerError: In one line, when there is no such server.
        """
        self.chat = chat
        self.sampling = sampling
        self.max_response_length = max_response_length
        self.log_probs = log_probs
        self.server = Server(url, patience)
        (told,) = (line["about"] for line in self.server.ask("about"))
        if told["logprobs_mode"] != "processed_logprobs":
            raise SamplerError(
                f"the server at {url} draws from another distribution than it tells log-"
                "probabilities of: start it without --logprobs-mode"
            )
        self.dtype: torch.dtype = getattr(torch, told["dtype"])
        self.max_length = int(told["max_length"])
        self._num_workers = int(told["num_workers"])
        both = told["device"] == "cuda" and torch.cuda.is_available()
        self._device = torch.device("cuda", torch.cuda.current_device()) if both else CPU
        self._link: Link | None = None
        self._empty = True

    def encode(self, observations: Mapping) -> tuple[Prompt, ...]:
        """See `RolloutEngine`."""
        return self.chat.encode(observations)

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """See `RolloutEngine`; every rank goes through `weights`, and rank 0 alone sends them.

        They travel in the trainer's dtype, and vLLM rounds them to its own. All ranks return when
        the server samples from them, or raise together.

        Raises:
            SamplerError: In one line, when the server cannot take them.
        """
        self._empty, fault, weights = True, "", iter(weights)
        if _rank() == 0:
            try:
                self._hand_over(weights)
            except AgentsError as error:
                fault = str(error)
        for _ in weights:
            # A shared out weight is gathered by all ranks together.
            pass
        fault = _told_by_first(fault)
        if fault:
            raise SamplerError(fault)
        self._empty = False

    def release(self) -> None:
        """Nothing to do: the server's memory is its own."""

    def close(self) -> None:
        """Leaves the server, which goes on and can serve another run."""
        self._link = None

    def generate(
        self,
        prompts: tuple[Prompt, ...],
        seed: tuple[int, ...],
        finished: Callable[[int, str], object] | None = None,
    ) -> Responses:
        """See `RolloutEngine`.

        Raises:
            SamplerError: In one line, when a prompt is too long, the server reads it otherwise than
                `encode` did, fails or is gone, or has no weights.
        """
        if self._empty:
            raise SamplerError("the server has no weights to sample from: call load_weights first")
        asked = groups(prompts, seed, self._form)
        rows = [Row() for _ in prompts]
        # Closed, or the server would go on for nobody after an error.
        with closing(self.server.ask("generate", self._words(asked))) as answers:
            for told in answers:
                for index in self._take(asked[told["group"]], told, rows):
                    if finished is not None:
                        finished(index, rows[index].text)
        return collate(prompts, rows, self.chat.eos, log_probs=self.log_probs)

    def _take(self, group: Group, told: dict[str, Any], rows: list[Row]) -> Iterable[int]:
        """The rows of a response; the likeliest is that of its whole group."""
        tokens, text = told["tokens"], self.chat.decode(told["tokens"])
        if self.sampling.temperature > 0:
            rows[group.first + told["index"]] = Row(tokens, told["log_probs"], text)
            return (group.first + told["index"],)
        of_group = range(group.first, group.first + group.count)
        for index in of_group:
            # Of the likeliest token, the one that can be drawn, vLLM tells the model's.
            rows[index] = Row(tokens, [0.0] * len(tokens), text)
        return of_group

    def _form(self, prompt: Prompt) -> dict[str, Any]:
        """A prompt on its way: a picture has one place, which vLLM widens itself."""
        check_length(len(prompt.token_ids), self.max_response_length, self.max_length)
        told: dict[str, Any] = {"token_ids": prompt.token_ids}
        if prompt.images:
            size = self.chat.image_processor.size
            told["collapsed"] = self.chat.collapsed(prompt)
            told["pixels"] = {
                "min_pixels": size["shortest_edge"],
                "max_pixels": size["longest_edge"],
            }
            told["images"] = [
                [picture.shape, base64.b64encode(picture.tobytes()).decode()]
                for picture in prompt.images
            ]
        return told

    def _words(self, asked: list[Group]) -> dict[str, Any]:
        greedy = self.sampling.temperature == 0
        length, ends = self.max_response_length, self.chat.eos
        return {
            "groups": [
                group.prompt | {"count": 1 if greedy else group.count, "seed": group.seed}
                for group in asked
            ],
            "params": sampling_options(self.sampling, length, ends, log_probs=self.log_probs),
        }

    def _hand_over(self, weights: Iterator[tuple[str, Tensor]]) -> None:
        """Sends the weights while the server, which holds back new requests, takes them."""
        if self._link is None:
            self._link = self._join()
        link, self._link = self._link, None
        with self._asked("load"):
            link.send(weights)
        self._link = link

    def _join(self) -> Link:
        """Makes the group of this process and the server's workers."""
        size, address = 1 + self._num_workers, self.server.seen_from_there()
        store = place(address, 0, size, hosts=True)
        told = {
            "address": address,
            "port": store.port,
            "device": self._device.type,
            "banned": self.chat.banned,
            "patience": self.server.patience,
        }
        with self._asked("join", told):
            return connect(store, 0, size, self._device, self.server.patience)

    @contextmanager
    def _asked(self, what: str, told: dict[str, Any] | None = None) -> Iterator[None]:
        """Does what stands within while the server does its part."""
        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(lambda: list(self.server.ask(what, told)))
            try:
                yield
            except ConnectionError as error:
                # The server's own word says more.
                asking.result()
                line = self.server.lost(f"was asked to {what}")
                raise SamplerError(f"{line} ({str(error)[:300]}): see its log") from error
            asking.result()


def _rank() -> int:
    return distributed.get_rank() if distributed.is_initialized() else 0


def _told_by_first(word: str) -> str:
    """What rank 0 says, on all ranks."""
    if not distributed.is_initialized():
        return word
    words = [word]
    distributed.broadcast_object_list(words, 0)
    return words[0]
