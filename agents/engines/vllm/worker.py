"""What vLLM's workers load by name: a receiver of weights over gloo, and tokens never sampled.

Importing this module, as `--worker-extension-cls` does on a server, registers the receiver, which
vLLM then finds by its name in `--weight-transfer-config`; see `agents.engines.vllm_server`.
"""

import importlib
import importlib.util
from typing import Any

import torch
from torch import Tensor

from agents.engines.vllm.weights import GLOO, Receiver

transfer = importlib.import_module("vllm.distributed.weight_transfer")


class GlooReceiver(Receiver, transfer.WeightTransferEngine):
    """Back end of vLLM's weight transfer for CPUs; see `Receiver`."""

    supports_draft_weight_update = False


_RUNNERS = ("vllm.v1.sample.logits_processor", "vllm.v1.worker.gpu.sample.logits_processor")
_BASES: tuple[Any, ...] = tuple(
    importlib.import_module(name).LogitsProcessor
    for name in _RUNNERS
    if importlib.util.find_spec(name)
)
"""Interfaces of the processors of both model runners of vLLM."""


class BannedTokens(*_BASES):
    """Logits processor that gives the tokens that the newest request names probability 0.

    One processor serves all requests; a `logit_bias` per request would be rebuilt, token by token,
    whenever a request ends.
    """

    def __init__(self, config: Any, owner: Any, *_: Any) -> None:
        device = getattr(owner, "device", owner)
        self.banned = torch.tensor([], dtype=torch.long, device=device)
        self._vocabulary = config.model_config.get_vocab_size()
        self._current: list[int] = []

    def apply(self, logits: Tensor, *_: Any) -> Tensor:
        """The logits `[n v]`, changed in place."""
        return logits.index_fill_(-1, self.banned, -torch.inf)

    def is_argmax_invariant(self) -> bool:
        """False: greedy decoding needs it too."""
        return False

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Rejects anything but a list of token ids; called by vLLM for each request."""
        banned = _banned(sampling_params)
        if not isinstance(banned, list) or not all(type(token) is int for token in banned):
            raise ValueError(f"banned is {banned!r:.100}: it takes a list of token ids")

    def update_state(self, batch_update: Any) -> None:
        """Takes the tokens of new requests; called by vLLM's first model runner."""
        for _, params, *_ in batch_update.added if batch_update is not None else ():
            self.add_request(0, params)

    def add_request(self, _: int, sampling_params: Any) -> bool:
        """Takes the tokens of a new request; called by vLLM's second model runner."""
        banned = _banned(sampling_params)
        if banned and banned != self._current:
            self._current = banned
            tokens = [token for token in banned if 0 <= token < self._vocabulary]
            self.banned = torch.tensor(tokens, dtype=torch.long, device=self.banned.device)
        return True


def _banned(sampling_params: Any) -> Any:
    return (sampling_params.extra_args or {}).get("banned", [])


class Registration:
    """Extension of vLLM's workers without methods: importing it registers `GlooReceiver`."""


if GLOO not in transfer.WeightTransferEngineFactory._registry:
    transfer.WeightTransferEngineFactory.register_engine(GLOO, GlooReceiver)
