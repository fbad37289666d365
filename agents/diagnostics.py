"""What is logged of an update, the same for every learner; nothing here carries a gradient."""

import math

import torch
from torch import Tensor

from agents.engines import TrainEngine
from agents.rollout import Batch, PerToken, Responses


def frozen_by_clip(
    log_ratio: Tensor, advantage: Tensor, low: float | None, high: float | None
) -> Tensor:
    """True where the ratio has left [1 - low, 1 + high] in the direction of the advantage."""
    above = log_ratio > (math.inf if high is None else math.log1p(high))
    below = log_ratio < (-math.inf if low is None else math.log1p(-low))
    return (above & (advantage > 0)) | (below & (advantage < 0))


@torch.no_grad()
def token_kl(log_prob: PerToken, batch: Batch) -> float:
    """Sum over tokens of the estimate w (1/ρ - 1 + ln ρ) of KL(policy || reference).

    With w = π/π_old and ρ = π/π_ref it is never negative and, given the tokens before, unbiased.
    0 without a reference.
    """
    if batch.ref_log_prob is None:
        return 0.0
    kept = [x[batch.mask].double() for x in (log_prob, batch.old_log_prob, batch.ref_log_prob)]
    here, old, ref = kept
    return ((here - old).exp() * (torch.expm1(ref - here) + here - ref)).sum().item()


class Statistics:
    """Sums over the tokens of an update, on all ranks, and what they come to."""

    def __init__(self, clip_low: float | None, clip_high: float | None) -> None:
        self.clip_low, self.clip_high = clip_low, clip_high
        self.sums = torch.zeros(4, dtype=torch.float64)
        self.extremes = torch.full((2,), -math.inf, dtype=torch.float64)

    @torch.no_grad()
    def add(self, log_prob: PerToken, entropy: PerToken, batch: Batch) -> None:
        """Counts the tokens of a microbatch."""
        u = (log_prob - batch.old_log_prob)[batch.mask].double().cpu()
        if not len(u):
            return
        frozen = frozen_by_clip(u, batch.advantage[batch.mask].cpu(), self.clip_low, self.clip_high)
        drift = torch.expm1(u) - u
        parts = [torch.ones_like(u), drift, entropy[batch.mask].double().cpu(), frozen.double()]
        self.sums += torch.stack([part.sum() for part in parts])
        self.extremes = torch.maximum(self.extremes, torch.stack([u.max(), (-u).max()]))

    def metrics(self, engine: TrainEngine) -> dict[str, float]:
        """Means over the tokens of all ranks, and the most extreme ratios."""
        tokens, drift, entropy, frozen = engine.gather(self.sums[None]).sum(0).tolist()
        highest, lowest = engine.gather(self.extremes[None]).amax(0).tolist()
        return {
            "policy/ratio_max": math.exp(min(highest, 700.0)),
            "policy/ratio_min": math.exp(-lowest),
            "policy/clip_fraction": frozen / max(1.0, tokens),
            "policy/kl_old": drift / max(1.0, tokens),
            "policy/entropy": entropy / max(1.0, tokens),
        }


def rollout_metrics(
    responses: Responses, old_log_prob: PerToken, engine: TrainEngine
) -> dict[str, float]:
    """Lengths in tokens, and how far sampler and trainer are apart in log-probability, in nats."""
    difference = (responses.sampler_log_prob - old_log_prob.cpu()).abs()[responses.mask].double()
    lengths = responses.lengths.double()
    cut = (~responses.finished).double()
    sums = torch.stack(
        [difference.sum(), lengths.sum(), cut.sum(), torch.tensor(float(len(responses)))]
    )
    total, tokens, truncated, count = engine.gather(sums[None].double()).sum(0).tolist()
    widest = engine.gather(difference.max()[None]).max().item() if len(difference) else 0.0
    return {
        "response/length_mean": tokens / count,
        "response/truncated": truncated / count,
        "sampler/log_prob_diff_mean": total / max(1.0, tokens),
        "sampler/log_prob_diff_max": widest,
    }
