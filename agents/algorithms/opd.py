"""OPD, a learner and a command: python -m agents opd --help."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agents.distillation import SecondContext, VocabularyDivergence
from agents.divergences import k2, k3
from agents.learner import GroupLearner
from agents.losses import clipped_ratio
from agents.rollout import Batch, PerToken
from agents.views import View


def sampled(log_prob: PerToken, anchor: PerToken, teacher: PerToken) -> PerToken:
    """sg(ln π - ln q) ln π: REINFORCE on the reward ln q - ln π."""
    return (log_prob - teacher).detach() * log_prob


def importance(log_prob: PerToken, anchor: PerToken, teacher: PerToken) -> PerToken:
    """(ln μ - ln q) π / μ: the same for tokens that the sampler drew from μ."""
    return (anchor - teacher) * (log_prob - anchor).exp()


ESTIMATORS: dict[str, Callable[[PerToken, PerToken, PerToken], PerToken]] = {
    **{"importance": importance, "sampled": sampled},
    **{"k2": k2, "k3": k3},
}
"""Losses of the sampled token by their names."""


@dataclass(frozen=True, kw_only=True)
class OPD(GroupLearner):
    """On-policy distillation: a teacher's probabilities of the policy's own responses.

    The teacher q is another model, `--teacher`, which may read the policy's prompt or a `view` of
    the problem. A token's loss is the divergence over the whole vocabulary, `divergence`, or an
    estimate from the token that was sampled:

        importance  (ln μ - ln q) π / μ
        sampled     sg(ln π - ln q) ln π
        k2          (ln π - ln q)² / 2
        k3          q / π - 1 - ln(q / π)

    On samples of π the first three have the gradient of KL(π || q), and k3, verl's default, that of
    KL(q || π). With `reward_weight` λ, λ times PPO's clipped loss of the rewards is added, as verl
    does with λ = 1. Thinking Machines sum over tokens; verl cuts k3 at 10.

    Source: Agarwal et al., GKD (arXiv:2306.13649), for the divergences; Thinking Machines,
    On-Policy Distillation (2025), for `importance`, with released code in tinker-cookbook.
    """

    estimator: Literal["importance", "sampled", "k2", "k3"] = "importance"
    """The loss of the sampled token, where there is no `divergence`."""
    divergence: VocabularyDivergence | None = None
    """kl_to_teacher, KL(π || q); kl_from_teacher; jensen_shannon(0.5); or top_k(100)."""
    view: View | None = None
    """The teacher's prompt, such as worked_solution; None for that of the policy."""
    self_teacher: Literal["current", "initial", "teacher"] = "teacher"
    """The teacher without `--teacher`: the current weights, the initial ones, or none."""
    ratio_cap: float | None = None
    """c > 0 of a weight sg(min(π / π_old, c)); None for no weight."""
    reward_weight: float = 0.0
    """λ, the weight of the reward."""

    @property
    def second_context(self) -> SecondContext:
        """The teacher; responses without a context have no loss where there is no reward."""
        required = not self.reward_weight
        return SecondContext(self.view, self.self_teacher, self.divergence, required=required)

    @property
    def uses_sampler(self) -> bool:
        """True where the estimator has the sampler's μ."""
        is_importance = self.divergence is None and self.estimator == "importance"
        return is_importance or super().uses_sampler

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above; without a sampler's μ, π_old is its."""
        old = batch.old_log_prob
        if self.divergence is not None:
            loss = batch.divergence
        else:
            anchor = old if batch.sampler_log_prob is None else batch.sampler_log_prob
            loss = ESTIMATORS[self.estimator](log_prob, anchor, batch.teacher_log_prob)
            loss = loss.where(batch.distilled[:, None], 0.0)
        if self.ratio_cap is not None:
            loss = loss * (log_prob.detach() - old).exp().clamp(max=self.ratio_cap)
        if self.reward_weight:
            reward_loss = clipped_ratio(log_prob, old, batch.advantage, 0.2, 0.2)
            loss = loss + self.reward_weight * reward_loss
        return loss
