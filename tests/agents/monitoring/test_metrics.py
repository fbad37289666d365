"""The tokens that the log counts as clipped: those whose gradient the clip changes."""

import math
from dataclasses import dataclass, replace

import pytest
import torch

from agents.cispo import CISPO
from agents.cpgd import CPGD
from agents.dapo import DAPO
from agents.gpg import GPG
from agents.grpo import GRPO
from agents.learner import Learner
from agents.losses import clipped_tokens, per_response, record_clipped, slope, truncated
from agents.reductions import sequence_mean
from agents.rollout import Batch
from agents.rpg import RPG

RATIOS = (0.5, 0.79, 0.81, 1.0, 1.19, 1.27, 1.29, 2.9, 3.1, 10.0)


def batch_of(advantage, ratios=RATIOS):
    """A response of one token for each ratio to the old policy; and their log-probabilities."""
    log_prob = torch.tensor(ratios, dtype=torch.float64).log()[:, None] - 3
    old = torch.full_like(log_prob, -3.0)
    mask = torch.ones_like(log_prob, dtype=torch.bool)
    return log_prob, Batch(mask, torch.full_like(old, advantage), old, old, old)


def clipped(learner, log_prob, batch):
    """The tokens that a loss says it has clipped."""
    with clipped_tokens() as masks:
        learner.weighted(log_prob, batch, torch.ones(len(log_prob), dtype=log_prob.dtype))
    return sum(masks, torch.zeros_like(batch.mask)) & batch.mask


WIDE = {"clip_low": math.nextafter(1.0, 0.0), "clip_high": 1e30, "dual_clip": 1e30}


def with_another_gradient(learner, log_prob, batch):
    """The tokens whose gradient changes where all bounds are beyond every ratio."""
    bounds = {name: wide for name, wide in WIDE.items() if getattr(learner, name, None) is not None}
    log_prob = log_prob.where(batch.mask, 0.0)
    here, free = (
        slope(lambda x, of=of: of.loss(x, batch).where(batch.mask, 0.0), log_prob)
        for of in (learner, replace(learner, **bounds))
    )
    return (here != free) & batch.mask


def clipped_ratios(learner, advantage) -> list[float]:
    """The ratios at which a token is clipped."""
    log_prob, batch = batch_of(advantage)
    clip = clipped(learner, log_prob, batch)
    assert torch.equal(clip, with_another_gradient(learner, log_prob, batch))
    return [
        ratio for ratio, is_clipped in zip(RATIOS, clip[:, 0].tolist(), strict=True) if is_clipped
    ]


@dataclass(frozen=True, kw_only=True)
class Own(Learner):
    """A user's algorithm, with a bound that cannot be None."""

    clip_high: float = 0.28

    def advantage(self, reward):
        return reward

    def loss(self, log_prob, batch):
        ratio, bound = (log_prob - batch.old_log_prob).exp(), 1 + self.clip_high
        record_clipped((ratio > bound) & (batch.advantage != 0))
        return -ratio.clamp(max=bound).detach() * batch.advantage * log_prob


LOW, HIGH = list(RATIOS[:2]), list(RATIOS[6:])


@pytest.mark.parametrize(
    ("learner", "up", "down"),
    [
        (GRPO(), [1.27, *HIGH], LOW),
        (GRPO(beta=None, clip_high=0.28), HIGH, LOW),
        (GRPO(dual_clip=3.0), [1.27, *HIGH], [*LOW, 3.1, 10.0]),
        (GRPO(clip_low=None, clip_high=None), [], []),
        (GRPO(clip_low=None, clip_high=None, dual_clip=2.0), [], [2.9, 3.1, 10.0]),
        (DAPO(), HIGH, LOW),
        (CPGD(), [1.27, *HIGH], LOW),
        (CPGD(clip_low=None, clip_high=None), [], []),
        (CISPO(clip_high=0.28), HIGH, HIGH),
        (CISPO(clip_low=0.2, clip_high=0.28), [*LOW, *HIGH], [*LOW, *HIGH]),
        (RPG(beta=None, dual_clip=3.0), HIGH, [*LOW, 3.1, 10.0]),
        (RPG(beta=None, clip=truncated), [*LOW, *HIGH], [*LOW, *HIGH]),
        (RPG(clip=truncated, kl_in_clip=False), [*LOW, *HIGH], [*LOW, *HIGH]),
        (GPG(), [], []),
        (Own(), HIGH, HIGH),
    ],
)
def test_the_clipped_tokens_are_those_of_the_golden_table(learner, up, down):
    assert clipped_ratios(learner, 1.0) == up
    assert clipped_ratios(learner, -1.0) == down
    assert clipped_ratios(learner, 0.0) == []


def test_a_schedule_bounds_early_tokens_tighter():
    log_prob = torch.full((1, 4), math.log(1.15), dtype=torch.float64)
    old = torch.zeros_like(log_prob)
    batch = Batch(torch.ones(1, 4, dtype=torch.bool), old + 1, old, old)
    assert clipped(CPGD(clip_schedule=0.0), log_prob, batch).tolist() == [
        [True, True, False, False]
    ]
    assert not clipped(CPGD(), log_prob, batch).any()


def test_a_response_is_clipped_as_a_whole_where_its_ratio_is_one_of_the_whole():
    log_prob = torch.tensor([[0.1, 0.1, 0.0], [0.1, 0.0, 0.0]], dtype=torch.float64)
    old = torch.zeros_like(log_prob)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    batch = Batch(mask, old + 1, old, old)
    assert clipped(CPGD(level=per_response, reduction=sequence_mean), log_prob, batch).tolist() == [
        [True, True, False],
        [False, False, False],
    ]


def test_padding_is_never_clipped():
    log_prob, batch = batch_of(1.0, (10.0, 10.0))
    batch.mask[1] = False
    batch.old_log_prob[1] = math.nan
    assert clipped(GRPO(), log_prob, batch).tolist() == [[True], [False]]
