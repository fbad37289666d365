"""What ranks tell each other that is no tensor."""

import pickle
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch.nn.functional import pad

from agents.engines import TrainEngine

T = TypeVar("T")


def exchange(items: Sequence[T], engine: TrainEngine) -> list[T]:
    """The items of all ranks, in the order of ranks; every rank calls it.

    Args:
        items: Of this rank, as many as it likes; pickle keeps the whole of what a view is a part
            of.
        engine: Of this rank.
    """
    if engine.num_ranks == 1:
        return list(items)
    mine = torch.frombuffer(bytearray(pickle.dumps(items)), dtype=torch.uint8)
    sizes = engine.gather(torch.tensor([len(mine)])).tolist()
    every = engine.gather(pad(mine, (0, max(sizes) - len(mine)))[None])
    parts = [row[:size].numpy().tobytes() for row, size in zip(every, sizes, strict=True)]
    return [item for part in parts for item in pickle.loads(part)]
