"""Schedules of the reference policy: the steps after which it becomes a copy of the policy.

A learner's field `reference` is one of `old`, `fixed`, `every(steps)` and `when_moved(kappa)`; all
but `old` need a second model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents.errors import UsageError

Refresh = Callable[[Sequence[float]], bool]
"""From the token KL of each optimizer step since the last copy, the newest last, to True for a copy
after this step."""


def old(token_kl: Sequence[float]) -> bool:
    """The policy that sampled the rollout is the reference: there is no second model.

    It changes with each rollout, after all its minibatches. Source: the released code of RPG
    (arXiv:2505.17508), `use_iterative_ref_model`.
    """
    return True


def fixed(token_kl: Sequence[float]) -> bool:
    """The base model of the run, never refreshed."""
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
        """True after K steps."""
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
    """In [0, 1); 0 takes the last optimizer step alone."""

    def __post_init__(self) -> None:
        if not self.kappa > 0:
            raise UsageError(f"when_moved got kappa {self.kappa}: give it one above 0")
        if not 0 <= self.decay < 1:
            raise UsageError(f"when_moved got decay {self.decay}: give it one in [0, 1)")

    def __call__(self, token_kl: Sequence[float]) -> bool:
        """True if the average is above κ, or NaN."""
        average = 0.0
        for value in token_kl:
            average = self.decay * average + (1 - self.decay) * value
        return not average <= self.kappa
