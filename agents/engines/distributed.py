"""All-gather of picklable objects and of errors over the ranks of a training engine."""

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch.nn.functional import pad

from agents.engines import TrainEngine
from agents.errors import AgentsError, LostRankError

ON_ALL_RANKS = "raised on all ranks"
"""Note of an error after which all ranks are at the same place, and can still save together."""
T = TypeVar("T")


def all_gather_object(items: Sequence[T], engine: TrainEngine | None) -> list[T]:
    """All-gather of the items of all ranks, in the order of ranks; every rank calls it.

    Args:
        items: Of this rank, any number of them. A tensor that is a view is pickled with all of its
            storage.
        engine: Of this rank; None for a process alone.
    """
    if engine is None or engine.num_ranks == 1:
        return list(items)
    mine = torch.frombuffer(bytearray(pickle.dumps(items)), dtype=torch.uint8)
    sizes = engine.all_gather(torch.tensor([len(mine)])).tolist()
    every = engine.all_gather(pad(mine, (0, max(sizes) - len(mine)))[None])
    parts = [row[:size].numpy().tobytes() for row, size in zip(every, sizes, strict=True)]
    return [item for part in parts for item in pickle.loads(part)]


@contextmanager
def error_on_all_ranks(
    engine: TrainEngine | None, action: str, kind: type[AgentsError] = LostRankError
) -> Iterator[None]:
    """Context that raises on every rank if one fails in it; every rank enters it.

    Args:
        engine: Of this rank; None for a process alone.
        action: What fails, in words, for the error of the other ranks.
        kind: Of that error.
    """
    failure: Exception | None = None
    try:
        yield
    except Exception as error:  # raised below, once the other ranks know
        failure = error
    failures = torch.tensor([failure is not None])
    failures = engine.all_gather(failures) if engine else failures
    if failures.any():
        ranks = ", ".join(str(rank) for rank in failures.nonzero()[:, 0].tolist())
        error = failure or kind(f"{action} failed on rank {ranks}: see its message")
        if len(failures) > 1:
            error.add_note(ON_ALL_RANKS)
        raise error
