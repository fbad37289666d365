"""All-gather of picklable objects over the ranks of a training engine."""

import pickle
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch.nn.functional import pad

from agents.engines import TrainEngine

T = TypeVar("T")


def all_gather_object(items: Sequence[T], engine: TrainEngine) -> list[T]:
    """All-gather of the items of all ranks, in the order of ranks; every rank calls it.

    Args:
        items: Of this rank, any number of them. A tensor that is a view is pickled with all of its
            storage.
        engine: Of this rank.
    """
    if engine.num_ranks == 1:
        return list(items)
    mine = torch.frombuffer(bytearray(pickle.dumps(items)), dtype=torch.uint8)
    sizes = engine.all_gather(torch.tensor([len(mine)])).tolist()
    every = engine.all_gather(pad(mine, (0, max(sizes) - len(mine)))[None])
    parts = [row[:size].numpy().tobytes() for row, size in zip(every, sizes, strict=True)]
    return [item for part in parts for item in pickle.loads(part)]
