"""AdamW and its learning-rate schedule, the same for every training engine."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from torch.nn import Parameter
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR


@dataclass(frozen=True)
class Optimization:
    """How weights move: AdamW, linear warm-up, cosine decay to a floor, gradient clipping."""

    learning_rate: float
    """Highest learning rate."""
    total_steps: int
    """Optimizer steps of the whole run; the rate is lowest at the last."""
    warmup_steps: int = 0
    min_ratio: float = 0.1
    """Lowest learning rate, as a part of the highest."""
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.95)
    max_grad_norm: float = 1.0

    def ratio(self, step: int) -> float:
        """Learning rate of optimizer step `step` (from 0), as a part of the highest."""
        if step < self.warmup_steps:
            return (step + 1) / (self.warmup_steps + 1)
        progress = (step - self.warmup_steps) / max(1, self.total_steps - self.warmup_steps)
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
        return self.min_ratio + (1 - self.min_ratio) * cosine

    def build(self, parameters: Iterable[Parameter]) -> tuple[AdamW, LambdaLR]:
        """The optimizer and its schedule over the parameters that train."""
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        adamw = AdamW(
            trained, self.learning_rate, self.betas, weight_decay=self.weight_decay, fused=True
        )
        return adamw, self.schedule(adamw)

    def schedule(self, optimizer: Optimizer, steps: int = 0) -> LambdaLR:
        """The schedule of any optimizer that has done `steps` steps."""
        # A checkpoint would hold the attributes of a bound method; of a function it holds nothing.
        return LambdaLR(optimizer, lambda step: self.ratio(step), last_epoch=steps - 1)  # noqa: PLW0108 - as above
