"""SDPO, a learner and a command: python -m agents sdpo --help."""

from dataclasses import dataclass
from typing import Literal

from agents.algorithms.opd import OPD
from agents.corrections import SamplerCorrection
from agents.distillation import VocabularyDivergence, top_k
from agents.views import View, right_sibling


@dataclass(frozen=True, kw_only=True)
class SDPO(OPD):
    """Self-distillation policy optimization: the policy that sees a right response is the teacher.

    A token's loss is, with D the Jensen-Shannon divergence between the policy's 100 most likely
    tokens, the rest as one class, and the same classes under the teacher,

        sg(min(π / π_old, 2)) D

    The teacher reads the first right response of the group other than the response itself; where
    there is none the response has no loss and leaves the mean, so a group without success teaches
    nothing. There is no advantage: the reward only chooses the context.

    The paper's teacher is a moving average of the weights, 0.05 of the policy after each rollout;
    here it is the policy as it is trained, or `initial`. The released code adds an environment's
    feedback where there is one, and its words are others.

    Source: SDPO (arXiv:2601.20802); released code: lasgroup/SDPO.
    """

    divergence: VocabularyDivergence | None = top_k()  # noqa: RUF009 - frozen
    """Between policy and teacher; None for an estimate from the sampled tokens."""
    view: View | None = right_sibling
    """The teacher's prompt."""
    self_teacher: Literal["current", "initial", "teacher"] = "current"
    """The teacher without `--teacher`: the current weights or the initial ones."""
    ratio_cap: float | None = 2.0
    """c > 0 of the weight sg(min(π / π_old, c)); None for no weight."""
    sampler_correction: SamplerCorrection = 2.0
    """Cap of the weights π_old / μ of tokens drawn from the sampler's μ; None for no weights."""
