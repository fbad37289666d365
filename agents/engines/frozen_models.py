"""Models without a gradient that read the policy's responses: the reference, and a teacher."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from agents.distillation import VocabularyDivergence
from agents.engines import TrainEngine, lora
from agents.engines.pretrained import checkpoint_errors, checkpoint_path, read_tensors
from agents.engines.sampling import Sampling, Target
from agents.references import Refresh, fixed
from agents.rollout import PerToken, Responses

STATE = "reference.pt"
"""File within a checkpoint; no name by which a sampler would look for weights."""


@dataclass(eq=False)
class ReferencePolicy:
    """A second model, which becomes a copy of the policy when `refresh` says so.

    It does so within a rollout too: the minibatches that follow then have the new reference.
    """

    model: Any
    """Its weights have the names of `TrainEngine.weights`; None for a `fixed` reference that is the
    policy without its adapters."""
    log_prob: Callable[[Responses], PerToken]
    """Log-probability of each token under these weights."""
    refresh: Refresh
    """Schedule of the copies."""
    is_policy: bool = False
    """True until an optimizer step makes another policy, and after each copy."""
    token_kl: list[float] = field(default_factory=list)
    """Token KL of each optimizer step since the last copy."""

    def __post_init__(self) -> None:
        """Freezes the model."""
        self.model = nn.Module() if self.model is None else self.model.requires_grad_(False).eval()

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
        self.is_policy = self.refresh(self.token_kl)
        if self.is_policy:
            self.token_kl = []
            state = self.model.state_dict()
            with torch.no_grad():
                for name, weight in engine.weights():
                    state[name].copy_(weight)
        return self.is_policy

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


@dataclass(frozen=True, eq=False)
class Teacher:
    """The weights that teach, which get no gradient; by default the policy's own."""

    policy: Any = None
    """Another `Policy`; None for that of the training engine."""
    sampling: Sampling = Sampling()  # noqa: RUF009 - frozen
    """The distribution over another policy's logits."""
    context: Callable[[], AbstractContextManager[Any]] = nullcontext
    """Context of its passes, such as one without adapters."""

    @torch.no_grad()
    def log_prob(self, engine: Any, responses: Responses) -> PerToken:
        """Log-probability of each token after its context, by another policy or by an engine."""
        responses = responses.in_context()
        with self.context():
            if self.policy is None:
                return engine.forward(responses)[0]
            return self.policy(responses, self.sampling)[0]

    @torch.no_grad()
    def target(
        self, student: Any, responses: Responses, sampling: Sampling, divergence: Any
    ) -> Target:
        """The teacher's part in the head's pass of the policy that is trained.

        Its logits are cut or filled to the student's vocabulary, as models of one tokenizer have
        different numbers of unused rows.
        """
        teacher = student if self.policy is None else self.policy
        head, width = teacher.model.get_output_embeddings(), student.model.get_output_embeddings()
        forward, missing = head.forward, width.out_features - head.out_features
        with self.context():
            hidden = teacher.response_hidden(responses.in_context())

        def logits(rows: Tensor) -> Tensor:
            with self.context(), teacher.autocast():
                values = teacher.logits(forward(rows))
            return sampling.logits(pad(values, (0, missing), value=-torch.inf))

        return Target(hidden, logits, divergence)


class Distillation(NamedTuple):
    """Divergence over the vocabulary that a forward pass computes besides, and from whom."""

    teacher: Teacher
    divergence: VocabularyDivergence
