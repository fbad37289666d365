"""Protocols of the training engine and of the rollout engine, and the ranks of both.

Padding, packing, ZeRO, image features and devices are internal to an engine.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from agents.rollout import PerToken, Prompt, Responses


@runtime_checkable
class TrainEngine(Protocol):
    """A policy and its optimizer; gradients accumulate over calls and ranks until `step`."""

    rank: int
    """Of this process, in [0, num_ranks)."""
    num_ranks: int

    def forward(
        self, responses: Responses, entropy_gradient: bool = False
    ) -> tuple[PerToken, PerToken]:
        """Log-probability of each response token, and the policy's entropy at it, in nats.

        Both are float32 `[b t]`, 0 outside the mask, at the sampling temperature and over all
        tokens but the banned ones: `top_p` and `top_k` truncate the sampler, not the policy. The
        log-probability is differentiable in the weights.

        Args:
            responses: Of this rank.
            entropy_gradient: True for an entropy that is differentiable too; given only for
                learners that read it.
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

        `sampler_log_prob` holds log-probabilities under the sampling distribution.

        Args:
            prompts: One per response; equal neighbours are the same object and prefilled once.
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
