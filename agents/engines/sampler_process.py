"""Sampling in a process of its own, so that it computes beside an update.

A thread would not: the many small operations of a model hold the interpreter's lock.
"""

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import Tensor

from agents.engines.model import Policy
from agents.engines.transformers import TransformersSampler
from agents.errors import SamplerError
from agents.rollout import Prompt, Responses

PATIENCE = 300.0
"""Seconds without an answer of the process after which, each time, a line says so."""
Weights = Mapping[str, Tensor]
"""Tensors by the names of a policy's parameters."""


def trained_weights(policy: Policy) -> dict[str, Tensor]:
    """The weights that an optimizer updates, by name; not copied."""
    parameters = policy.named_parameters()
    return {name: weight.detach() for name, weight in parameters if weight.requires_grad}


class ProcessSampler:
    """A `RolloutEngine` in another process, on a model of its own.

    Weights reach it through shared memory. A process that dies is started again once, and samples
    the same responses anew, which are a function of weights, prompts and seed.
    """

    pid: int
    """Of the process."""

    def __init__(
        self,
        encode: Callable[[Mapping], tuple[Prompt, ...]],
        weights: Weights,
        make: Callable[[], TransformersSampler],
        say: Callable[[str], object] = print,
    ) -> None:
        """Starts the process.

        Args:
            encode: See `RolloutEngine`; done in this process.
            weights: Of `trained_weights`, to begin with.
            make: Makes the sampler of the other process there, of a policy that trains weights of
                the same names and shapes; it can be pickled.
            say: Called with a line when the process is started again.
        """
        self.encode, self._make, self._say = encode, make, say
        size = sum(weight.numel() for weight in weights.values())
        self._shared = torch.empty(size, dtype=torch.float32).share_memory_()
        self._views = _views(self._shared, weights)
        self._has_died = self._is_closed = False
        self.load_weights(weights.items())
        self._start()

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Replaces the weights, by their names in `trained_weights`; none may be under way."""
        for name, weight in weights:
            self._views[name].copy_(weight)

    def generate(
        self,
        prompts: tuple[Prompt, ...],
        seed: tuple[int, ...],
        finished: Callable[[int, str], object] | None = None,
    ) -> Responses:
        """See `RolloutEngine`; `finished` is called for every response at the end.

        Raises:
            SamplerError: The process has died twice, or is closed.
        """
        responses = self._answer(pickle.dumps((prompts, seed)))
        if finished is not None:
            for index, text in enumerate(responses.texts):
                finished(index, text)
        return replace(responses, prompts=prompts)

    def release(self) -> None:
        """No-op: the process keeps its memory."""

    def close(self) -> None:
        """Ends the process, whatever it does."""
        self._is_closed = True
        self._process.kill()
        self._process.join()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        arguments = other, self._make, self._shared, torch.get_num_threads()
        self._process: Any = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        self.pid = self._process.pid
        other.close()  # so that the end of the process ends a wait for it

    def _answer(self, request: bytes) -> Responses:
        """The answer to a request, of a second process where the first one dies."""
        try:
            self._connection.send_bytes(request)
            while not self._connection.poll(PATIENCE):
                self._say(
                    f"no answer of the sampler's process {self.pid} for {PATIENCE:g} s: it is "
                    "slow, or stopped, and training waits for it"
                )
            return pickle.loads(self._connection.recv_bytes())
        except (EOFError, OSError) as error:
            if self._is_closed:
                raise SamplerError("the sampler is closed") from error
            self._process.join()
            status = self._process.exitcode
            death = f"the sampler's process {self.pid} ended (exit status {status})"
            if self._has_died:
                raise SamplerError(f"{death}, as one before: see its message") from error
        self._has_died = True
        self._say(f"{death}: another is started, and the rollout sampled anew")
        self._start()
        return self._answer(request)


def _views(vector: Tensor, weights: Weights) -> dict[str, Tensor]:
    """Parts of a vector in the shapes of the weights."""
    parts = vector.split([weight.numel() for weight in weights.values()])
    pairs = zip(weights.items(), parts, strict=True)
    return {name: part.view(weight.shape) for (name, weight), part in pairs}


def _serve(
    connection: Connection,
    make: Callable[[], TransformersSampler],
    shared: Tensor,
    num_threads: int,
) -> None:
    """The process: answers requests for responses until the trainer's process ends it."""
    # They reach all processes of a terminal or a job, and the trainer completes its step.
    for name in {"SIGINT", "SIGTERM", "SIGHUP"} & vars(signal).keys():
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(num_threads)
    sampler = make()
    own = trained_weights(sampler.policy)
    views = _views(shared, own)
    while True:
        prompts, seed = pickle.loads(connection.recv_bytes())
        for name, weight in own.items():
            weight.copy_(views[name])
        responses = sampler.generate(prompts, seed)
        connection.send_bytes(pickle.dumps(replace(responses, prompts=())))


def _end_with_parent() -> None:
    """Ends this process when the one that started it has ended, though it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
