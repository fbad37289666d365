"""Protocols of the training engine and of the rollout engine, and the ranks of both.

Padding, packing, ZeRO, image features and devices are internal to an engine.
"""

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

# Here the name `torch` is that of a module of this package.
from torch import Tensor, frombuffer, tensor, uint8
from torch.nn.functional import pad

from agents.errors import AgentsError, LostRankError
from agents.rollout import PerToken, Prompt, Responses

ON_ALL_RANKS = "raised on all ranks"
"""Note of an error after which all ranks are at the same place, and can still save together."""
T = TypeVar("T")


@runtime_checkable
class TrainEngine(Protocol):
    """A policy and its optimizer; gradients accumulate over calls and ranks until `step`."""

    rank: int
    """Of this process, in [0, num_ranks)."""
    num_ranks: int

    def forward(
        self, responses: Responses, entropy_gradient: bool = False, distillation: Any = None
    ) -> tuple[PerToken, ...]:
        """Log-probability of each response token, and the policy's entropy at it, in nats.

        Both are float32 `[b t]`, 0 outside the mask, at the sampling temperature and over all
        tokens but the banned ones: `top_p` and `top_k` truncate the sampler, not the policy. The
        log-probability is differentiable in the weights.

        Args:
            responses: Of this rank.
            entropy_gradient: True for an entropy that is differentiable too.
            distillation: An `engines.frozen_models.Distillation`: then the divergence over the
                vocabulary at each token is a third result, differentiable.
        """
        ...

    def backward(self, loss: Tensor) -> None:
        """Accumulates the gradient of this rank's scalar `loss`, summed over ranks."""
        ...

    def step(self) -> dict[str, float]:
        """Applies the accumulated gradient and clears it.

        A gradient that is not finite on some rank changes neither weights nor optimizer nor
        learning rate on any, and its norm is not finite either.

        Returns:
            `train/grad_norm`, before clipping, and `train/lr`.
        """
        ...

    def discard(self) -> dict[str, float]:
        """Clears the accumulated gradient, which is zero, and changes nothing else.

        Every rank calls it in place of `step`.

        Returns:
            The metrics of `step`.
        """
        ...

    def all_gather(self, values: Tensor) -> Tensor:
        """All-gather: the ranks' `values`, concatenated along the first axis in order of rank.

        Values on the CPU move over the host.
        """
        ...

    def weights(self) -> Iterable[tuple[str, Tensor]]:
        """Full tensors of the weights, by their names in the model's `state_dict`."""
        ...

    def checkpoint_weights(self) -> Iterable[tuple[str, Tensor]]:
        """The same by their names, and in their shapes, in the checkpoint that was loaded."""
        ...

    def unsharded(self) -> AbstractContextManager[Any]:
        """Context that gives the policy with full, read-only weights on this rank.

        Every rank must enter it; each leaves on its own. Entering it again from within is free and
        needs no other rank.
        """
        ...

    def save(self, folder: Path) -> None:
        """Writes the policy in Hugging Face format, and the optimizer; every rank calls it."""
        ...

    def load(self, folder: Path) -> None:
        """Restores a checkpoint of `save`: training continues as if never interrupted.

        Every rank calls it.
        """
        ...


@runtime_checkable
class RolloutEngine(Protocol):
    """Samples responses from a policy."""

    def encode(self, observations: Mapping) -> tuple[Prompt, ...]:
        """Prompts of a vector observation (`system`, `question`, `images`).

        Equal neighbours share one object.

        Raises:
            PromptLengthError: A prompt and a response may be longer than the model's context.
        """
        ...

    def generate(
        self,
        prompts: tuple[Prompt, ...],
        seed: tuple[int, ...],
        finished: Callable[[int, str], object] | None = None,
    ) -> Responses:
        """Samples one response per prompt, a pure function of weights, prompts and seed.

        `sampler_log_prob` holds log-probabilities under the sampling distribution. What a prompt
        has of an episode's row, `row_size` tokens, counts to the length of the response.

        Args:
            prompts: One per response; equal neighbours are the same object and prefilled once.
                The response to `RESTING` is empty.
            seed: Any number of integers >= 0.
            finished: Called with the index and text of each response as soon as it is complete.
        """
        ...

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Replaces the sampler's weights; no-op for a sampler on the trainer's own.

        Args:
            weights: `TrainEngine.checkpoint_weights`; every rank iterates over them.
        """
        ...

    def release(self) -> None:
        """Frees memory for training; `load_weights` must precede the next `generate`."""
        ...

    def close(self) -> None:
        """Shuts the sampler down; it cannot be used afterwards."""
        ...


def ranks() -> tuple[int, int]:
    """Rank of this process and number of ranks, from torchrun's environment variables."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def all_gather_object(items: Sequence[T], engine: TrainEngine | None) -> list[T]:
    """All-gather of any number of items of each rank, in order of rank; every rank calls it.

    A tensor that is a view is pickled with all of its storage. `engine` is None for a process
    alone.
    """
    if engine is None or engine.num_ranks == 1:
        return list(items)
    mine = frombuffer(bytearray(pickle.dumps(items)), dtype=uint8)
    sizes = engine.all_gather(tensor([len(mine)])).tolist()
    every = engine.all_gather(pad(mine, (0, max(sizes) - len(mine)))[None])
    parts = [row[:size].numpy().tobytes() for row, size in zip(every, sizes, strict=True)]
    return [item for part in parts for item in pickle.loads(part)]


@contextmanager
def error_on_all_ranks(
    engine: TrainEngine | None, action: str, kind: type[AgentsError] = LostRankError
) -> Iterator[None]:
    """Context that raises on every rank if one fails in it; every rank enters it.

    The error of the other ranks is of this kind, and names the action.
    """
    failure: Exception | None = None
    try:
        yield
    except Exception as error:  # raised below, once the other ranks know
        failure = error
    failures = tensor([failure is not None])
    failures = engine.all_gather(failures) if engine else failures
    if failures.any():
        ranks = ", ".join(str(rank) for rank in failures.nonzero()[:, 0].tolist())
        error = failure or kind(f"{action} failed on rank {ranks}: see its message")
        if len(failures) > 1:
            error.add_note(ON_ALL_RANKS)
        raise error
