"""OPSD, a learner and a command: python -m agents opsd --help."""

from dataclasses import dataclass
from typing import Literal

from agents.algorithms.opd import OPD
from agents.distillation import VocabularyDivergence, jensen_shannon
from agents.views import View, worked_solution


@dataclass(frozen=True, kw_only=True)
class OPSD(OPD):
    """On-policy self-distillation: the initial policy, with a worked solution, is the teacher.

    A token's loss is the Jensen-Shannon divergence over the vocabulary between the policy and its
    initial weights that read the solution before the same response; problems without a solution
    have no loss. No reward, ratio or clip. The temperature divides both logits; the published
    script samples at 1.1, with adapters, whose base model is the teacher.

    Variants of the released code: `top_k(50, 0.5, False, "teacher")`; for its "tinker" loss
    `divergence=None, estimator="sampled"`. Its moving average of the weights is left out, and its
    words around the solution are others.

    Source: OPSD (arXiv:2601.18734); released code: siyan-zhao/OPSD.
    """

    divergence: VocabularyDivergence | None = jensen_shannon()  # noqa: RUF009 - frozen
    """Between policy and teacher; None for an estimate from the sampled tokens."""
    view: View | None = worked_solution
    """The teacher's prompt."""
    self_teacher: Literal["current", "initial", "teacher"] = "initial"
    """The teacher without `--teacher`: the current weights or the initial ones."""
