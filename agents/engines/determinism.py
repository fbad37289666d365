"""Kernels with the same sums in each run, where the hardware has them.

On a GPU many sums are atomic additions, in another order each time; and vLLM's depend on what else
is in a batch. Both have slower kernels that do not: `torch.use_deterministic_algorithms`, and
vLLM's batch invariance, which replaces operators of PyTorch in the whole process.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from agents.errors import UsageError

TRAINER = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
"""Environment variables, read when cuBLAS starts."""
BESIDE_VLLM = {
    "VLLM_BATCH_INVARIANT": "1",
    # vLLM sets both when it starts, which is too late where the trainer has used cuBLAS before.
    "CUBLAS_WORKSPACE_CONFIG": ":16:8",
    "CUBLASLT_WORKSPACE_SIZE": "1",
}
"""The same where vLLM samples in the trainer's process, on a GPU."""
OFF, WARN = 0, 1
"""Modes of `torch.set_deterministic_debug_mode`; 2, an operation without such a kernel is an error.

Only in the last one are the gradients of attention deterministic: with warnings PyTorch prefers the
faster kernels, and says so.
"""
LEAST_CAPABILITY = (9, 0)
"""Of such a GPU. On older ones vLLM replaces `aten::linear` too, by a kernel without gradient."""


def use_deterministic_kernels(*, vllm: bool) -> None:
    """Sets this process up, before it computes anything on a GPU.

    Args:
        vllm: True if vLLM samples in this process.

    Raises:
        UsageError: The GPU is too old for vLLM's batch invariance beside a trainer.
    """
    beside_vllm = vllm and torch.cuda.is_available()
    os.environ.update(BESIDE_VLLM if beside_vllm else TRAINER)
    torch.use_deterministic_algorithms(True)
    if beside_vllm and (capability := torch.cuda.get_device_capability()) < LEAST_CAPABILITY:
        least, own = ("{}.{}".format(*pair) for pair in (LEAST_CAPABILITY, capability))
        raise UsageError(
            f"--deterministic with vLLM in the trainer's process needs a GPU of compute capability "
            f"{least}, and this one has {own}: use --vllm-server or --sampler transformers"
        )


@contextmanager
def limited_mode(highest: int) -> Iterator[None]:
    """Context in which PyTorch's mode is at most `highest`, `OFF` or `WARN`."""
    mode = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode(min(mode, highest))
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(mode)
