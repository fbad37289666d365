"""Loaded by the workers of a vLLM server: weights over gloo, and tokens that are never sampled.

vLLM finds `GlooReceiver` by its name in `--weight-transfer-config`, which importing this module as
`--worker-extension-cls` registers; see `agents.engines.vllm.server`.
"""

import importlib
import math
from dataclasses import dataclass
from typing import Any

import torch

from agents.engines.checkpoint_names import checkpoint_weights
from agents.engines.pretrained import empty_model, load_config
from agents.engines.vllm.compatibility import (
    banned_tokens_processor,
    discard_layers,
    layerwise_reload,
    repack_experts,
)
from agents.engines.vllm.weight_transfer import GLOO, connect, rendezvous, take_layout

transfer = importlib.import_module("vllm.distributed.weight_transfer")
base = importlib.import_module("vllm.distributed.weight_transfer.base")


@dataclass
class GlooInit(base.WeightTransferInitInfo):
    """Rendezvous of a transfer group, in which the trainer is 0 and the workers are 1, 2, ..."""

    address: str
    """Of the trainer, as this machine sees it."""
    port: int
    """Of the trainer's store."""
    timeout: float
    """Seconds to wait for weights."""


@dataclass
class GlooUpdate(base.WeightTransferUpdateInfo):
    """Announcement of a bucket, in the form of vLLM's NCCL back end."""

    names: list[str]
    dtype_names: list[str]
    """All the same."""
    shapes: list[list[int]]


class GlooReceiver(base.WeightTransferEngine):
    """Back end of vLLM's weight transfer for machines without NCCL between trainer and server.

    An update brings all weights of the model or is discarded: the old ones then stay.
    """

    init_info_cls = GlooInit
    update_info_cls = GlooUpdate
    supports_draft_weight_update = False
    _group: Any = None

    def init_transfer_engine(self, init_info: GlooInit) -> None:
        """Joins the transfer group of a trainer; called by vLLM, as are the other methods."""
        ranks = self.parallel_config
        rank = 1 + ranks.data_parallel_index * ranks.world_size + ranks.rank
        size = 1 + ranks.world_size_across_dp
        self._layouts = _layouts(self.model_config)
        repack_experts(self.model)
        store = rendezvous(init_info.address, init_info.port, size, hosts=False)
        self._group = connect(store, rank, size, init_info.timeout)

    def start_weight_update(self) -> None:
        """Prepares the layers to be loaded one after the other."""
        if self._group is None:
            raise RuntimeError("no trainer has joined")
        self._missing = dict(self._layouts[0])
        layerwise_reload().initialize_layerwise_reload(self.model)

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """Receives a bucket; vLLM's own method would synchronize a GPU, which may be missing."""
        try:
            self.receive_weights(self.parse_update_info(update_info))
        except BaseException:
            self.shutdown()
            self._discard()
            raise

    def receive_weights(self, update_info: GlooUpdate) -> None:
        """Receives a bucket and loads it into the layout of the kernels.

        Raises:
            ValueError: A weight is not one of this model's or has another shape, or, at the empty
                bucket that comes last, one is missing.
        """
        names, shapes = update_info.names, update_info.shapes
        if not names and self._missing:
            raise ValueError(
                f"{len(self._missing)} weights are missing, {min(self._missing)} first"
            )
        if not names:
            return
        if self._missing == self._layouts[0] and names[0] not in self._missing:
            self._missing = dict(self._layouts[1])
        dtype = take_layout(names, update_info.dtype_names, shapes, self._missing)
        sizes = [math.prod(shape) for shape in shapes]
        flat = torch.empty(sum(sizes), dtype=dtype)
        self._group.broadcast(flat)
        parts = zip(names, shapes, flat.split(sizes), strict=True)
        self.model.load_weights((name, part.view(shape)) for name, shape, part in parts)

    def finish_weight_update(self) -> None:
        """Loads what is left for the end, or drops an update that the trainer has broken off."""
        if self._missing:
            self._discard()
        else:
            layerwise_reload().finalize_layerwise_reload(self.model, self.model_config)

    def shutdown(self) -> None:
        """Leaves the group; a trainer that still sends then gets an error."""
        self._group = None

    def _discard(self) -> None:
        """Drops what has arrived of an update: the old weights stay."""
        self._missing = {}
        discard_layers(self.model, self.model_config)


def _layouts(model: Any) -> list[dict[str, tuple[int, ...]]]:
    """Shapes of the model's weights by the names of its family's checkpoints.

    Those of the trainer's may also be transformers' own: both are given.
    """
    trust = model.trust_remote_code
    config = load_config(model.model, trust_remote_code=trust)
    empty: Any = empty_model(model.model, config, trust_remote_code=trust)
    layouts = []
    for conversions in (None, []):  # those of the family, and none
        empty._weight_conversions = conversions
        weights = checkpoint_weights(empty, empty.state_dict().items())
        layouts.append({name: tuple(weight.shape) for name, weight in weights})
    return layouts


class BannedTokens(banned_tokens_processor(())):
    """Logits processor that bans the tokens that the newest request of a trainer names."""

    def __init__(self, config: Any, *rest: Any) -> None:
        super().__init__(config, *rest)
        self._vocabulary = config.model_config.get_vocab_size()
        self._current: list[int] = []

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
