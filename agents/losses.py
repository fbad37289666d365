"""Token losses, to be minimised: functions `[b t]` to `[b t]`; and the ratios that they look at.

They know no masks: values on padding mean nothing. Only `log_prob` carries a gradient. In formulas
π is the policy being trained, w = π / π_old a token's ratio, u = ln w, A its advantage.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from agents.divergences import Divergence, unnormalized_forward_kl
from agents.rollout import Batch, Mask, PerToken

Bound = float | PerToken | None
"""Distance of a clip bound from a ratio of 1, for all tokens or for each; None for no bound."""
Clip = Callable[[PerToken, PerToken, Bound, Bound, float | None], PerToken]
"""Log-ratio, credit, low, high and dual clip, to the log-ratio that a loss looks at."""
Function = Callable[[PerToken], PerToken]
"""Loss of each token as a function of ln π."""
Estimator = Callable[[Function, PerToken], PerToken]
"""A loss with the gradient of a function of ln π, at ln π."""
Level = Callable[[PerToken, Mask], PerToken]
"""Log-probabilities of tokens and the mask, to those of the actions that a ratio compares."""


def policy_gradient(log_prob: PerToken, advantage: PerToken) -> PerToken:
    """-A ln π: its gradient, on samples of π itself, is that of the expected reward.

    Source: Williams, Simple Statistical Gradient-Following Algorithms (1992).
    """
    return -advantage * log_prob


def clipped_ratio(
    log_prob: PerToken,
    old_log_prob: PerToken,
    advantage: PerToken,
    low: Bound,
    high: Bound,
    dual: float | None = None,
) -> PerToken:
    """-min(w A, clip(w, 1 - low, 1 + high) A), and at most -dual A where A < 0.

    The slope in ln π is -w A, and 0 where the ratio has left [1 - low, 1 + high] in the direction
    that the advantage favors. Without `dual` nothing bounds the slope of a token that a negative
    advantage pushes down from a large ratio; with it the slope there is 0 too.

    Source: Schulman et al., Proximal Policy Optimization (arXiv:1707.06347), eq. 7; Ye et al.,
    Mastering Complex Control in MOBA Games (arXiv:1912.09729), eq. 5, for `dual`.

    Args:
        log_prob: Under the policy being trained.
        old_log_prob: Under the policy that sampled.
        advantage: Of each token.
        low: Distance of the ratio's lower bound from 1, in [0, 1).
        high: Distance of the ratio's upper bound from 1, >= 0.
        dual: Largest ratio where the advantage is negative, > 1.
    """
    return -advantage * masked(log_prob - old_log_prob, advantage, low, high, dual).exp()


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
    return -advantage * masked(log_prob - old_log_prob, advantage, low, high)


def policy_drift(
    log_prob: PerToken,
    old_log_prob: PerToken,
    cap: float | None,
    divergence: Divergence = unnormalized_forward_kl,
) -> PerToken:
    """min(sg(k'), cap) ln π: a pull back to π_old of bounded strength.

    k' is the slope of the divergence from π_old, by default the k3 estimate of KL(π_old || π):
    w - 1. A cap on the ratio inside the estimate would leave a slope of -1 beyond it and push the
    ratio up. The value is no divergence; the divergence itself gives that.

    Source: CPGD (arXiv:2505.12504), E of eq. 2, from eq. 5.

    Args:
        log_prob: Under the policy being trained.
        old_log_prob: Under the policy that sampled.
        cap: Largest slope, > 0; for the default, reached at a ratio of cap + 1. None for no cap.
        divergence: Between π and the old policy, which is its reference.
    """
    pull = slope(lambda x: divergence(x, old_log_prob, old_log_prob), log_prob)
    return (pull if cap is None else pull.clamp(max=cap)) * log_prob


def masked(
    log_ratio: PerToken, credit: PerToken, low: Bound, high: Bound, dual: float | None = None
) -> PerToken:
    """u, held at a bound where it has left the clip range in the direction that the credit favors.

    Any loss of the held ratio is the clipped one, and has no gradient where it is held. Positive
    credit is held at ln(1 + high); other credit at ln(1 - low) and ln(dual).
    """
    top = None if high is None else _like(high, log_ratio).log1p()
    bottom = None if low is None else _like(low, log_ratio).neg().log1p()
    down = log_ratio if top is None else log_ratio.clamp(max=top)
    up = log_ratio if bottom is None else log_ratio.clamp(min=bottom)
    up = up if dual is None else up.clamp(max=math.log(dual))
    bounded = torch.where(credit > 0, down, up)
    record_clipped((bounded != log_ratio) & (credit != 0))
    return bounded


def truncated(
    log_ratio: PerToken, credit: PerToken, low: Bound, high: Bound, dual: float | None = None
) -> PerToken:
    """u, cut to [ln(1 - low), ln(1 + high)] in value, while its gradient stays that of u.

    A loss -w A then has the slope -clip(w, 1 - low, 1 + high) A: every token goes on learning, with
    a bounded weight. `dual` is ignored.
    """
    with torch.no_grad():
        cut = log_ratio if high is None else log_ratio.clamp(max=_like(high, log_ratio).log1p())
        cut = cut if low is None else cut.clamp(min=_like(low, log_ratio).neg().log1p())
        step = cut - log_ratio
    record_clipped((cut != log_ratio) & (credit != 0))
    return log_ratio + step


_clipped_tokens: ContextVar[list[Mask] | None] = ContextVar("clipped_tokens", default=None)


@contextmanager
def clipped_tokens() -> Iterator[list[Mask]]:
    """List of the masks that `record_clipped` receives until the context ends.

    A training step computes its loss within, and so knows the clip fraction of any learner.
    """
    masks: list[Mask] = []
    token = _clipped_tokens.set(masks)
    try:
        yield masks
    finally:
        _clipped_tokens.reset(token)


def record_clipped(clipped: Mask) -> None:
    """Counts tokens as clipped in `policy/clip_fraction`; for losses with a clip of their own.

    The functions of this module call it themselves. It changes no loss.

    Args:
        clipped: True on tokens whose gradient the clip changes; padding may have any value.
    """
    masks = _clipped_tokens.get()
    if masks is not None:
        masks.append(clipped.detach())


def per_token(log_prob: PerToken, mask: Mask) -> PerToken:
    """Ln π(y_i | x, y_<i): each token is an action, as in every released code.

    On policy the gradients of the tokens add up to that of the response. Off policy a token's ratio
    leaves out the probability of the tokens before it, so the gradient of the reward is biased, and
    that of a reverse divergence; a forward one splits into tokens exactly.
    """
    return log_prob


def per_response(log_prob: PerToken, mask: Mask) -> PerToken:
    """Σ_i ln π(y_i | x, y_<i) at each token: the response is the action, as in the theory.

    Each token then has the loss of its whole response: `sequence_mean` gives their mean. The ratio
    of a response of hundreds of tokens is soon 0 or huge, so clip it.
    """
    return log_prob.where(mask, 0.0).sum(-1, keepdim=True).expand_as(log_prob)


def per_turn(log_prob: PerToken, mask: Mask) -> PerToken:
    """Σ_i ln π(y_i | x, y_<i) over the tokens of its turn, at each token: the turn is the action.

    Between `per_token` and `per_response`, for episodes: a turn begins where the mask does, as the
    environment's replies are outside it. Use `sequence_mean`, as for `per_response`.

    Source: ST-PPO (arXiv:2511.20718), whose ratio is that of a turn.
    """
    before = torch.nn.functional.pad(mask, (1, 0))[:, :-1]
    turn = (mask & ~before).cumsum(-1)
    sums = log_prob.new_zeros(len(mask), mask.shape[1] + 1)
    return sums.scatter_add(-1, turn, log_prob.where(mask, 0.0)).gather(-1, turn)


def geometric(log_prob: PerToken, mask: Mask) -> PerToken:
    """1/|y| Σ_i ln π(y_i | x, y_<i) at each token: its ratio is the geometric mean of the tokens'.

    The response is the action, but a ratio does not grow with its length; use `sequence_mean`, as
    for `per_response`. Source: Zheng et al., Group Sequence Policy Optimization (arXiv:2507.18071).
    """
    return per_response(log_prob, mask) / mask.sum(-1, keepdim=True).clamp(min=1)


def geometric_token(log_prob: PerToken, mask: Mask) -> PerToken:
    """`geometric` in value, with the gradient of ln π of the token itself.

    For advantages that differ within a response; with equal ones the gradient is that of
    `geometric`. Source: GSPO-token of the same paper.
    """
    return geometric(log_prob.detach(), mask) + log_prob - log_prob.detach()


def sampler_log_ratio(batch: Batch) -> PerToken:
    """Ln π_old / μ of each token; 0 on padding, and without log-probabilities of the sampler."""
    old, sampler = batch.old_log_prob, batch.sampler_log_prob
    log_ratio = torch.zeros_like(old) if sampler is None else old - sampler
    return log_ratio.where(batch.mask, 0.0)


def differentiable(function: Function, log_prob: PerToken) -> PerToken:
    """f(ln π): the function itself, RPG's fully differentiable form."""
    return function(log_prob)


def reinforce(function: Function, log_prob: PerToken) -> PerToken:
    """sg(f'(ln π)) ln π: the gradient of f with a weight that carries none, like REINFORCE.

    Source: RPG (arXiv:2505.17508), Table 2.
    """
    return slope(function, log_prob) * log_prob


@torch.enable_grad()
def slope(function: Function, log_prob: PerToken) -> PerToken:
    """f'(ln π) of each token, without gradient; f treats each token on its own."""
    point = log_prob.detach().clone().requires_grad_()
    return torch.autograd.grad(function(point).sum(), point)[0]


def _like(bound: float | Tensor, values: Tensor) -> Tensor:
    return torch.as_tensor(bound, dtype=values.dtype, device=values.device)
