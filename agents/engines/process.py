"""How this process computes: number format, threads, memory on the CPU, deterministic kernels."""

import ctypes
import hashlib
import math
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Literal

import torch

from agents.errors import UsageError

Precision = Literal["auto", "float32", "bfloat16"]
LEAST_WEIGHTS = 50_000_000
"""Weights from which "auto" is bfloat16 on a CPU: more than the generated models have, 28 million,
and less than the smallest pretrained one whose speed was measured, of 135 million."""
_TOLERANCE = 0.25
"""Part of a core that other processes may take."""
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
"""Modes of `torch.set_deterministic_debug_mode`; in 2, the mode of errors, the gradients of
attention are deterministic too, since PyTorch does not prefer faster kernels."""
_LEAST_CAPABILITY = (9, 0)
"""Of such a GPU. On older ones vLLM replaces `aten::linear` too, by a kernel without gradient."""


def computation_dtype(precision: Precision, device: torch.device, num_weights: int) -> torch.dtype:
    """Number format of the matrix products of a model with weights in float32.

    Norms, softmax, gradients of weights and the optimizer stay in float32. "auto" is bfloat16 on
    GPUs, and for a model of 50 million weights or more on a CPU with instructions for it.
    """
    if precision != "auto":
        return torch.bfloat16 if precision == "bfloat16" else torch.float32
    # Not in every PyTorch; other processors emulate bfloat16.
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()
    is_fast = any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16"))
    is_half = device.type != "cpu" or (is_fast and num_weights >= LEAST_WEIGHTS)
    return torch.bfloat16 if is_half else torch.float32


def has_half_weights(precision: Precision, device_type: str) -> bool:
    """True if DeepSpeed keeps the weights in bfloat16, with masters in float32: "auto" on GPUs."""
    return precision == "bfloat16" or (precision == "auto" and device_type == "cuda")


def _free_cores(count: int) -> float:
    """CPU time by wall-clock time of `count` busy threads, in a container's quota too."""

    def share(_: int) -> float:
        block = bytes(2**18)
        start, cpu_start = time.perf_counter(), time.thread_time()
        while (elapsed := time.perf_counter() - start) < 0.1:
            hashlib.sha256(block)  # releases the interpreter's lock
        return (time.thread_time() - cpu_start) / elapsed

    with ThreadPoolExecutor(count) as pool:
        return sum(pool.map(share, range(count)))


def keep_freed_memory() -> None:
    """Has glibc keep freed memory for the next tensor; no-op with another C library.

    By default each large tensor gets new pages, which the system fills with zeros. The price is
    memory in gaps: 0.7 of 4.1 GiB for 135 million weights.
    """
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(libc, "mallopt"):
        # An allocation of 128 MiB or more goes back to the system: its gap would rarely be filled.
        trim_threshold, mmap_threshold = -1, -3  # of malloc.h
        libc.mallopt(mmap_threshold, 2**27)
        libc.mallopt(trim_threshold, 2**31 - 1)


def share_threads(num_processes: int) -> None:
    """Leaves this process its part of the threads, beside others that compute at the same time.

    No-op where OMP_NUM_THREADS is set, which is of each, and on a machine with GPUs.
    """
    if "OMP_NUM_THREADS" not in os.environ and not torch.cuda.is_available():
        torch.set_num_threads(max(1, torch.get_num_threads() // num_processes))


def set_threads(previous: int | None = None) -> str:
    """Sets the number of threads of this process: free cores, or those of the run it continues.

    Threads meet after each small operation: beside a process that takes a core, one thread is
    faster than two. Sums on another number differ by rounding, so it is set once, at the start. A
    number in OMP_NUM_THREADS stands, and so does PyTorch's own on a machine with GPUs.

    `previous` is that of the run that is resumed. Returns a message for the user, "" for none.
    """
    count = torch.get_num_threads()
    if "OMP_NUM_THREADS" in os.environ or torch.cuda.is_available():
        return _difference(count, previous or count)
    if previous:
        torch.set_num_threads(min(count, previous))
        return _difference(min(count, previous), previous)
    free = 0.0
    for _ in range(3):  # a short load is no reason
        free = max(free, _free_cores(count))
        if free > count - _TOLERANCE:
            return ""
    threads = max(1, math.floor(free + _TOLERANCE))
    torch.set_num_threads(threads)
    return (
        f"other processes leave {free:.1f} of {count} cores: computing with {threads} (other "
        "numbers of threads give numbers that differ by rounding; set OMP_NUM_THREADS to choose)"
    )


def _difference(threads: int, previous: int) -> str:
    if threads == previous:
        return ""
    return (
        f"threads: {threads}, not {previous} as before the interruption, so numbers differ by "
        f"rounding from those of an unbroken run; OMP_NUM_THREADS={previous} continues it exactly"
    )


def use_deterministic_kernels(*, vllm: bool) -> None:
    """Sets this process up, where vLLM may sample, before it computes anything on a GPU.

    Many sums there are atomic additions, in another order each time, and vLLM's depend on what
    else is in a batch. vLLM's batch invariance replaces PyTorch's operators in the whole process;
    UsageError if the GPU is too old for that beside a trainer.
    """
    beside_vllm = vllm and torch.cuda.is_available()
    os.environ.update(BESIDE_VLLM if beside_vllm else TRAINER)
    torch.use_deterministic_algorithms(True)
    if beside_vllm and (capability := torch.cuda.get_device_capability()) < _LEAST_CAPABILITY:
        least, own = ("{}.{}".format(*pair) for pair in (_LEAST_CAPABILITY, capability))
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
