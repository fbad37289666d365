"""The two engines that a learner and the loop know: one trains, one samples.

Everything behind these protocols (padding, packing, ZeRO, image features, devices) is an engine's
own affair.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from agents.rollout import PerToken, Prompt, Responses


@runtime_checkable
class TrainEngine(Protocol):
    """A policy and its optimizer. Gradients add up over calls and ranks until `step`."""

    rank: int
    """Of this process, in [0, num_ranks)."""
    num_ranks: int

    def forward(self, responses: Responses) -> tuple[PerToken, PerToken]:
        """Log-probability of each response token, and the policy's entropy there, in nats.

        Both are float32 `[b t]`, 0 outside the mask, at the sampling temperature and over all
        tokens but the banned ones: `top_p` and `top_k` cut off the sampler, not the policy. The
        log-probability is differentiable in the weights unless gradients are off; the entropy
        never is.
        """
        ...

    def backward(self, loss: Tensor) -> None:
        """Adds the gradient of this rank's scalar `loss`; those of all ranks add up."""
        ...

    def step(self) -> dict[str, float]:
        """Applies the accumulated gradient and clears it.

        A gradient that is not finite, on whatever rank, changes neither weights nor optimizer nor
        learning rate, and its norm is not finite either.

        Gives `train/grad_norm`, before clipping, and `train/lr`.
        """
        ...

    def all_gather(self, values: Tensor) -> Tensor:
        """All-gather: the ranks' `values`, concatenated along the first axis in order of rank."""
        ...

    def weights(self) -> Iterable[tuple[str, Tensor]]:
        """Names and full tensors of the weights, as the model's own `state_dict` names them."""
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
        """Restores what `save` wrote: training goes on as if never interrupted.

        Every rank calls it.
        """
        ...


@runtime_checkable
class RolloutEngine(Protocol):
    """Samples responses from a policy."""

    def encode(self, observations: Mapping) -> tuple[Prompt, ...]:
        """The prompts of a vector observation (`system`, `question`, `images`).

        Equal neighbours share one object.
        """
        ...

    def generate(
        self,
        prompts: tuple[Prompt, ...],
        seed: tuple[int, ...],
        finished: Callable[[int, str], object] | None = None,
    ) -> Responses:
        """One response to each prompt, a pure function of weights, prompts and seed.

        Each comes with the log-probabilities of its tokens in what they were drawn from.

        Args:
            prompts: One for each response; equal neighbours are the same object and are read once.
            seed: Any number of integers >= 0.
            finished: Called with the index and text of each response as soon as it is complete.
        """
        ...

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Replaces the policy's weights, unless they are the trainer's own."""
        ...

    def release(self) -> None:
        """Gives memory back for training; `load_weights` comes before the next response."""
        ...

    def close(self) -> None:
        """Ends the sampler, which is of no use afterwards."""
        ...
