"""Loss and gradient of a learner on an example, by autograd and by finite differences."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from agents.learner import Learner
from agents.rollout import Mask, PerToken
from agents.testing.examples import Draw, Example

TOLERANCE = 1e-6
"""For float64, relative to the largest number; a learner may round some to float32."""
STEP = 1e-4
"""Finite difference, in nats: truncation and rounding errors in float64 are both far below 1e-6."""
KINK = 1e-2
"""Minimum jump of the slope at a kink, relative to the steepest slope."""


Property = Callable[[Learner, Draw], None]
"""Draws an example and raises `PropertyError`, or the learner's own error, if it does not hold."""
PROPERTIES: dict[str, Property] = {}
"""Properties of every learner, by their words in error messages."""


class PropertyError(Exception):
    """A property that does not hold, in words."""


def required(title: str) -> Callable[[Property], Property]:
    """Adds a property to `PROPERTIES`."""

    def add(holds: Property) -> Property:
        PROPERTIES[title] = holds
        return holds

    return add


@dataclass(frozen=True, eq=False)
class Outcome:
    """A loss and the gradients, or other values, that belong to it; all finite."""

    loss: float
    values: Tensor
    name: str = "the gradient of token"
    """Of one of the values, before its index."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.loss):
            raise PropertyError(f"the loss is {self.loss}")
        for index in (~self.values.isfinite()).nonzero().tolist()[:1]:
            raise PropertyError(f"{self.name} {index} is {self.values[tuple(index)].item()}")

    @property
    def scale(self) -> float:
        """Largest absolute number of the outcome."""
        return max(abs(self.loss), self.values.abs().max().item())

    def assert_close(self, other: "Outcome", case: str, tolerance: float | None = None) -> None:
        """Raises PropertyError for a difference above an absolute tolerance.

        Args:
            other: Outcome of the same shape.
            case: Difference between the two computations, in words, for the message.
            tolerance: None for `TOLERANCE` of the larger scale.
        """
        if tolerance is None:
            tolerance = TOLERANCE * max(self.scale, other.scale)
        if abs(self.loss - other.loss) > tolerance:
            raise PropertyError(f"the loss is {self.loss:.9g}, and {other.loss:.9g} {case}")
        differs = (self.values - other.values).abs() > tolerance
        for index in differs.nonzero().tolist()[:1]:
            one, two = (outcome.values[tuple(index)].item() for outcome in (self, other))
            raise PropertyError(f"{self.name} {index} is {one:.9g}, and {two:.9g} {case}")

    def map(self, change: Callable[[Tensor], Tensor]) -> "Outcome":
        """The same loss with other values."""
        return replace(self, values=change(self.values))


def example_loss(learner: Learner, example: Example, log_prob: PerToken) -> Tensor:
    """`compute_loss` of an example with other log-probabilities of the policy."""
    old, ref = example.old_log_prob, example.ref_log_prob
    reward, mask = example.reward.flatten(), example.mask
    extras = example.extras(log_prob) if learner.inputs else {}
    return learner.compute_loss(log_prob, old, reward, mask, example.group_size, ref, **extras)


def outcome(learner: Learner, example: Example) -> Outcome:
    """Loss and gradient of an example."""
    log_prob = example.log_prob.clone().requires_grad_()
    loss = example_loss(learner, example, log_prob)
    if not loss.requires_grad:
        raise PropertyError("the loss carries no gradient")
    (gradient,) = torch.autograd.grad(loss, log_prob)
    return Outcome(loss.item(), gradient)


class Constants(TorchFunctionMode):
    """Holds values that are detached, or computed without gradient, at those of the first run.

    The gradient of many losses is not the slope of their value, because they detach parts as
    constants. With these held, it is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.values: list[Tensor] = []
        self.position: int | None = None

    def replay(self) -> "Constants":
        """The mode of a further run, with the values of the first."""
        self.position = 0
        return self

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Calls `func`, and replaces its result if that is a constant."""
        result = func(*args, **(kwargs or {}))
        constant = getattr(func, "__name__", "") == "detach" or not torch.is_grad_enabled()
        if not (constant and isinstance(result, Tensor)):
            return result
        if self.position is None:
            self.values.append(result.clone())
            return result
        self.position += 1
        return self.values[self.position - 1]


def slopes(function: Callable[[PerToken], Tensor], point: PerToken, mask: Mask) -> PerToken:
    """Gradient of a scalar function by central differences, with detached values held constant.

    NaN at kinks, 0 where the mask is False.

    Args:
        function: Of a tensor like `point`, in float64.
        point: Where to differentiate.
        mask: True for the elements to differentiate by.
    """
    constants = Constants()

    def value(argument: PerToken) -> float:
        with constants:
            return function(argument.clone().requires_grad_()).item()

    center, result = value(point), torch.zeros(3, *point.shape, dtype=torch.float64)
    for token in mask.nonzero().tolist():
        step = torch.zeros_like(point)
        step[tuple(token)] = STEP
        constants.replay()
        above = value(point + step)
        constants.replay()
        below = value(point - step)
        differences = (above - below) / 2, above - center, center - below
        result[(slice(None), *token)] = torch.tensor(differences, dtype=torch.float64) / STEP
    central, right, left = result
    return central.where((right - left).abs() <= KINK * central.abs().max(), torch.nan)
