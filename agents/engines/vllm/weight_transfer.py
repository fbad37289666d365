"""Weights from the trainer to other processes, over a group of their own.

Each bucket is announced before it is sent, so that neither side needs the whole list, and no more
than a bucket of weights is on its way. The group is NCCL's between GPUs and else gloo's, and has
nothing to do with the one in which the trainer's ranks compute.
"""

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed

BUCKET = 2**28
"""Bytes that are sent at once: large enough that announcing costs nothing beside it."""
MEETING = 120.0
"""Seconds in which the members must find each other."""
GIVEN_UP = -1
"""In place of an announcement's length: nothing more comes, and what came is not all."""


class Link:
    """One member's end of the group; member 0 sends."""

    def __init__(self, group: Any, device: torch.device, patience: float) -> None:
        """An end of a group that exists.

        Args:
            group: Gloo's or NCCL's.
            device: On which the group works.
            patience: Seconds that one member waits for the others.
        """
        self.group, self.device, self.patience = group, device, timedelta(seconds=patience)

    def send(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Sends weights as they are, whatever their dtypes, to all other members.

        Args:
            weights: Names and tensors, of which a bucket is held at a time.

        Raises:
            ConnectionError: When another member is gone. What `weights` raises comes as it is.
        """
        buckets = _buckets(weights)
        while bucket := self._next(buckets):
            dtype = str(bucket[0][1].dtype).removeprefix("torch.")
            self._announce([dtype, [[name, list(part.shape)] for name, part in bucket]])
            self._broadcast(torch.cat([part.to(self.device).flatten() for _, part in bucket]))
        self._announce([])

    def received(self) -> Iterator[tuple[str, Tensor]]:
        """What member 0 sends, name by name.

        Raises:
            ConnectionError: When the sender is gone, or has given up.
        """
        while told := self._announced():
            dtype, shapes = told
            sizes = [math.prod(shape) for _, shape in shapes]
            flat = torch.empty(sum(sizes), dtype=getattr(torch, dtype), device=self.device)
            self._broadcast(flat)
            for (name, shape), part in zip(shapes, flat.split(sizes), strict=True):
                yield name, part.view(shape)

    def meet(self) -> None:
        """Connects to the others, which NCCL does at the first use only."""
        self._broadcast(torch.zeros(1, dtype=torch.int64, device=self.device))

    def _next(self, buckets: Iterator[list[Any]]) -> list[Any]:
        """The next bucket, empty at the end; where it cannot be had, the receivers are told so."""
        try:
            return next(buckets, [])
        except BaseException:
            self._broadcast(torch.tensor([GIVEN_UP], device=self.device))
            raise

    def _announce(self, what: list[Any]) -> None:
        words = torch.frombuffer(bytearray(json.dumps(what), "utf-8"), dtype=torch.uint8)
        self._broadcast(torch.tensor([len(words)], device=self.device))
        self._broadcast(words.to(self.device))

    def _announced(self) -> list[Any]:
        length = torch.zeros(1, dtype=torch.int64, device=self.device)
        self._broadcast(length)
        if length.item() == GIVEN_UP:
            raise ConnectionError("the trainer gave up before all weights were sent")
        words = torch.empty(int(length.item()), dtype=torch.uint8, device=self.device)
        self._broadcast(words)
        return json.loads(bytes(words.tolist()))

    def _broadcast(self, tensor: Tensor) -> None:
        options = distributed.BroadcastOptions()
        options.timeout = self.patience
        with _found():
            self.group.broadcast([tensor], options).wait()


def place(address: str, port: int, num_members: int, *, hosts: bool) -> Any:
    """Where members find each other: a store, in which each waits `MEETING` seconds for the others.

    Args:
        address: Of the member that hosts it, as the others see it.
        port: Where it listens; 0 for any that is free, which `.port` tells.
        num_members: Of the group to be.
        hosts: Whether this is the member.

    Raises:
        ConnectionError: When it cannot be reached.
    """
    within = timedelta(seconds=MEETING)
    # A public name of torch that its stubs do not export.
    kind = distributed.TCPStore  # pyright: ignore[reportPrivateImportUsage]
    with _found():
        return kind(address, port, num_members, hosts, within, wait_for_workers=False)


def connect(store: Any, rank: int, size: int, device: torch.device, patience: float) -> Link:
    """An end of a new group, once all its members are there.

    Args:
        store: Made by `place`.
        rank: Of this member; the trainer is 0.
        size: Number of members.
        device: Of the weights on their way: NCCL between GPUs, else gloo.
        patience: Seconds that a member waits for the others later on.

    Raises:
        ConnectionError: When they do not find each other.
    """
    with _found():
        if device.type == "cuda":
            options = distributed.ProcessGroupNCCL.Options()
            options._timeout = timedelta(seconds=patience)
            group: Any = distributed.ProcessGroupNCCL(store, rank, size, options)
        else:
            group = distributed.ProcessGroupGloo(store, rank, size, store.timeout)
    link = Link(group, device, patience)
    link.meet()
    return link


@contextmanager
def _found() -> Iterator[None]:
    """What torch raises where another member is not found, as what it is."""
    try:
        yield
    except RuntimeError as error:
        raise ConnectionError(" ".join(str(error).split())) from error


def _buckets(weights: Iterable[tuple[str, Tensor]]) -> Iterator[list[tuple[str, Tensor]]]:
    """Neighbours of one dtype that together are about `BUCKET` bytes."""
    bucket: list[tuple[str, Tensor]] = []
    size = 0
    for name, weight in weights:
        more = weight.numel() * weight.element_size()
        if bucket and (size + more > BUCKET or weight.dtype != bucket[0][1].dtype):
            yield bucket
            bucket, size = [], 0
        bucket.append((name, weight.detach()))
        size += more
    if bucket:
        yield bucket
