"""Corrections for a sampler that is not the trainer: functions to a weight of each token's loss.

The sampler draws from μ, by other kernels, in another precision, cut off by `top_p` and `top_k`; an
update takes π_old, the same weights as the trainer computes them, for the policy that sampled. With
k = π_old / μ, of a token or of a response, a correction weighs a token's loss, or drops it with a
weight of 0. What it drops stays in every denominator, since lengths are fixed before π_old is
known. So do TRL, IcePop and slime; verl's rejection takes such tokens out of its token mean.

`Learner.sampler_correction` takes one, or a `product` of several, on the command line as
`"ratio_mask(0.99, 1.01) * truncated_weight(2)"`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from agents.errors import UsageError
from agents.losses import geometric, per_response, per_token, per_turn, sampler_log_ratio
from agents.rollout import Batch, Mask, PerToken

Correction = Callable[[Batch, PerToken], PerToken]
"""A batch, and log-probabilities under the policy being trained, to a weight >= 0 of each token."""
SamplerCorrection = float | Correction | None
"""A cap of `truncated_weight`, a correction, or None."""
LEVELS = {
    **{"token": per_token, "turn": per_turn},
    **{"response": per_response, "geometric": geometric},
}
"""What k is the ratio of: a token, a response (the product), or the geometric mean over one."""


class _Bounds:
    """Bounds of k and its level, which are fields of the subclasses."""

    low: float
    high: float
    level: str

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not 0 <= self.low <= self.high < math.inf or not self.high > 0:
            raise UsageError(
                f"{name} got bounds from {self.low} to {self.high}: "
                "give finite ones, 0 <= low <= high, high > 0"
            )
        if self.level not in LEVELS:
            raise UsageError(f"{name} got the level {self.level!r}: give {', '.join(LEVELS)}")

    def ratio(self, batch: Batch) -> PerToken:
        """The ratio k at each token."""
        return LEVELS[self.level](sampler_log_ratio(batch), batch.mask).exp()


def uncorrected(batch: Batch, log_prob: PerToken) -> PerToken:
    """1: no correction, also where a run has one by default."""
    return torch.ones_like(log_prob)


@dataclass(frozen=True)
class truncated_weight(_Bounds):  # noqa: N801 - reads like its siblings, which are functions
    """clip(k, low, high): truncated importance sampling; the number `high` alone is one too.

    An average over responses of the sampler is one over μ. Weighted by k, the loss of a token has
    its expectation under π_old, given the tokens before; tokens that the sampler never draws stay
    out. The ratio π / π_old stays as it is, 1 before the first step, and its clip too: times this
    weight it is π / μ. The bound `high` trades bias for less variance. With the level "response"
    it is verl's TIS of sequences.

    Source: Yao et al., Your Efficient RL Framework Secretly Brings You Off-Policy RL Training
    (2025). DeepSeek-V3.2 (arXiv:2512.02556), section 3.1, cuts the trained policy off as well,
    which needs the sampler's choices at every token.
    """

    high: float = 2.0
    low: float = 0.0
    level: str = "token"

    def __call__(self, batch: Batch, log_prob: PerToken) -> PerToken:
        """Weight of each token."""
        return self.ratio(batch).clamp(self.low, self.high)


@dataclass(frozen=True)
class masked_weight(_Bounds):  # noqa: N801
    """k where low <= k <= high, else 0: IcePop, or masked importance sampling.

    With (0, 3, "response") it is TRL's default. Source: Ring-1T (arXiv:2510.18855), with 0.5 and 5;
    INTELLECT-3 (arXiv:2512.16144), eq. 1, masks π / μ instead.
    """

    low: float = 0.5
    high: float = 5.0
    level: str = "token"

    def __call__(self, batch: Batch, log_prob: PerToken) -> PerToken:
        """Weight of each token."""
        ratio = self.ratio(batch)
        return ratio.where((ratio >= self.low) & (ratio <= self.high), 0.0)


@dataclass(frozen=True)
class ratio_mask(_Bounds):  # noqa: N801
    """1 where low <= k <= high, else 0: verl's `seq_mean_k1`, or `seq_sum_k1` for responses.

    verl's bounds are those of 1 / k, so asymmetric ones swap places. Times `truncated_weight(1e30)`
    it is the seq-mask-tis of OpenRLHF and NeMo, whose weights nothing truncates.
    """

    low: float = 0.999
    high: float = 1.001
    level: str = "geometric"

    def __call__(self, batch: Batch, log_prob: PerToken) -> PerToken:
        """Weight of each token."""
        ratio = self.ratio(batch)
        return ((ratio >= self.low) & (ratio <= self.high)).to(log_prob)


@dataclass(frozen=True)
class k3_mask:  # noqa: N801
    """1 where the mean over a response of k - 1 - ln k is <= high, else 0: verl's `seq_mean_k3`."""

    high: float = 0.02

    def __call__(self, batch: Batch, log_prob: PerToken) -> PerToken:
        """Weight of each token."""
        log_ratio = sampler_log_ratio(batch)
        mean = geometric(torch.expm1(log_ratio) - log_ratio, batch.mask)
        return (mean <= self.high).to(log_prob)


@dataclass(frozen=True)
class off_policy_mask:  # noqa: N801
    """0 where A < 0 and the mean over a response of ln μ - ln π exceeds δ, else 1.

    A bad response that the policy has become unlikely to give is not pushed down further. It weighs
    the advantage, so a penalty to a reference stays. It is evaluated at each minibatch, so it
    covers stale samples too; without a sampler's μ, π_old is its. The whole loss of the source is
    `GRPO(advantage_function=centered, divergence=unnormalized_reverse_kl,
    sampler_correction=off_policy_mask())`.

    Source: DeepSeek-V3.2 (arXiv:2512.02556), section 3.1, which gives no δ; TRL suggests 0.5.
    """

    delta: float = 0.5
    """δ, in nats a token."""

    def __call__(self, batch: Batch, log_prob: PerToken) -> PerToken:
        """Factor of the advantage of each token."""
        sampler = batch.old_log_prob if batch.sampler_log_prob is None else batch.sampler_log_prob
        distance = geometric(sampler - log_prob, batch.mask)
        return ((batch.advantage >= 0) | (distance <= self.delta)).to(log_prob)


@dataclass(frozen=True, repr=False)
class product:  # noqa: N801
    """Product of the weights of two corrections."""

    first: Correction
    second: Correction

    def __call__(self, batch: Batch, log_prob: PerToken) -> PerToken:
        """Weight of each token."""
        return self.first(batch, log_prob) * self.second(batch, log_prob)

    def __repr__(self) -> str:
        names = (getattr(f, "__name__", None) or repr(f) for f in (self.first, self.second))
        return " * ".join(names)


@torch.no_grad()
def corrected(
    correction: float | Correction, batch: Batch, log_prob: PerToken
) -> tuple[Batch, PerToken]:
    """The batch with the advantages that a loss is to see, and the weights of its tokens' losses.

    Args:
        correction: A function, or the cap of `truncated_weight`.
        batch: With `sampler_log_prob`; without, the sampler is the trainer and every k is 1.
        log_prob: Under the policy being trained.
    """
    weight = torch.ones_like(log_prob)
    for part in _parts(correction):
        factor = part(batch, log_prob)
        if isinstance(part, off_policy_mask):
            batch = replace(batch, advantage=batch.advantage * factor)
        else:
            weight = weight * factor
    return batch, weight


def rejected(correction: Correction, batch: Batch, log_prob: PerToken) -> Mask:
    """True on tokens whose loss, or advantage, a correction makes 0."""
    return (correction(batch, log_prob.detach()) == 0) & batch.mask


def _parts(correction: float | Correction) -> tuple[Correction, ...]:
    if isinstance(correction, product):
        return *_parts(correction.first), *_parts(correction.second)
    return (correction if callable(correction) else truncated_weight(correction),)
