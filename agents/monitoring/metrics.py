"""What is logged of an update, the same for every learner; nothing here carries a gradient."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from agents.engines import TrainEngine
from agents.losses import slope
from agents.rollout import Batch, Mask, PerToken, Responses

if TYPE_CHECKING:
    from agents.learner import Learner


WIDE = {"clip_low": math.nextafter(1.0, 0.0), "clip_high": 1e30, "dual_clip": 1e30}
"""Bounds of a clip that no ratio reaches."""


def clipped(learner: "Learner", log_prob: PerToken, batch: Batch) -> Mask:
    """Tokens whose gradient the clip of a learner changes, whatever the kind of clip.

    Found by widening the fields `clip_low`, `clip_high` and `dual_clip`, so that it holds for a
    schedule, a dual clip, one that cuts weights, one of whole responses.
    """
    wide = {name: value for name, value in WIDE.items() if getattr(learner, name, None) is not None}
    if not wide:
        return torch.zeros_like(batch.mask)
    log_prob = log_prob.detach().where(batch.mask, 0.0)
    here, free = (
        slope(lambda x, of=of: of.loss(x, batch).where(batch.mask, 0.0), log_prob)
        for of in (learner, replace(learner, **wide))
    )
    return (here != free) & batch.mask


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

    def __init__(self) -> None:
        self.sums = torch.zeros(4, dtype=torch.float64)
        self.extremes = torch.full((2,), -math.inf, dtype=torch.float64)

    @torch.no_grad()
    def add(self, log_prob: PerToken, entropy: PerToken, clipped: Mask, batch: Batch) -> None:
        """Counts the tokens of a microbatch."""
        u = (log_prob - batch.old_log_prob)[batch.mask].double().cpu()
        if not len(u):
            return
        drift = torch.expm1(u) - u
        seen = [value[batch.mask].double().cpu() for value in (entropy, clipped)]
        parts = [torch.ones_like(u), drift, *seen]
        self.sums += torch.stack([part.sum() for part in parts])
        self.extremes = torch.maximum(self.extremes, torch.stack([u.max(), (-u).max()]))

    def metrics(self, engine: TrainEngine) -> dict[str, float]:
        """Means over the tokens of all ranks, and the most extreme ratios."""
        tokens, drift, entropy, clipped = engine.all_gather(self.sums[None]).sum(0).tolist()
        highest, lowest = engine.all_gather(self.extremes[None]).amax(0).tolist()
        return {
            "policy/ratio_max": math.exp(min(highest, 700.0)),
            "policy/ratio_min": math.exp(min(-lowest, 700.0)),
            "policy/clip_fraction": clipped / max(1.0, tokens),
            "policy/kl_old": drift / max(1.0, tokens),
            "policy/entropy": entropy / max(1.0, tokens),
        }


def rollout_metrics(
    responses: Responses, old_log_prob: PerToken, engine: TrainEngine
) -> dict[str, float]:
    """Lengths in tokens, and how far sampler and trainer are apart in log-probability, in nats.

    The distance is over the tokens whose log-probability the sampler told, and is left out where
    it told none.
    """
    sampler, lengths = responses.sampler_log_prob, responses.lengths.double()
    told = responses.mask & ~sampler.isnan()
    difference = (sampler - old_log_prob.cpu()).abs()[told].double()
    cut, count = (~responses.finished).double(), float(len(responses))
    mine = [difference.sum(), told.sum(), lengths.sum(), cut.sum(), torch.tensor(count)]
    sums = torch.stack([value.double() for value in mine])
    total, compared, tokens, truncated, count = engine.all_gather(sums[None]).sum(0).tolist()
    # A rank without a single token gathers too, or the others would wait for ever.
    widest = engine.all_gather(torch.cat([difference, difference.new_zeros(1)]).amax()[None]).max()
    metrics = {"response/length_mean": tokens / count, "response/truncated": truncated / count}
    if compared or not tokens:
        metrics["sampler/log_prob_diff_mean"] = total / max(1.0, compared)
        metrics["sampler/log_prob_diff_max"] = widest.item()
    return metrics
