"""Weight transfer from the trainer to the workers of a vLLM server, over a group of their own.

Weights are broadcast in buckets, each after a header with its dtype, names and shapes, so no side
needs the complete list and at most one bucket is in flight. The group is NCCL between GPUs and
gloo otherwise, and independent of the trainer's own process group.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed

BUCKET = 2**28
"""Bytes per broadcast: large enough that the header's latency does not matter."""
RENDEZVOUS_TIMEOUT = 120.0
"""Seconds in which the members must find each other."""
ABORT = -1
"""Header length that announces the end of an incomplete transfer."""
MAX_HEADER = 2**26
"""Bytes of the names and shapes of a bucket."""


class WeightTransferGroup:
    """One member's end of a broadcast group; member 0 sends."""

    def __init__(self, group: Any, device: torch.device, timeout: float) -> None:
        """Wraps a connected process group.

        Args:
            group: Of gloo or NCCL.
            device: Of the tensors that the group broadcasts.
            timeout: Seconds that one member waits for the others.
        """
        self.group, self.device, self.timeout = group, device, timedelta(seconds=timeout)

    def send(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Sends weights, each in its own dtype, to all other members.

        Args:
            weights: Names and tensors; one bucket of them is held at a time.

        Raises:
            ConnectionError: Another member is gone. Errors of `weights` pass through.
        """
        buckets = _buckets(weights)
        while bucket := self._next(buckets):
            dtype = str(bucket[0][1].dtype).removeprefix("torch.")
            self._send_header([dtype, [[name, list(part.shape)] for name, part in bucket]])
            self._broadcast(torch.cat([part.to(self.device).flatten() for _, part in bucket]))
        self._send_header([])

    def receive(self, max_bytes: int = BUCKET) -> Iterator[tuple[str, Tensor]]:
        """Names and tensors of the weights that member 0 sends.

        Args:
            max_bytes: Of the largest weight; nothing larger than it and a bucket is allocated.

        Raises:
            ConnectionError: The sender is gone, has aborted the transfer, or announces too much.
        """
        while header := self._receive_header():
            dtype, shapes = _layout(header, max(max_bytes, BUCKET))
            sizes = [math.prod(shape) for _, shape in shapes]
            flat = torch.empty(sum(sizes), dtype=dtype, device=self.device)
            self._broadcast(flat)
            for (name, shape), part in zip(shapes, flat.split(sizes), strict=True):
                yield name, part.view(shape)

    def warm_up(self) -> None:
        """Connects to the other members; NCCL connects at its first collective only."""
        self._broadcast(torch.zeros(1, dtype=torch.int64, device=self.device))

    def _next(self, buckets: Iterator[list[Any]]) -> list[Any]:
        """The next bucket, empty at the end; an error tells the receivers to abort."""
        try:
            return next(buckets, [])
        except BaseException:
            self._broadcast(torch.tensor([ABORT], device=self.device))
            raise

    def _send_header(self, header: list[Any]) -> None:
        data = torch.frombuffer(bytearray(json.dumps(header), "utf-8"), dtype=torch.uint8)
        self._broadcast(torch.tensor([len(data)], device=self.device))
        self._broadcast(data.to(self.device))

    def _receive_header(self) -> list[Any]:
        length = torch.zeros(1, dtype=torch.int64, device=self.device)
        self._broadcast(length)
        if length.item() == ABORT:
            raise ConnectionError("the trainer aborted the transfer before all weights were sent")
        if not 0 < length.item() <= MAX_HEADER:
            raise ConnectionError(f"the trainer announces a header of {int(length.item())} bytes")
        data = torch.empty(int(length.item()), dtype=torch.uint8, device=self.device)
        self._broadcast(data)
        return json.loads(bytes(data.tolist()))

    def _broadcast(self, tensor: Tensor) -> None:
        options = distributed.BroadcastOptions()
        options.timeout = self.timeout
        with _connection_errors():
            self.group.broadcast([tensor], options).wait()


def _layout(header: Any, max_bytes: int) -> tuple[torch.dtype, list[tuple[str, list[int]]]]:
    """Dtype, names and shapes in a header, if a bucket of them may be allocated."""
    try:
        name, shapes = header
        dtype = getattr(torch, name)
        sizes = [math.prod(shape) for _, shape in shapes]
        is_small = sum(sizes) * dtype.itemsize <= max_bytes and min(sizes) >= 0
        if is_small and isinstance(dtype, torch.dtype):
            return dtype, [(str(name), list(shape)) for name, shape in shapes]
    except (AttributeError, TypeError, ValueError):
        pass
    raise ConnectionError(f"the trainer announces {str(header)[:100]}, which fits no model")


def checked(
    weights: Iterable[tuple[str, Tensor]], shapes: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[str, Tensor]]:
    """The weights, each checked by its name and shape, and their number at the end.

    Raises:
        ValueError: A name, a shape or a number does not fit.
    """
    missing = dict(shapes)
    for name, weight in weights:
        if name not in missing:
            raise ValueError(f"{name!r:.100} is no weight of this model, or comes twice")
        expected, shape = missing.pop(name), tuple(weight.shape)
        if shape != expected:
            raise ValueError(f"{name} has the shape {shape} and takes {expected} in this model")
        yield name, weight
    if missing:
        raise ValueError(f"{len(missing)} weights are missing, {min(missing)} first")


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


def connect(
    store: Any, rank: int, size: int, device: torch.device, timeout: float
) -> WeightTransferGroup:
    """Joins a new group, and returns once all members have.

    Args:
        store: From `rendezvous`.
        rank: Of this member; the trainer is 0.
        size: Number of members.
        device: Of the tensors in transfer: NCCL between GPUs, else gloo.
        timeout: Seconds that a member waits for the others in later broadcasts.

    Raises:
        ConnectionError: A member is missing.
    """
    with _connection_errors():
        if device.type == "cuda":
            options = distributed.ProcessGroupNCCL.Options()
            options._timeout = timedelta(seconds=timeout)
            process_group: Any = distributed.ProcessGroupNCCL(store, rank, size, options)
        else:
            process_group = distributed.ProcessGroupGloo(store, rank, size, store.timeout)
    group = WeightTransferGroup(process_group, device, timeout)
    group.warm_up()
    return group


@contextmanager
def _connection_errors() -> Iterator[None]:
    """Turns torch's RuntimeError about a missing member into a ConnectionError of one line."""
    try:
        yield
    except RuntimeError as error:
        raise ConnectionError(" ".join(str(error).split())) from error


def _buckets(weights: Iterable[tuple[str, Tensor]]) -> Iterator[list[tuple[str, Tensor]]]:
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
