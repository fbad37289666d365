"""State that a training engine keeps between steps, as the allocator of a GPU would count it."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from agents.engines.model import Policy
from helpers import tiny_engines

KEPT = ("weights", "masters", "moments", "kept gradients", "kept buckets")
"""Parts of `state_bytes` that stay on a rank between steps."""


def kept_bytes(
    kind: str, folder: Path, config: dict, prepare: Callable[[Policy], object] = lambda _: None
) -> tuple[int, int, int]:
    """Bytes on this rank after two steps, and the numbers of weights and of trained ones."""
    tiny_engines.pristine(folder)  # which stays
    before = _storages()
    engine = tiny_engines.build(kind, folder, config=config, prepare=prepare)
    for _ in range(2):
        tiny_engines.ascend(engine, tiny_engines.responses_of(engine))
    held = sum(s.nbytes() for address, s in _storages().items() if address not in before)
    parts = [
        (getattr(w, "ds_numel", w.numel()), w.requires_grad) for w in engine.policy.parameters()
    ]
    return held, sum(n for n, _ in parts), sum(n for n, trained in parts if trained)


def waiting_bytes(kind: str, folder: Path, config: dict) -> tuple[int, int, int]:
    """Bytes that a backward pass leaves to the step, and of an offloaded optimizer's buffer.

    Returns:
        Both, and the number of weights, all of which are trained.
    """
    engine = tiny_engines.build(kind, folder, config=config)
    responses = tiny_engines.responses_of(engine)
    tiny_engines.ascend(engine, responses)
    before = _storages()
    engine.backward(engine.forward(responses)[0].sum() / 10)
    waiting = sum(s.nbytes() for address, s in _storages().items() if address not in before)
    buffer = getattr(engine.engine.optimizer, "temp_grad_buffer_for_gpu_offload", torch.empty(0))
    weights = engine.policy.parameters()
    return waiting, buffer.nbytes, sum(getattr(w, "ds_numel", w.numel()) for w in weights)


def _storages() -> dict[int, Any]:
    """Storage of each tensor that Python refers to, by its address, which it keeps."""
    gc.collect()
    tensors = [item for item in gc.get_objects() if isinstance(item, torch.Tensor)]
    gradients = [tensor.grad for tensor in tensors if tensor.is_leaf and tensor.grad is not None]
    storages = [tensor.untyped_storage() for tensor in tensors + gradients if not tensor.is_meta]
    return {storage.data_ptr(): storage for storage in storages}
