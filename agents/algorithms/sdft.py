"""SDFT, a learner and a command: python -m agents sdft --help."""

from dataclasses import dataclass
from typing import Literal

from agents.algorithms.opd import OPD
from agents.distillation import VocabularyDivergence, kl_to_teacher
from agents.views import View, worked_solution


@dataclass(frozen=True, kw_only=True)
class SDFT(OPD):
    """Self-distillation fine-tuning: learning from demonstrations on the policy's own responses.

    A token's loss is KL(π || q) over the vocabulary, where q is the policy itself after a prompt
    that shows a demonstration, here the worked solution; problems without one have no loss.

    Libraries disagree about the teacher: the policy as it is trained (prime-rl, here the default)
    or its initial weights (TRL, tinker-cookbook). TRL's is `top_k(100, 0.5, False)` with
    `ratio_cap=2` and `sequence_mean`; tinker distils KL(q || π) of the teacher's 20 most likely
    tokens and leaves out the first three of a response.

    Source: SDFT (arXiv:2601.19897).
    """

    divergence: VocabularyDivergence | None = kl_to_teacher
    """Between policy and teacher; None for an estimate from the sampled tokens."""
    view: View | None = worked_solution
    """The teacher's prompt."""
    self_teacher: Literal["current", "initial", "teacher"] = "current"
    """The teacher without `--teacher`: the current weights or the initial ones."""
