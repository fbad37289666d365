"""The weight of a token that another distribution gave than the one that the update assumes."""

import torch

from agents.rollout import Batch, PerToken


@torch.no_grad()
def sampler_weight(batch: Batch, cap: float) -> PerToken:
    """min(π_old / μ, c) of each token, where μ is the distribution that it was drawn from.

    An update takes the policy as the trainer computes it for the one that sampled. But the sampler
    has other kernels and another precision, and `top_p` and `top_k` cut its distribution off and
    renormalise what is left: an average over responses is one over μ. Weighted by π_old / μ, the
    loss of a token has the expectation that it would have under π_old, given the tokens before;
    only of what the sampler never draws it knows nothing. The ratio π / π_old stays what it is, 1
    before the first step, and its clip too: times this weight it is π / μ. The cap c trades bias
    for less variance.

    Source: Yao et al., Your Efficient RL Framework Secretly Brings You Off-Policy RL Training
    (2025). DeepSeek-V3.2 (arXiv:2512.02556), section 3.1, cuts the trained policy off as well,
    which needs the sampler's choices at every token.

    Args:
        batch: With `sampler_log_prob`; without, the sampler is the trainer and π_old / μ is 1.
        cap: c > 0.
    """
    old, sampler = batch.old_log_prob, batch.sampler_log_prob
    log_weight = torch.zeros_like(old) if sampler is None else old - sampler
    return log_weight.where(batch.mask, 0.0).exp().clamp(max=cap)
