"""What an algorithm comes to on an example: numbers to be compared."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from agents.learner import Learner
from agents.rollout import PerToken
from agents.testing.examples import Example

TOLERANCE = 1e-6
"""Of equal numbers in float64, relative to the largest; a learner may round some to float32."""


class Broken(Exception):  # noqa: N818 - a finding, told to the user in an AssertionError
    """What does not hold, in words."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """A loss, and what it does to each of some values; all are finite."""

    loss: float
    values: Tensor
    what: str = "the gradient of token"

    def __post_init__(self) -> None:
        if not math.isfinite(self.loss):
            raise Broken(f"the loss is {self.loss}")
        for index in (~self.values.isfinite()).nonzero().tolist()[:1]:
            raise Broken(f"{self.what} {index} is {self.values[tuple(index)].item()}")

    @property
    def size(self) -> float:
        """The largest number of the outcome."""
        return max(abs(self.loss), self.values.abs().max().item())

    def expect(self, other: "Outcome", how: str, tolerance: float | None = None) -> None:
        """Refuses another outcome that is further away than an absolute tolerance."""
        allowed = TOLERANCE * max(self.size, other.size) if tolerance is None else tolerance
        if abs(self.loss - other.loss) > allowed:
            raise Broken(f"the loss is {self.loss:.9g}, and {other.loss:.9g} {how}")
        apart = (self.values - other.values).abs() > allowed
        for index in apart.nonzero().tolist()[:1]:
            one, two = (outcome.values[tuple(index)].item() for outcome in (self, other))
            raise Broken(f"{self.what} {index} is {one:.9g}, and {two:.9g} {how}")

    def moved(self, change: Callable[[Tensor], Tensor]) -> "Outcome":
        """The same with its values in other places."""
        return replace(self, values=change(self.values))


def loss(learner: Learner, example: Example, log_prob: PerToken) -> Tensor:
    """`compute_loss` of an example, elsewhere."""
    old, ref = example.old_log_prob, example.ref_log_prob
    reward, mask = example.reward.flatten(), example.mask
    return learner.compute_loss(log_prob, old, reward, mask, example.group_size, ref)


def outcome(learner: Learner, example: Example) -> Outcome:
    """Loss and gradient of an example."""
    log_prob = example.log_prob.clone().requires_grad_()
    value = loss(learner, example, log_prob)
    if not value.requires_grad:
        raise Broken("the loss carries no gradient")
    (gradient,) = torch.autograd.grad(value, log_prob)
    return Outcome(value.item(), gradient)
