"""What a worker of a vLLM server can do besides sampling: take weights, and leave tokens out.

vLLM mixes `Receiver` into its workers, and `Banned` changes their logits; see
`agents.engines.vllm.server`.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import torch
from torch import Tensor

from agents.engines.vllm.compatibility import ban, end_half_a_load
from agents.engines.vllm.weight_transfer import connect, place


class Banned(ban(())):
    """Leaves out the tokens that the trainer named when it joined."""

    told: ClassVar[tuple[int, ...]] = ()
    known: tuple[int, ...] = ()

    def apply(self, logits: Tensor, *rest: Any) -> Tensor:
        """Logits `[n v]` without the banned tokens; called by vLLM."""
        if self.known is not Banned.told:
            self.known = Banned.told
            self.banned = torch.tensor(self.known, dtype=torch.long, device=logits.device)
        return super().apply(logits, *rest)


class Receiver:
    """Methods of a worker, which vLLM calls by their names on all of them."""

    parallel_config: Any
    device: torch.device
    reload_weights: Callable[..., None]

    def join_trainer(
        self, address: str, port: int, device: str, banned: list[int], patience: float
    ) -> None:
        """Enters the group in which the trainer is 0 and the workers are 1, 2, ...

        Args:
            address: Of the trainer, as seen from here.
            port: Where its store listens.
            device: Kind of memory that weights are received in: "cpu" or "cuda".
            banned: Tokens that are never sampled.
            patience: Seconds to wait for weights.
        """
        ranks = self.parallel_config
        rank = 1 + ranks.data_parallel_index * ranks.world_size + ranks.rank
        size = 1 + ranks.world_size_across_dp
        store = place(address, port, size, hosts=False)
        kind = self.device if device == "cuda" else torch.device("cpu")
        self._trainer = connect(store, rank, size, kind, patience)
        Banned.told = tuple(banned)

    def receive_weights(self) -> None:
        """Replaces the weights by those that the trainer sends, layer by layer."""
        weights = self._trainer.received()
        try:
            self.reload_weights(weights_iterator=weights, is_checkpoint_format=True)
        except BaseException:
            # One worker that refuses them must not leave the others and the trainer waiting.
            with suppress(ConnectionError):
                deque(weights, maxlen=0)
            end_half_a_load(self)
            raise
