"""Training in one process with plain PyTorch, without a compiler or DeepSpeed."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from agents.engines import lora
from agents.engines.chat import Chat
from agents.engines.frozen_models import Distillation
from agents.engines.load import save_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.pretrained import (
    checkpoint_errors,
    checkpoint_path,
    checkpoint_weights,
    read_tensors,
)
from agents.engines.sampling import Sampling
from agents.rollout import PerToken, Responses

STATE = "optimizer.pt"
"""File within a checkpoint, with the state of the optimizer."""


class TorchEngine:
    """A `TrainEngine` of one process."""

    rank = 0
    num_ranks = 1
    optimizer: Any
    schedule: Any

    def __init__(
        self, policy: Policy, chat: Chat, sampling: Sampling, optimization: Optimization
    ) -> None:
        self.policy, self.chat, self.sampling = policy.ready(), chat, sampling
        self.module: Any = policy
        self.optimization = optimization
        self.optimizer, self.schedule = optimization.build(policy.parameters())

    def forward(
        self,
        responses: Responses,
        entropy_gradient: bool = False,
        distillation: Distillation | None = None,
    ) -> tuple[PerToken, ...]:
        return self.module(responses, self.sampling, entropy_gradient, distillation)

    def backward(self, loss: Tensor) -> None:
        loss.backward()

    def step(self) -> dict[str, float]:
        rate = self.schedule.get_last_lr()[0]
        norm = torch.nn.utils.clip_grad_norm_(
            self.policy.parameters(), self.optimization.max_grad_norm
        )
        if torch.isfinite(norm):
            self.optimizer.step()
            self.schedule.step()
        self.optimizer.zero_grad()
        return {"train/grad_norm": norm.item(), "train/lr": float(rate)}

    def discard(self) -> dict[str, float]:
        self.optimizer.zero_grad()
        return {"train/grad_norm": 0.0, "train/lr": float(self.schedule.get_last_lr()[0])}

    def all_gather(self, values: Tensor) -> Tensor:
        return values

    def weights(self) -> Iterable[tuple[str, Tensor]]:
        return lora.merged_weights(self.policy.model)

    def checkpoint_weights(self) -> Iterable[tuple[str, Tensor]]:
        return checkpoint_weights(self.policy.model, self.weights())

    def unsharded(self) -> AbstractContextManager[Policy]:
        return nullcontext(self.policy)

    def save(self, folder: Path) -> None:
        save_model(folder, self.policy.model, self.chat)
        state = {"optimizer": self.optimizer.state_dict(), "steps": self.schedule.last_epoch}
        torch.save(state, folder / STATE)

    def load(self, folder: Path) -> None:
        path, model = checkpoint_path(folder, STATE), self.policy.model
        state = read_tensors(path)
        with checkpoint_errors(folder):
            if lora.is_adapted(model):
                lora.load_adapters(checkpoint_path(folder, lora.ADAPTER), model)
            else:
                options = {"trust_remote_code": False, "weights_only": True}
                saved = type(model).from_pretrained(folder, dtype=model.dtype, **options)
                model.load_state_dict(saved.state_dict())
        with checkpoint_errors(path):
            self.optimizer.load_state_dict(state["optimizer"])
            # Rebuilt, because this run's schedule may be longer than the saved one.
            self.schedule = self.optimization.schedule(self.optimizer, state["steps"])
