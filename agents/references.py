"""The reference policy that a loss may be held to, and when it becomes the policy of the moment.

A learner's field `reference` is one of `old`, `fixed`, `every(steps)` and `when_moved(kappa)`.
`ReferencePolicy` is the second model that all but `old` need.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from agents.engines import TrainEngine
from agents.errors import CheckpointError, UsageError
from agents.rollout import PerToken, Responses

Refresh = Callable[[Sequence[float]], bool]
"""Whether the reference becomes the policy, from the token KL of each optimizer step since it last
did, the newest last."""
STATE = "reference.pt"
"""File within a checkpoint; no name by which a sampler would look for weights."""


def old(token_kl: Sequence[float]) -> bool:
    """The policy that sampled the rollout is the reference: there is no second model.

    It changes with each rollout, once all its minibatches are trained on. Source: the released code
    of RPG (arXiv:2505.17508), `use_iterative_ref_model`.
    """
    return True


def fixed(token_kl: Sequence[float]) -> bool:
    """The model that the run began with, for ever."""
    return False


@dataclass(frozen=True)
class every:  # noqa: N801 - reads like its siblings, which are functions
    """The policy after each K-th optimizer step, K counted from the beginning of the run.

    Source: Zhang et al., RPG (arXiv:2505.17508), section 5.
    """

    steps: int
    """K, >= 1; a rollout is `minibatches * epochs` optimizer steps."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise UsageError(f"every got {self.steps} optimizer steps: give it at least 1")

    def __call__(self, token_kl: Sequence[float]) -> bool:
        """Whether K steps have been made."""
        return len(token_kl) >= self.steps


@dataclass(frozen=True)
class when_moved:  # noqa: N801 - as above
    """The policy, once a moving average of the token KL between the two exceeds κ.

    The average m <- decay m + (1 - decay) KL begins at 0 with each reference, where the KL does.
    The paper gives neither a number for κ nor the kind of average.

    Source: Zhang et al., RPG (arXiv:2505.17508), section 5.
    """

    kappa: float
    """κ in nats per token, > 0."""
    decay: float = 0.9
    """In [0, 1); 0 looks at the last optimizer step alone."""

    def __post_init__(self) -> None:
        if not self.kappa > 0:
            raise UsageError(f"when_moved got kappa {self.kappa}: give it one above 0")
        if not 0 <= self.decay < 1:
            raise UsageError(f"when_moved got decay {self.decay}: give it one in [0, 1)")

    def __call__(self, token_kl: Sequence[float]) -> bool:
        """Whether the average is above κ, or no number any more."""
        average = 0.0
        for value in token_kl:
            average = self.decay * average + (1 - self.decay) * value
        return not average <= self.kappa


class ReferencePolicy:
    """A second model beside the policy, which becomes a copy of it when `refresh` says so.

    Within a rollout too: the minibatches that follow are then held to the new one.
    """

    def __init__(
        self, model: nn.Module | None, log_prob: Callable[[Responses], PerToken], refresh: Refresh
    ) -> None:
        """What `log_prob` says, until it is another one.

        Args:
            model: Its weights, named as `TrainEngine.weights` names them; None for a `fixed` one
                that is the policy itself without its adapters.
            log_prob: Of each token under these weights.
            refresh: When they become the policy's.
        """
        self.model = nn.Module() if model is None else model.requires_grad_(False).eval()
        self.log_prob = log_prob
        self.refresh = refresh
        self.token_kl: list[float] = []
        """Of each optimizer step that this reference has stood."""

    @torch.no_grad()
    def __call__(self, responses: Responses) -> PerToken:
        """Log-probability of each token under the reference that stands now."""
        return self.log_prob(responses)

    def stepped(self, engine: TrainEngine, token_kl: float) -> bool:
        """Counts an optimizer step; whether the reference is another one since.

        Args:
            engine: Has made the step; every rank calls this.
            token_kl: Between policy and reference, the same on all ranks.
        """
        self.token_kl.append(token_kl)
        if not self.refresh(self.token_kl):
            return False
        self.token_kl = []
        self._copy(engine)
        return True

    @torch.no_grad()
    def _copy(self, engine: TrainEngine) -> None:
        mine = self.model.state_dict()
        for name, weight in engine.weights():
            mine[name].copy_(weight)

    def save(self, folder: Path) -> None:
        """Writes weights and counters into an existing folder."""
        torch.save({"model": self.model.state_dict(), "token_kl": self.token_kl}, folder / STATE)

    def load(self, folder: Path) -> None:
        """Restores what `save` wrote.

        Raises:
            CheckpointError: In one line, when it is not there or of another model.
        """
        try:
            state = torch.load(folder / STATE, map_location="cpu", weights_only=True)
            self.model.load_state_dict(state["model"])
        except (OSError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise CheckpointError(
                f"{folder / STATE} is no reference for this run: {reason}"
            ) from error
        self.token_kl = state["token_kl"]
