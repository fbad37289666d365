"""Metrics of an update and its rollout, the same for every learner; none carries a gradient."""

import math

import torch

from agents.engines import TrainEngine
from agents.rollout import Batch, Mask, PerToken, Responses


@torch.no_grad()
def token_kl(log_prob: PerToken, batch: Batch) -> float:
    """Sum over tokens of the estimate w (1/ρ - 1 + ln ρ) of KL(policy || reference).

    With w = π/π_old and ρ = π/π_ref it is never negative and, given the tokens before, unbiased.
    0 without a reference.
    """
    if batch.ref_log_prob is None:
        return 0.0
    policies = log_prob, batch.old_log_prob, batch.ref_log_prob
    new, old, ref = (x[batch.mask].double() for x in policies)
    return ((new - old).exp() * (torch.expm1(ref - new) + new - ref)).sum().item()


class Statistics:
    """Sums over the tokens of an update, for means and extremes over all ranks."""

    def __init__(self) -> None:
        self.sums = torch.zeros(4, dtype=torch.float64)
        self.extremes = torch.full((2,), -math.inf, dtype=torch.float64)
        self.rejected = torch.zeros(3, dtype=torch.float64)

    @torch.no_grad()
    def add(self, log_prob: PerToken, entropy: PerToken, clipped: Mask, batch: Batch) -> None:
        """Counts the tokens of a microbatch."""
        rows = log_prob - batch.old_log_prob, entropy, clipped, batch.mask
        # In one copy from a GPU, for which the CPU waits.
        *values, mask = torch.stack([row.to(log_prob) for row in rows]).double().cpu()
        u, *others = (value[mask > 0] for value in values)
        if not len(u):
            return
        parts = [torch.ones_like(u), torch.expm1(u) - u, *others]
        self.sums += torch.stack([part.sum() for part in parts])
        self.extremes = torch.maximum(self.extremes, torch.stack([u.max(), (-u).max()]))

    def add_rejected(self, rejected: Mask, mask: Mask) -> None:
        """Counts what a correction for the sampler rejects in a microbatch."""
        responses = mask.any(-1)
        whole = responses & ~(mask & ~rejected).any(-1)
        self.rejected += torch.stack([rejected.sum(), whole.sum(), responses.sum()]).cpu()

    def metrics(self, engine: TrainEngine) -> dict[str, float]:
        """Means over the tokens of all ranks, and the most extreme ratios."""
        tokens, drift, entropy, clipped = engine.all_gather(self.sums[None]).sum(0).tolist()
        highest, lowest = engine.all_gather(self.extremes[None]).amax(0).tolist()
        rejected, whole, responses = engine.all_gather(self.rejected[None]).sum(0).tolist()
        tokens, metrics = max(1.0, tokens), {}
        if responses:  # with a correction that rejects
            metrics["sampler/rejected_tokens"] = rejected / tokens
            metrics["sampler/rejected_responses"] = whole / responses
        return metrics | {
            "policy/ratio_max": math.exp(min(highest, 700.0)),
            "policy/ratio_min": math.exp(min(-lowest, 700.0)),
            "policy/clip_fraction": clipped / tokens,
            "policy/kl_old": drift / tokens,
            "policy/entropy": entropy / tokens,
        }


def rollout_metrics(
    responses: Responses, old_log_prob: PerToken, engine: TrainEngine
) -> dict[str, float]:
    """Response lengths, and the log-probability difference between sampler and trainer.

    Lengths are in tokens, differences in nats, over the tokens whose log-probability the sampler
    returned; without any they are left out.
    """
    sampler, lengths = responses.sampler_log_prob, responses.sizes.double()
    has_log_prob = responses.mask & ~sampler.isnan()
    difference = (sampler - old_log_prob.cpu()).abs()[has_log_prob].double()
    parts = difference, has_log_prob, lengths, ~responses.finished, torch.ones(len(responses))
    local = torch.stack([part.sum().double() for part in parts])
    total, compared, tokens, truncated, count = engine.all_gather(local[None]).sum(0).tolist()
    # A rank without a single token gathers too, or the others would wait for ever.
    largest = engine.all_gather(torch.cat([difference, difference.new_zeros(1)]).amax()[None]).max()
    metrics = {"response/length_mean": tokens / count, "response/truncated": truncated / count}
    if compared or not tokens:
        metrics["sampler/log_prob_diff_mean"] = total / max(1.0, compared)
        metrics["sampler/log_prob_diff_max"] = largest.item()
    return metrics
