"""Divergences between policies, estimated from single samples of π_old.

A divergence takes ln π, ln π_old and ln π_ref of tokens or of responses and gives a value for each.
Its expectation under π_old is the divergence; only ln π carries a gradient, and its slope in ln π
is what it adds to the weight of a sample. In formulas w = π / π_old, ρ = π / π_ref, v = π_ref /
π_old; where the old policy is the reference, ρ = w and v = 1. Finite as long as no log-ratio
exceeds 88, and not cut there: a cut has no gradient just where one is needed.

The four of RPG (Zhang et al., arXiv:2505.17508, Tables 1 and 4, for a reference of its own as
derived there) come in two pairs. For policies whose probabilities add up to one, the members of a
pair have one expectation and one expected gradient; the unnormalized ones have less noise, since
their slope is 0 at w = 1 where the reference is the old policy. The released code cuts a token's
value at ±10 and thereby loses the pull on ratios above about 6; these are not cut.

`k1`, `k2` and `k3` are Schulman's estimates of KL(π || π_ref) from samples of π itself
(http://joschu.net/blog/kl-approx.html). As losses they lack the ratio w of a sample that π_old
drew, and the gradient of that ratio: k3 so used, as in GRPO, pulls as if it were KL(π_ref || π).
"""

from collections.abc import Callable

import torch

from agents.rollout import PerToken

Divergence = Callable[[PerToken, PerToken, PerToken], PerToken]
"""ln π, ln π_old and ln π_ref, to a value."""


def forward_kl(log_prob: PerToken, old_log_prob: PerToken, ref_log_prob: PerToken) -> PerToken:
    """KL(π_ref || π) as -v ln ρ; slope -v.

    Its pull on each sample has the same strength however far the policy is: right only on average.
    RPG writes -ln π, another value with the same slope. With π_old for reference, k1 of CPGD's
    eq. 3.
    """
    return -(ref_log_prob - old_log_prob).exp() * (log_prob - ref_log_prob)


def reverse_kl(log_prob: PerToken, old_log_prob: PerToken, ref_log_prob: PerToken) -> PerToken:
    """KL(π || π_ref) as w ln ρ; slope w (ln ρ + 1)."""
    return (log_prob - old_log_prob).exp() * (log_prob - ref_log_prob)


def unnormalized_forward_kl(
    log_prob: PerToken, old_log_prob: PerToken, ref_log_prob: PerToken
) -> PerToken:
    """∫ π_ref ln(π_ref / π) + ∫ (π - π_ref) as w - v - v ln ρ; slope w - v.

    It is v (ρ - 1 - ln ρ), so never negative. With π_old for reference, the policy drift of CPGD
    (arXiv:2505.12504), eq. 4, w - 1 - ln w.
    """
    mass = (ref_log_prob - old_log_prob).exp()
    return (log_prob - old_log_prob).exp() - mass - mass * (log_prob - ref_log_prob)


def unnormalized_reverse_kl(
    log_prob: PerToken, old_log_prob: PerToken, ref_log_prob: PerToken
) -> PerToken:
    """∫ π ln(π / π_ref) + ∫ (π_ref - π) as w ln ρ - w + v; slope w ln ρ.

    It is w k3, so never negative: the penalty of GRPO with the ratio that it lacks. The final
    version of RPG drops the v, which no gradient sees.
    """
    ratio, mass = (log_prob - old_log_prob).exp(), (ref_log_prob - old_log_prob).exp()
    return ratio * (log_prob - ref_log_prob - 1) + mass


def k1(log_prob: PerToken, old_log_prob: PerToken, ref_log_prob: PerToken) -> PerToken:
    """KL(π || π_ref) as ln ρ: of either sign; its slope 1 says nothing of the reference."""
    return log_prob - ref_log_prob


def k2(log_prob: PerToken, old_log_prob: PerToken, ref_log_prob: PerToken) -> PerToken:
    """KL(π || π_ref) as (ln ρ)² / 2: biased, but its slope ln ρ is right on samples of π."""
    return (log_prob - ref_log_prob).square() / 2


def k3(log_prob: PerToken, old_log_prob: PerToken, ref_log_prob: PerToken) -> PerToken:
    """KL(π || π_ref) as 1 / ρ - 1 + ln ρ: never negative; slope 1 - 1 / ρ.

    The reference penalty of GRPO as published (arXiv:2402.03300, eq. 4).
    """
    log_ratio = ref_log_prob - log_prob
    return torch.expm1(log_ratio) - log_ratio
