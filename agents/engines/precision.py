"""Number format of a model's computation: float32, or bfloat16 over weights in float32."""

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from agents.errors import ModelError

Precision = Literal["auto", "float32", "bfloat16"]
LEAST_WEIGHTS = 50_000_000
"""Weights from which "auto" is bfloat16 on a CPU: more than the generated models have, 28 million,
and less than the smallest pretrained one whose speed was measured, of 135 million."""
INSTRUCTIONS = ("avx512_bf16", "amx_bf16")
"""Of x86 processors that multiply matrices in bfloat16; others emulate it."""


def computation_dtype(precision: Precision, device: torch.device, num_weights: int) -> torch.dtype:
    """Number format of the matrix products of a model with weights in float32.

    Norms, softmax, gradients of weights and the optimizer stay in float32.

    Args:
        precision: "auto" is bfloat16 on GPUs, and for a model of 50 million weights or more on a
            CPU with instructions for it, else float32.
        device: Of the weights.
        num_weights: Of the model.
    """
    if precision != "auto":
        return torch.bfloat16 if precision == "bfloat16" else torch.float32
    is_fast = multiplies_bfloat16() and num_weights >= LEAST_WEIGHTS
    return torch.bfloat16 if device.type != "cpu" or is_fast else torch.float32


class Float32Linear(nn.Linear):
    """Linear layer that multiplies in float32, whatever the dtype of its weights and its input."""

    def forward(self, input: Tensor) -> Tensor:
        """Float32 `[... out]` of `[... in]`."""
        with torch.autocast(input.device.type, enabled=False):
            bias = None if self.bias is None else self.bias.float()
            return linear(input.float(), self.weight.float(), bias)


def set_float32_head(model: Any) -> None:
    """Has a model compute its logits in float32, without a change of its weights.

    Source: the head of MiniMax-M1 (arXiv:2506.13585).

    Raises:
        ModelError: Its head is no linear layer.
    """
    head = model.get_output_embeddings()
    if type(head) is not nn.Linear:
        raise ModelError(
            f"the head of this model is a {type(head).__name__}, which --float32-head does not "
            "take: leave it out"
        )
    head.__class__ = Float32Linear  # the layer stays, for what shards, ties or adapts it


def multiplies_bfloat16() -> bool:
    """True if this processor has instructions for matrix products in bfloat16."""
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()  # not in every PyTorch
    return any(capabilities.get(name, False) for name in INSTRUCTIONS)


def has_half_weights(precision: Precision, device_type: str) -> bool:
    """True if DeepSpeed keeps the weights in bfloat16, with masters in float32.

    Args:
        precision: "auto" is bfloat16 on GPUs.
        device_type: "cpu" or "cuda".
    """
    return precision == "bfloat16" or (precision == "auto" and device_type == "cuda")
