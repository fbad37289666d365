"""Losses of tokens, to be minimised: pure functions `[b t]` to `[b t]`.

They know no masks: what they give on padding means nothing. Only `log_prob` carries a gradient.
In formulas π is the policy being trained, w = π / π_old a token's ratio, u = ln w, A its advantage.
"""

import torch
from torch import Tensor

from agents.rollout import PerToken

Bound = float | PerToken | None
"""Distance of a clip bound from a ratio of 1, for all tokens or for each; None for no bound."""


def reinforce(log_prob: PerToken, advantage: PerToken) -> PerToken:
    """-A ln π: its gradient, on samples of π itself, is that of the expected reward.

    Source: Williams, Simple Statistical Gradient-Following Algorithms (1992).
    """
    return -advantage * log_prob


def clipped_log_ratio(
    log_prob: PerToken, old_log_prob: PerToken, advantage: PerToken, low: Bound, high: Bound
) -> PerToken:
    """-min(u A, clip(u, ln(1 - low), ln(1 + high)) A): the policy gradient, kept near π_old.

    The slope in ln π is -A, without the ratio that PPO multiplies by, and 0 where the ratio has
    left [1 - low, 1 + high] in the direction that the advantage favors; on a bound it is still -A.
    The minimum makes the upper bound one of positive advantages and the lower one of negative.

    Source: CPGD (arXiv:2505.12504), Φ of eq. 2, where the bounds are printed in reverse.

    Args:
        log_prob: Under the policy being trained.
        old_log_prob: Under the policy that sampled.
        advantage: Of each token.
        low: Distance of the ratio's lower bound from 1, in [0, 1).
        high: Distance of the ratio's upper bound from 1, >= 0.
    """
    log_ratio = log_prob - old_log_prob
    held_down = log_ratio if high is None else log_ratio.clamp(max=_like(high, log_prob).log1p())
    held_up = log_ratio if low is None else log_ratio.clamp(min=_like(low, log_prob).neg().log1p())
    return -advantage * torch.where(advantage > 0, held_down, held_up)


def policy_drift(log_prob: PerToken, old_log_prob: PerToken, cap: float | None) -> PerToken:
    """min(sg(w) - 1, cap) ln π: a pull back to π_old of bounded strength.

    The slope in ln π is min(w - 1, cap): that of the k3 estimate of KL(π_old || π), capped. A cap
    on the ratio inside the estimate would leave a slope of -1 beyond it and push the ratio up.
    The value is no divergence; to look at one, take k3(log_prob - old_log_prob).

    Source: CPGD (arXiv:2505.12504), E of eq. 2, from eq. 5.

    Args:
        log_prob: Under the policy being trained.
        old_log_prob: Under the policy that sampled.
        cap: Largest slope, > 0, reached at a ratio of cap + 1; None for no cap.
    """
    slope = torch.expm1(log_prob.detach() - old_log_prob)
    return (slope if cap is None else slope.clamp(max=cap)) * log_prob


def _like(bound: float | Tensor, values: Tensor) -> Tensor:
    return torch.as_tensor(bound, dtype=values.dtype, device=values.device)
