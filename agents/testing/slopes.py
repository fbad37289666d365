"""Slopes of a loss by finite differences, with what is detached held constant."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from agents.rollout import Mask, PerToken

STEP = 1e-4
"""In nats: the cube of it is far below, and rounding in float64 beside it far above, 1e-9."""
KINK = 1e-2
"""The slopes on both sides of a kink differ by more than this share of the steepest."""


class Constants(TorchFunctionMode):
    """Gives what is detached, or computed without gradient, the value that it had in the first run.

    Many losses have another gradient than their value suggests: what they detach is meant as a
    constant. With the constants held, the gradient is the slope of the value again.
    """

    def __init__(self) -> None:
        super().__init__()
        self.values: list[Tensor] = []
        self.used: int | None = None

    def again(self) -> "Constants":
        """The mode of a further run, with the values of the first."""
        self.used = 0
        return self

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Calls `func`, and exchanges its result if that is a constant."""
        result = func(*args, **(kwargs or {}))
        constant = getattr(func, "__name__", "") == "detach" or not torch.is_grad_enabled()
        if not (constant and isinstance(result, Tensor)):
            return result
        if self.used is None:
            self.values.append(result.clone())
            return result
        self.used += 1
        return self.values[self.used - 1]


def slopes(function: Callable[[PerToken], Tensor], point: PerToken, mask: Mask) -> PerToken:
    """Slope of a scalar function in each number that the mask names, by central differences.

    NaN at kinks, 0 where the mask is False.

    Args:
        function: Of a tensor like `point`, in float64.
        point: Where to look.
        mask: True where a slope is wanted.
    """
    constants = Constants()

    def value(at: PerToken) -> float:
        with constants:
            return function(at.clone().requires_grad_()).item()

    here, found = value(point), torch.zeros(3, *point.shape, dtype=torch.float64)
    for token in mask.nonzero().tolist():
        step = torch.zeros_like(point)
        step[tuple(token)] = STEP
        constants.again()
        above = value(point + step)
        constants.again()
        below = value(point - step)
        differences = (above - below) / 2, above - here, here - below
        found[(slice(None), *token)] = torch.tensor(differences, dtype=torch.float64) / STEP
    central, right, left = found
    return central.where((right - left).abs() <= KINK * central.abs().max(), torch.nan)
