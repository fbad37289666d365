"""Divergences between two policies, estimated from single samples.

An estimator k(u) of KL(q || p) takes the log ratio u = ln p(y) - ln q(y) of a sample y of q. Their
expectation is KL(q || p), that of k2 only nearly; they differ in noise and in their gradients.

Source: Schulman, Approximating KL Divergence (http://joschu.net/blog/kl-approx.html).
"""

import torch

from agents.rollout import PerToken


def k1(log_ratio: PerToken) -> PerToken:
    """-u: unbiased, of either sign; its slope is -1 whatever u is, so it holds nothing back."""
    return -log_ratio


def k2(log_ratio: PerToken) -> PerToken:
    """u² / 2: never negative; its bias is of third order in u, its slope u."""
    return log_ratio.square() / 2


def k3(log_ratio: PerToken) -> PerToken:
    """e^u - 1 - u: unbiased and never negative; its slope is e^u - 1.

    Of log_prob - old_log_prob it is the policy drift of CPGD (arXiv:2505.12504, eq. 4); of
    ref_log_prob - log_prob the reference penalty of GRPO. Finite up to u = 88 in float32 and
    bfloat16, and not cut there: a cut has no gradient just where one is needed.
    """
    return torch.expm1(log_ratio) - log_ratio
