"""Group of a trainer and the workers of a vLLM server that broadcasts weights, on CPUs with gloo.

The group is independent of the trainer's own process group. Names and shapes do not travel over it:
vLLM announces each bucket to its workers before the weights of it arrive.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed

GLOO = "agents-gloo"
"""Name under which vLLM knows `agents.engines.vllm.receiver.GlooReceiver`."""
BUCKET = 2**28
"""Bytes per broadcast: large enough that the latency of its announcement does not matter."""
RENDEZVOUS_TIMEOUT = 120.0
"""Seconds in which the members must find each other."""


class GlooGroup:
    """One member's end of a broadcast group on CPUs; member 0 sends."""

    def __init__(self, group: Any, timeout: float) -> None:
        """Wraps a connected process group of gloo.

        Args:
            group: Of gloo.
            timeout: Seconds that one member waits for the others.
        """
        self._group, self._timeout = group, timedelta(seconds=timeout)

    def start(self, weights: list[Tensor]) -> Callable[[], object]:
        """Starts to send weights of one dtype; the result waits until they have been received."""
        flat = torch.cat([weight.cpu().flatten() for weight in weights])
        return self._start(flat).wait

    def broadcast(self, tensor: Tensor) -> None:
        """Takes part in the broadcast of a tensor on the CPU.

        Raises:
            ConnectionError: Another member is gone.
        """
        with _connection_errors():
            self._start(tensor).wait()

    def _start(self, tensor: Tensor) -> Any:
        options = distributed.BroadcastOptions()
        options.timeout = self._timeout
        return self._group.broadcast([tensor], options)


def rendezvous(address: str, port: int, num_members: int, *, hosts: bool) -> Any:
    """TCP store through which the members of a group find each other.

    Each waits `RENDEZVOUS_TIMEOUT` seconds for the others.

    Args:
        address: Of the hosting member, as the others see it.
        port: On which it listens; 0 for any free one, see `.port` of the store.
        num_members: Size of the group.
        hosts: True on the member that hosts the store.

    Raises:
        ConnectionError: The store cannot be reached.
    """
    timeout = timedelta(seconds=RENDEZVOUS_TIMEOUT)
    # A public name of torch that its stubs do not export.
    kind = distributed.TCPStore  # pyright: ignore[reportPrivateImportUsage]
    with _connection_errors():
        return kind(address, port, num_members, hosts, timeout, wait_for_workers=False)


def connect(store: Any, rank: int, size: int, timeout: float) -> GlooGroup:
    """Joins a new group, and returns once all members have.

    Args:
        store: From `rendezvous`.
        rank: Of this member; the trainer is 0.
        size: Number of members.
        timeout: Seconds that a member waits for the others in later broadcasts.

    Raises:
        ConnectionError: A member is missing.
    """
    with _connection_errors():
        process_group = distributed.ProcessGroupGloo(store, rank, size, store.timeout)
    group = GlooGroup(process_group, timeout)
    group.broadcast(torch.zeros(1))
    return group


@contextmanager
def _connection_errors() -> Iterator[None]:
    """Turns torch's RuntimeError about a missing member into a ConnectionError of one line."""
    try:
        yield
    except RuntimeError as error:
        raise ConnectionError(" ".join(str(error).split())) from error


def buckets(weights: Iterable[tuple[str, Tensor]]) -> Iterator[list[tuple[str, Tensor]]]:
    """Consecutive weights of one dtype, about `BUCKET` bytes together."""
    bucket: list[tuple[str, Tensor]] = []
    size = 0
    for name, weight in weights:
        num_bytes = weight.numel() * weight.element_size()
        if bucket and (size + num_bytes > BUCKET or weight.dtype != bucket[0][1].dtype):
            yield bucket
            bucket, size = [], 0
        bucket.append((name, weight.detach()))
        size += num_bytes
    if bucket:
        yield bucket


def take_layout(
    names: Sequence[Any],
    dtype_names: Sequence[Any],
    shapes: Sequence[Sequence[Any]],
    missing: dict[str, tuple[int, ...]],
) -> torch.dtype:
    """Dtype of a bucket, whose weights are taken out of the missing ones.

    Args:
        names: Of the weights, in the trainer's checkpoint.
        dtype_names: Of the weights, all the same.
        shapes: Of the weights.
        missing: Shapes of the weights that are still to come.

    Raises:
        ValueError: A name, a shape or the dtype does not fit.
    """
    for name, shape in zip(names, shapes, strict=True):
        if name not in missing:
            raise ValueError(f"{name!r:.100} is no weight of this model, or comes twice")
        expected, given = missing.pop(name), tuple(shape)
        if given != expected:
            raise ValueError(f"{name} has the shape {given!s:.100} and takes {expected} here")
    kinds = sorted(set(dtype_names))
    dtype = getattr(torch, kinds[0], None) if len(kinds) == 1 else None
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(f"{kinds!s:.100} is no dtype of weights")
    return dtype
