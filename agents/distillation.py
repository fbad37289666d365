"""Divergences between two distributions over the vocabulary, and a learner's second context.

A divergence takes ln π of every token of the vocabulary, which carries the gradient, and the
teacher's ln q. It is exact at each position of a response, where those of `divergences` estimate it
from the sampled token; none weighs a position by how likely π is to reach it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from agents.errors import UsageError
from agents.views import View

LogProbs = Float[Tensor, "*n v"]
Rows = Float[Tensor, "*n"]
VocabularyDivergence = Callable[[LogProbs, LogProbs], Rows]
"""ln π and ln q of every token, to a divergence in nats, >= 0."""
LEAST = -1e4
"""Of a log-probability: banned tokens have a share of 0, not NaN, in every divergence."""


def kl_to_teacher(log_prob: LogProbs, teacher: LogProbs) -> Rows:
    """KL(π || q) = Σ_a π(a) ln(π(a) / q(a)); slope by a logit π(a) (ln(π(a) / q(a)) - KL).

    The reverse divergence: π leaves what the teacher would not say.
    """
    return (log_prob.exp() * (log_prob - teacher)).sum(-1)


def kl_from_teacher(log_prob: LogProbs, teacher: LogProbs) -> Rows:
    """KL(q || π) = Σ_a q(a) ln(q(a) / π(a)); slope by a logit π(a) - q(a).

    The forward divergence: π covers all that the teacher would say.
    """
    return (teacher.exp() * (teacher - log_prob)).sum(-1)


@dataclass(frozen=True)
class jensen_shannon:  # noqa: N801 - reads like its siblings, which are functions
    """(1 - α) KL(π || m) + α KL(q || m), m = (1 - α) π + α q.

    It vanishes as α goes to 0 or to 1, where much code jumps to KL(q || π) and to KL(π || q), which
    are 1 / α and 1 / (1 - α) times larger: take those functions. α weighs the teacher, as in TRL.
    """

    weight: float = 0.5
    """α, in (0, 1)."""

    def __post_init__(self) -> None:
        if not 0 < self.weight < 1:
            raise UsageError(
                f"jensen_shannon got the weight {self.weight}: give one in (0, 1), or take "
                "kl_to_teacher or kl_from_teacher"
            )

    def __call__(self, log_prob: LogProbs, teacher: LogProbs) -> Rows:
        """The divergence."""
        own, other = math.log1p(-self.weight), math.log(self.weight)
        mixture = torch.logaddexp(log_prob + own, teacher + other)
        pair = kl_to_teacher(log_prob, mixture), kl_to_teacher(teacher, mixture)
        return (1 - self.weight) * pair[0] + self.weight * pair[1]


ENDS: dict[float, VocabularyDivergence] = {0.0: kl_from_teacher, 1.0: kl_to_teacher}
"""What released code has in place of `jensen_shannon` for a weight of 0 and of 1."""


@dataclass(frozen=True)
class top_k:  # noqa: N801
    """A divergence between the k most likely tokens, and the rest as one more class.

    Source: SDPO (arXiv:2601.20802), of the student's tokens; OPSD's code and TRL's SDFT, `tail`
    False, renormalise, of the teacher's and of the student's.
    """

    size: int = 100
    """k >= 1."""
    weight: float = 0.5
    """α of `jensen_shannon`; 0 for KL(q || π), 1 for KL(π || q)."""
    tail: bool = True
    """True for a class of all other tokens; False to renormalise."""
    of: Literal["student", "teacher"] = "student"
    """Whose most likely tokens, under the current weights."""

    def __post_init__(self) -> None:
        if self.size < 1 or self.of not in ("student", "teacher"):
            raise UsageError(
                f"top_k got {self.size} tokens of {self.of!r}: give at least 1, of student or "
                "teacher"
            )
        if self.weight not in ENDS:
            jensen_shannon(self.weight)

    def __call__(self, log_prob: LogProbs, teacher: LogProbs) -> Rows:
        """The divergence."""
        chooser = log_prob if self.of == "student" else teacher
        places = chooser.detach().topk(min(self.size, chooser.shape[-1]), -1).indices
        divergence = ENDS.get(self.weight) or jensen_shannon(self.weight)
        return divergence(*(self._classes(x.gather(-1, places)) for x in (log_prob, teacher)))

    def _classes(self, log_prob: Tensor) -> Tensor:
        total = log_prob.logsumexp(-1, keepdim=True)
        if not self.tail:
            return log_prob - total
        rest = (-torch.expm1(total.clamp(max=-1e-7))).log()
        return torch.cat([log_prob, rest], -1)


def divergence_of_logits(divergence: VocabularyDivergence, logits: Tensor, teacher: Tensor) -> Rows:
    """A divergence from logits, -inf where banned; only the first carry a gradient."""
    pair = (values.log_softmax(-1).clamp(min=LEAST) for values in (logits, teacher))
    return divergence(*pair)


@dataclass(frozen=True)
class SecondContext:
    """A learner's teacher, which reads the same responses after a prompt of its own."""

    view: View | None = None
    """The prompt that the teacher reads; None for that of the policy."""
    weights: Literal["current", "initial", "teacher"] = "current"
    """The teacher where there is no `--teacher`: the policy as it is being trained, the reference
    policy, or none, so that `--teacher` is needed."""
    divergence: VocabularyDivergence | None = None
    """Given to the loss as `batch.divergence`, by the weights of each minibatch; None for the
    log-probabilities of the sampled tokens alone, by those of the start of the update."""
    name: str = "teacher_log_prob"
    """The property of the batch that has these."""
    required: bool = False
    """True for responses without a context to have no loss; else their divergence is 0."""

    @property
    def value(self) -> str:
        """Name of what the loss reads."""
        return self.name if self.divergence is None else "divergence"
