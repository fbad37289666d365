"""Teachers: weights that read the responses of the policy after prompts of their own."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from agents.distillation import VocabularyDivergence
from agents.engines.sampling import Sampling, Target
from agents.rollout import PerToken, Responses


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
