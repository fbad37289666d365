"""AdamW and its learning-rate schedule, shared by the training engines."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from torch.nn import Parameter
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR

Schedule = Literal["cosine", "linear", "constant"]
"""Learning rate after warm-up: along a cosine or a line to its minimum, or at its maximum."""


@dataclass(frozen=True)
class Optimization:
    """AdamW with linear warm-up, a schedule of the learning rate, and gradient clipping."""

    learning_rate: float
    """Maximum of the learning rate."""
    total_steps: int
    """Optimizer steps of the complete run; the rate would reach its minimum at the one
    after them."""
    warmup_steps: int = 0
    min_ratio: float = 0.1
    """Minimum of the learning rate, as a fraction of the maximum."""
    weight_decay: float = 0.01
    epsilon: float = 1e-8
    """Added to the root mean square of a weight's gradient before it divides."""
    betas: tuple[float, float] = (0.9, 0.95)
    max_grad_norm: float = 1.0
    """Norm to which a gradient is clipped; infinity for no clipping."""
    learning_rate_schedule: Schedule = "cosine"

    def ratio(self, step: int) -> float:
        """Learning rate of optimizer step `step` (from 0), as a fraction of the maximum."""
        if step < self.warmup_steps:
            return (step + 1) / (self.warmup_steps + 1)
        if self.learning_rate_schedule == "constant":
            return 1.0
        progress = (step - self.warmup_steps) / max(1, self.total_steps - self.warmup_steps)
        progress = min(1.0, progress)
        is_linear = self.learning_rate_schedule == "linear"
        height = 1 - progress if is_linear else 0.5 * (1 + math.cos(math.pi * progress))
        return self.min_ratio + (1 - self.min_ratio) * height

    def build(self, parameters: Iterable[Parameter]) -> tuple[AdamW, LambdaLR]:
        """The optimizer of the trainable parameters, and its schedule."""
        trainable = [parameter for parameter in parameters if parameter.requires_grad]
        decay = self.weight_decay
        adamw = AdamW(
            trainable, self.learning_rate, self.betas, self.epsilon, weight_decay=decay, fused=True
        )
        return adamw, self.schedule(adamw)

    def schedule(self, optimizer: Optimizer, steps: int = 0) -> LambdaLR:
        """The schedule of an optimizer that has taken `steps` steps."""
        # A checkpoint would contain the attributes of a bound method; a function it leaves out.
        return LambdaLR(optimizer, lambda step: self.ratio(step), last_epoch=steps - 1)  # noqa: PLW0108 - as above
