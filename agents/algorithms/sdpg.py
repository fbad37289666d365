"""SDPG, a learner and a command: python -m agents sdpg --help."""

from dataclasses import dataclass, replace
from typing import Literal

from agents.advantages import AllReduce
from agents.distillation import SecondContext, VocabularyDivergence, kl_to_teacher
from agents.divergences import k2, k3
from agents.learner import GroupLearner
from agents.losses import clipped_ratio
from agents.reductions import Reduction, prompt_mean
from agents.rollout import Batch, PerToken
from agents.views import View, reference_answer

ANCHORS = {
    "urkl": k2,
    "ufkl": lambda new, old, ref: k3(new, old, ref) + 1,
    "fkl": lambda new, old, ref: (ref - new).exp(),
    "rkl": lambda new, old, ref: (new - ref + 1).square() / 2,
}
"""Losses of the sampled token by the names of the divergences from the reference policy."""


@dataclass(frozen=True, kw_only=True)
class SDPG(GroupLearner):
    """Self-distilled policy gradient: the policy that is told the answer is the teacher.

    With q the current weights after a prompt with the answer, w = π / π_ref, training step k of T:

        PPO's dual-clip loss + β(k) 1[A > 0] KL(π || q) + α anchor(w)
        β(k) = β min(1, k / warmup) min(1, (T - k) / decay)

    averaged over the tokens of a prompt's responses. The divergence is that over the vocabulary;
    gated tokens stay in the mean. Anchors: urkl ½ ln² w; ufkl 1/w + ln w; fkl 1/w; rkl ½ (ln w +
    1)². The first and the last have the gradient of KL(π || π_ref), the others of KL(π_ref || π).

    The reward's term is the released code's, whose clip is .2, .28 and 10 (the paper prints none):
    `surrogate="on_policy"` is -A ln π, as eq. 3.1; "importance" appendix A.3 to the letter, where
    the clipped loss, detached, weighs ln π, and π / π_old the other terms. The released scripts run
    `gate=False, warmup=0, decay=0, reduction=token_mean`, add 1e-6 to the std, cut the divergence
    at 20, and tell the answer in other words; the paper tells a worked solution too.

    Source: SDPG (arXiv:2606.04036), eqs. 3.1 to 3.5; released code: lauyikfung/SDPG.
    """

    reduction: Reduction = prompt_mean
    """From the losses of tokens to a scalar."""
    surrogate: Literal["clipped", "on_policy", "importance"] = "clipped"
    """The term of the reward."""
    clip_low: float | None = 0.2
    """Distance of the ratio's lower bound from 1."""
    clip_high: float | None = 0.28
    """Distance of the ratio's upper bound from 1."""
    dual_clip: float | None = 10.0
    """Largest ratio where the advantage is negative, > 1."""
    beta: float = 1e-3
    """β, the largest weight of the divergence from the teacher, >= 0."""
    warmup: int = 50
    """Training steps over which the weight rises; 0 for none."""
    decay: int = 350
    """Last training steps, over which it falls to 0; 0 for none."""
    gate: bool = True
    """Distil responses with a positive advantage alone."""
    alpha: float = 1e-3
    """α, the weight of the anchor, >= 0."""
    anchor: Literal["urkl", "ufkl", "fkl", "rkl"] = "urkl"
    """Divergence from the reference policy, which is fixed."""
    divergence: VocabularyDivergence = kl_to_teacher
    """Between policy and teacher."""
    view: View = reference_answer
    """The teacher's prompt."""

    @property
    def uses_reference(self) -> bool:
        """True with an anchor."""
        return bool(self.alpha)

    @property
    def second_context(self) -> SecondContext:
        """The current weights after the other prompt."""
        return SecondContext(self.view, divergence=self.divergence)

    @property
    def token_advantage_uses_old_policy(self) -> bool:
        """False: the gate reads advantages alone."""
        return False

    def at_step(self, step: int, num_steps: int) -> "SDPG":
        """With β(k)."""
        rise = min(1.0, step / self.warmup) if self.warmup else 1.0
        fall = min(1.0, (num_steps - step) / self.decay) if self.decay else 1.0
        return replace(self, beta=self.beta * rise * fall)

    def prepare(self, batch: Batch, all_reduce: AllReduce, log_prob: PerToken) -> Batch:
        """With the gate: which tokens are distilled."""
        return batch.with_extras(gate=(batch.advantage > 0) if self.gate else batch.mask)

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        """The loss above."""
        old, advantage = batch.old_log_prob, batch.advantage
        ref = self.ref_log_prob(batch)
        terms = self.beta * batch.divergence.where(batch.extras["gate"], 0.0)
        if self.uses_reference:
            terms = terms + self.alpha * ANCHORS[self.anchor](log_prob, old, ref)
        if self.surrogate == "on_policy":
            return terms - advantage * log_prob
        bounds = self.clip_low, self.clip_high, self.dual_clip
        loss = clipped_ratio(log_prob, old, advantage, *bounds)
        if self.surrogate == "importance":
            return loss.detach() * log_prob + (log_prob - old).exp().detach() * terms
        return loss + terms
