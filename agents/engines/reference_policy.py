"""The reference model, refreshed by a schedule of `agents.references`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from agents.engines import TrainEngine, lora
from agents.engines.checkpoint_files import checkpoint_errors, checkpoint_path, read_tensors
from agents.references import Refresh, fixed
from agents.rollout import PerToken, Responses

STATE = "reference.pt"
"""File within a checkpoint; no name by which a sampler would look for weights."""


class ReferencePolicy:
    """A second model, which becomes a copy of the policy when `refresh` says so.

    It does so within a rollout too: the minibatches that follow then have the new reference.
    """

    def __init__(
        self,
        model: nn.Module | None,
        log_prob: Callable[[Responses], PerToken],
        refresh: Refresh,
        *,
        is_policy: bool = False,
    ) -> None:
        """Starts with the weights of `model`.

        Args:
            model: Its weights, named as `TrainEngine.weights` names them; None for a `fixed` one
                that is the policy itself without its adapters.
            log_prob: Log-probability of each token under these weights.
            refresh: Schedule of the copies.
            is_policy: True if the policy has these weights too.
        """
        self.model = nn.Module() if model is None else model.requires_grad_(False).eval()
        self.log_prob = log_prob
        self.refresh = refresh
        self.is_policy = is_policy
        """True until an optimizer step makes another policy, and after each copy."""
        self.token_kl: list[float] = []
        """Token KL of each optimizer step since the last copy."""

    @torch.no_grad()
    def __call__(self, responses: Responses) -> PerToken:
        """Log-probability of each token under the current reference."""
        return self.log_prob(responses)

    def stepped(self, engine: TrainEngine, token_kl: float) -> bool:
        """Counts an optimizer step; True if the policy has been copied after it.

        Args:
            engine: Has made the step; every rank calls this.
            token_kl: Between policy and reference, the same on all ranks.
        """
        self.token_kl.append(token_kl)
        self.is_policy = False
        if not self.refresh(self.token_kl):
            return False
        self.token_kl = []
        self.is_policy = True
        state = self.model.state_dict()
        with torch.no_grad():
            for name, weight in engine.weights():
                state[name].copy_(weight)
        return True

    def save(self, folder: Path) -> None:
        """Writes weights and counters into an existing folder."""
        state = {"model": self.model.state_dict(), "token_kl": self.token_kl}
        torch.save(state | {"is_policy": self.is_policy}, folder / STATE)

    def load(self, folder: Path) -> None:
        """Restores a folder that `save` has written; CheckpointError if it does not fit."""
        path = checkpoint_path(folder, STATE)
        state = read_tensors(path)
        with checkpoint_errors(path):
            self.model.load_state_dict(state["model"])
            self.token_kl = [float(value) for value in state["token_kl"]]
            self.is_policy = bool(state["is_policy"])


def needs_reference_model(refresh: Refresh | None, adapters: Mapping[str, Any] | None) -> bool:
    """True if the reference is a second model, not the policy without its adapters."""
    is_within_policy = refresh is fixed and adapters is not None and lora.keeps_base_model(adapters)
    return refresh is not None and not is_within_policy
