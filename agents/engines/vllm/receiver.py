"""Extension of the workers of a vLLM server: weights from the trainer, and banned tokens.

vLLM mixes `WeightReceiver` into its workers and passes logits through `BannedTokens`; see
`agents.engines.vllm.server`.
"""

import math
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import torch
from torch import Tensor

from agents.engines.pretrained import empty_model, load_config
from agents.engines.vllm.compatibility import banned_tokens_processor, discard_partial_load
from agents.engines.vllm.weight_transfer import checked, connect, rendezvous


class BannedTokens(banned_tokens_processor(())):
    """Logits processor that bans the tokens that the trainer gave when it joined."""

    token_ids: ClassVar[tuple[int, ...]] = ()
    """Of the newest trainer."""
    current: tuple[int, ...] = ()
    """Those that `banned` holds."""

    def apply(self, logits: Tensor, *rest: Any) -> Tensor:
        """Logits `[n v]` without the banned tokens; called by vLLM."""
        if self.current is not BannedTokens.token_ids:
            self.current = BannedTokens.token_ids
            self.banned = torch.tensor(self.current, dtype=torch.long, device=logits.device)
        return super().apply(logits, *rest)


class WeightReceiver:
    """Worker methods that vLLM calls by name on all workers (`collective_rpc`)."""

    parallel_config: Any
    vllm_config: Any
    device: torch.device
    reload_weights: Callable[..., None]

    def join_trainer(
        self, address: str, port: int, device: str, banned: list[int], timeout: float
    ) -> None:
        """Joins the transfer group, in which the trainer is 0 and the workers are 1, 2, ...

        Args:
            address: Of the trainer, as this machine sees it.
            port: Of the trainer's store.
            device: Kind of memory that receives weights: "cpu" or "cuda".
            banned: Tokens that are never sampled.
            timeout: Seconds to wait for weights.

        Raises:
            ValueError: There are banned tokens, and the server was started for a model without.
        """
        if banned and not self.vllm_config.model_config.logits_processors:
            raise ValueError(
                f"the trainer's model has {len(banned)} tokens that are never sampled, {banned[0]} "
                "first, and the server's has none: start it with the trainer's model"
            )
        ranks = self.parallel_config
        rank = 1 + ranks.data_parallel_index * ranks.world_size + ranks.rank
        size = 1 + ranks.world_size_across_dp
        store = rendezvous(address, port, size, hosts=False)
        memory = self.device if device == "cuda" else torch.device("cpu")
        self._shapes = self._trainer_shapes()
        self._trainer = connect(store, rank, size, memory, timeout)
        BannedTokens.token_ids = tuple(banned)

    def receive_weights(self) -> None:
        """Replaces the weights by the trainer's, layer by layer."""
        if not hasattr(self, "_shapes"):
            raise RuntimeError("no trainer has joined")
        largest = max(map(math.prod, self._shapes.values()))
        weights = self._trainer.receive(8 * largest)  # bytes, whatever the dtype
        fitting = checked(weights, self._shapes)
        try:
            self.reload_weights(weights_iterator=fitting, is_checkpoint_format=True)
        except BaseException:
            # The other members wait in a broadcast until this worker has taken part in all of them.
            with suppress(ConnectionError):
                deque(weights, maxlen=0)
            discard_partial_load(self)
            raise

    def _trainer_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the model's weights by their names in transformers, which the trainer uses."""
        model = self.vllm_config.model_config
        trust = model.trust_remote_code
        config = load_config(model.model, trust_remote_code=trust)
        empty = empty_model(model.model, config, trust_remote_code=trust)
        return {name: tuple(weight.shape) for name, weight in empty.state_dict().items()}
