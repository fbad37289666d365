"""Number format of a model's computation: float32, or bfloat16 over weights in float32."""

from typing import Literal

import torch

Choice = Literal["auto", "float32", "bfloat16"]
LEAST_WEIGHTS = 50_000_000
"""Weights from which bfloat16 is worth its casts; the time of smaller models is in small steps."""
INSTRUCTIONS = ("avx512_bf16", "amx_bf16")
"""Of x86 processors that multiply matrices in bfloat16; others emulate it, and are slower."""


def computation_dtype(choice: Choice, device: torch.device, num_weights: int) -> torch.dtype:
    """Number format of the matrix products of a model with weights in float32.

    On a processor with instructions for it, bfloat16 takes a third of float32's time. Sums, norms,
    softmax, gradients and the optimizer stay in float32.

    Args:
        choice: Of the user; "auto" is bfloat16 for a model of 50 million weights or more on such a
            processor, else float32.
        device: Of the weights.
        num_weights: Of the model.
    """
    if choice != "auto":
        return torch.bfloat16 if choice == "bfloat16" else torch.float32
    is_fast = device.type == "cpu" and has_instructions() and num_weights >= LEAST_WEIGHTS
    return torch.bfloat16 if is_fast else torch.float32


def has_instructions() -> bool:
    """True if this processor multiplies matrices in bfloat16."""
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()  # from PyTorch 2.11 on
    return any(capabilities.get(name, False) for name in INSTRUCTIONS)


def half_weights(choice: Choice, device_type: str) -> bool:
    """True if DeepSpeed keeps the weights in bfloat16, with masters in float32: default on GPUs."""
    return choice == "bfloat16" or (choice == "auto" and device_type == "cuda")
