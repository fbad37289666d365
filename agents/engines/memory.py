"""Memory of this process that PyTorch frees on the CPU."""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
LARGEST = 2**27
"""Bytes from which an allocation goes back to the system when it is freed: the gap of one so large
would rarely be filled. Gradients of the embeddings of a model of 135 million weights, 113 MB each
microbatch, are below it."""


def keep_freed_memory() -> None:
    """Has glibc keep freed memory for the next tensor; no-op with another C library.

    By default each large tensor gets new pages, which the system fills with zeros: an eighth of
    the time of a tiny model's update. The price is memory in gaps: 0.7 of 4.1 GiB for 135 million
    weights.
    """
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(libc, "mallopt"):
        libc.mallopt(_MMAP_THRESHOLD, LARGEST)
        libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
