"""Muon for the matrices of a model's linear layers, and AdamW for all its other weights.

Source: Jordan et al., Muon (2024), as `torch.optim.Muon` has it, with updates scaled to the root
mean square of AdamW's (Liu et al., arXiv:2502.16982).
"""

from typing import Any

from torch import nn
from torch.optim import AdamW, Muon

from agents.engines.torch import TorchEngine

RATIO = 2.0
"""Learning rate of Muon, as a multiple of AdamW's."""


class Several:
    """Several optimizers, or schedules, that take their steps together."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def step(self) -> None:
        """Takes a step with each."""
        for part in self.parts:
            part.step()

    def zero_grad(self) -> None:
        """Drops all gradients."""
        for part in self.parts:
            part.zero_grad()

    def get_last_lr(self) -> list[float]:
        """Learning rates of the last step; the first is AdamW's."""
        return [rate for part in self.parts for rate in part.get_last_lr()]


def use_muon(engine: TorchEngine) -> None:
    """Replaces the AdamW of an engine by Muon and AdamW, with the same schedule."""
    optimization, model = engine.optimization, engine.policy
    matrices, others = split_weights(model)
    decay = optimization.weight_decay
    rate = optimization.learning_rate
    adamw = AdamW(others, rate, optimization.betas, optimization.epsilon, weight_decay=decay)
    muon = Muon(matrices, RATIO * rate, decay, adjust_lr_fn="match_rms_adamw")
    parts = adamw, muon
    engine.optimizer = Several(*parts)
    engine.schedule = Several(*(optimization.schedule(part) for part in parts))


def split_weights(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Trainable matrices of linear layers, embeddings and heads excepted, and all other weights."""
    linear = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear)}
    linear -= {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    trainable = [weight for weight in model.parameters() if weight.requires_grad]
    matrices = [weight for weight in trainable if id(weight) in linear]
    return matrices, [weight for weight in trainable if id(weight) not in linear]
