"""Fused kernels from Liger, where it is installed: on GPUs only, their language is Triton."""

from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any


def apply(model: Any) -> bool:
    """Gives a model on a GPU Liger's normalisation, gated layers and rotation of positions.

    Those of its kernels alone that leave a layer's weights and outputs what they are; logits are
    `head.log_prob`'s affair. False, and nothing done, without a GPU, without Liger, or for a kind
    of model that it does not know.
    """
    if model.device.type != "cuda" or find_spec("liger_kernel") is None:
        return False
    known = import_module("liger_kernel.transformers.monkey_patch").MODEL_TYPE_TO_APPLY_LIGER_FN
    patch = known.get(model.config.model_type)
    if patch is None:
        return False
    losses = {"cross_entropy": False, "fused_linear_cross_entropy": False}
    taken = signature(patch).parameters
    patch(model=model, **{name: value for name, value in losses.items() if name in taken})
    return True
