"""`check_learner` reports the fault of each faulty learner, and none of the package's own."""

import math
import sys
from dataclasses import dataclass, field, fields

import pytest
import torch

from agents import references
from agents.advantages import Advantage, batch_centered, centered, clip_filter, raw
from agents.algorithms import ALGORITHMS, find_learner
from agents.cpgd import CPGD
from agents.dapo import DAPO
from agents.divergences import (
    forward_kl,
    reverse_kl,
    unnormalized_forward_kl,
    unnormalized_reverse_kl,
)
from agents.gpg import GPG
from agents.grpo import GRPO
from agents.learner import Learner
from agents.losses import differentiable, per_response, reinforce, truncated
from agents.reductions import constant_length, sequence_mean, token_mean
from agents.rloo import RLOO
from agents.rollout import Batch, Group, PerToken
from agents.rpg import RPG
from agents.testing import check_learner
from agents.testing.gradients import PROPERTIES


@dataclass(frozen=True, kw_only=True)
class Plain(Learner):
    """The policy gradient with importance weights: nothing is wrong with it."""

    advantage_function: Advantage = centered

    def advantage(self, reward: Group) -> Group:
        return self.advantage_function(reward)

    def loss(self, log_prob: PerToken, batch: Batch) -> PerToken:
        return -(log_prob - batch.old_log_prob).exp() * batch.advantage


@dataclass(frozen=True, kw_only=True)
class Forgetful(Plain):
    calls: list = field(default_factory=list)

    def loss(self, log_prob, batch):
        self.calls.append(1)
        return len(self.calls) * super().loss(log_prob, batch)


class Unmasked(Plain):
    def loss(self, log_prob, batch):
        baseline = batch.old_log_prob.mean(-1, keepdim=True)
        return -(log_prob - baseline) * batch.advantage


class Wide(Plain):
    def loss(self, log_prob, batch):
        return super().loss(log_prob, batch) / log_prob.shape[1]


class Positional(Plain):
    def loss(self, log_prob, batch):
        return super().loss(log_prob, batch) * (1 + torch.arange(log_prob.shape[1]))


def unguarded_mean(lengths, group_size):
    return 1 / (len(lengths) * lengths.double())


class FirstIsBaseline(Plain):
    def advantage(self, reward):
        return reward - reward[:, :1]


class NeighborIsBaseline(Plain):
    def advantage(self, reward):
        return reward - reward.mean(-1, keepdim=True).roll(1, 0)


class NoEpsilon(Plain):
    def advantage(self, reward):
        return (reward - reward.mean(-1, keepdim=True)) / reward.std(-1, keepdim=True)


class SmallEpsilon(Plain):
    def advantage(self, reward):
        return (reward - reward.mean(-1, keepdim=True)) / (reward.std(-1, keepdim=True) + 1e-9)


class LargerEpsilon(Plain):
    """That of much released code, by which rounding errors of rewards become advantages."""

    def advantage(self, reward):
        return (reward - reward.mean(-1, keepdim=True)) / (reward.std(-1, keepdim=True) + 1e-6)


class RoundedDrift(Plain):
    """A drift whose slope is 0 at equal policies but for rounding."""

    def loss(self, log_prob, batch):
        pull = log_prob - ((batch.old_log_prob + 7) - 7)
        return super().loss(log_prob, batch) + 0.1 * pull.detach() * log_prob


class SignOfAdvantage(Plain):
    def loss(self, log_prob, batch):
        return torch.where(batch.advantage > 0, -log_prob, log_prob)


class ScaledByReward(Plain):
    def advantage(self, reward):
        return self.advantage_function(reward) * reward


class SquaredRatio(Plain):
    def loss(self, log_prob, batch):
        return super().loss(log_prob, batch) * (log_prob - batch.old_log_prob).exp()


class HalfPrecision(Plain):
    def loss(self, log_prob, batch):
        ratio = (log_prob - batch.old_log_prob).exp()
        overflows = log_prob.dtype == torch.bfloat16 and (ratio > 65504).any()
        return -batch.advantage * (ratio * math.inf if overflows else ratio)


class CutWithoutDetach(Plain):
    def loss(self, log_prob, batch):
        u = log_prob - batch.old_log_prob
        return -batch.advantage * torch.where(u < 2, u.exp(), (u * u).exp())


class LastTokensTwice(Plain):
    """Takes a token before one without a loss for the last of its response."""

    def loss(self, log_prob, batch):
        follows = torch.nn.functional.pad(batch.mask, (0, 1))[:, 1:]
        return super().loss(log_prob, batch) * torch.where(follows, 1.0, 2.0)


class LostGradient(Plain):
    """`.data` cuts the graph where it was not meant to."""

    def loss(self, log_prob, batch):
        return -(log_prob.data - batch.old_log_prob).exp() * batch.advantage * log_prob


class Twice(torch.autograd.Function):
    """The identity, with a gradient that is not."""

    @staticmethod
    def forward(ctx, values):
        return values.clone()

    @staticmethod
    def backward(ctx, *gradient):
        return 2 * gradient[0]


class WrongBackward(Plain):
    def loss(self, log_prob, batch):
        return super().loss(Twice.apply(log_prob), batch)


class NoGradient(Plain):
    def loss(self, log_prob, batch):
        return super().loss(log_prob.detach(), batch)


class LocallyScaled(Plain):
    def loss(self, log_prob, batch):
        return super().loss(log_prob, batch) / len(log_prob)


class LocalReward(Plain):
    def token_advantage(self, batch, all_reduce):
        return batch.advantage / (1 + batch.advantage.abs().mean())


class AnotherUpdate(Plain):
    def compute_loss(self, *args, **kwargs):
        return 2 * super().compute_loss(*args, **kwargs)


class Failing(Plain):
    def loss(self, log_prob, batch):
        if len(log_prob) > 4:
            raise KeyError("more than four")
        return super().loss(log_prob, batch)


QUICK_FAULTS = [
    (Forgetful(), "equal arguments must give equal numbers"),
    (Wide(), "the amount of padding must not matter"),
    (Positional(), "the side of the padding must not matter"),
    (LastTokensTwice(), "tokens without a loss among others must not matter"),
    (Plain(reduction=unguarded_mean), "responses without tokens must do no harm"),
    (FirstIsBaseline(), "the order of responses in a group must not matter"),
    (SignOfAdvantage(), "an advantage of zero must give no signal"),
    (LostGradient(), "the gradient must be that of the loss"),
    (WrongBackward(), "the gradient must be that of the loss"),
    (NoGradient(), "equal arguments must give equal numbers"),
    (Failing(), "equal arguments must give equal numbers"),
]
LONG_FAULTS = [
    (Unmasked(), "what is outside the mask must not matter"),
    (NeighborIsBaseline(), "the order of groups must not matter"),
    (NoEpsilon(), "groups of equal rewards must give no signal"),
    (SmallEpsilon(), "groups of equal rewards must give no signal"),
    (LargerEpsilon(), "rounding errors of rewards must give no signal"),
    (RoundedDrift(), "without a signal nothing must change"),
    (ScaledByReward(), "a shift of the rewards must not matter"),
    (SquaredRatio(), "log-ratios of 50 must give finite numbers"),
    (HalfPrecision(), "log-ratios of 50 must give finite numbers"),
    (CutWithoutDetach(), "log-ratios of 50 must give finite numbers"),
    (LocallyScaled(), "microbatches must not matter"),
    (LocalReward(), "the number of ranks must not matter"),
    (AnotherUpdate(), "update must train on compute_loss"),
]
"""Faults of which the smallest failing example is sought for about a second or longer."""
LONG = pytest.mark.slow(reason="about a second for each; the quick faults go the same way")


def error_of(learner):
    with pytest.raises(AssertionError) as error_info:
        check_learner(learner, max_examples=8)
    return str(error_info.value)


@pytest.mark.parametrize(
    ("learner", "broken"),
    [*QUICK_FAULTS, *(pytest.param(*fault, marks=LONG) for fault in LONG_FAULTS)],
    ids=[type(learner).__name__ for learner, _ in QUICK_FAULTS + LONG_FAULTS],
)
def test_a_fault_is_reported_by_the_property_that_it_breaks(learner, broken):
    assert error_of(learner).split(":")[0] == broken


def test_there_is_a_faulty_learner_for_every_property():
    assert {message for _, message in QUICK_FAULTS + LONG_FAULTS} == set(PROPERTIES)


def learner_id(learner):
    values = (
        f"{f.name}={getattr(getattr(learner, f.name), '__name__', getattr(learner, f.name))}"
        for f in fields(learner)
        if getattr(learner, f.name) != f.default
    )
    return f"{type(learner).__name__}({', '.join(values)})"


UNCLIPPED = {"clip_low": None, "clip_high": None}
LEARNERS = [find_learner(name)() for name in ALGORITHMS]
VARIANTS = [
    CPGD(**UNCLIPPED, drift_coefficient=None, advantage_function=raw),
    CPGD(clip_schedule=0.3, drift_coefficient=0.5, drift_cap=0.5, sampler_correction=2.0),
    CPGD(beta=0.1, reduction=sequence_mean, advantage_function=clip_filter(cap=1.2)),
    CPGD(level=per_response, reduction=sequence_mean, divergence=reverse_kl, drift_coefficient=1.0),
    GRPO(beta=None, dual_clip=3.0, drift_coefficient=0.5, **UNCLIPPED),
    GRPO(beta=0.5, divergence=unnormalized_reverse_kl, reduction=token_mean),
    DAPO(dual_clip=10.0, reduction=constant_length(16)),
    RLOO(level=per_response, reduction=sequence_mean, **UNCLIPPED),
    GPG(divide_by_std=True, sampler_correction=0.5),
    *(
        # An estimator knows nothing of the divergence: each of both, and not all pairs.
        RPG(divergence=divergence, estimator=estimator, beta=0.5)
        for divergence, estimator in (
            (forward_kl, differentiable),
            (reverse_kl, reinforce),
            (unnormalized_forward_kl, reinforce),
            (unnormalized_reverse_kl, differentiable),
        )
    ),
    RPG(beta=0.5, reference=references.fixed, advantage_function=raw),
    RPG(beta=0.5, reference=references.fixed, kl_in_clip=False, estimator=reinforce),
    RPG(clip=truncated, beta=0.5, advantage_function=batch_centered),
    RPG(level=per_response, reduction=sequence_mean, beta=0.5, dual_clip=None, **UNCLIPPED),
]


OTHERS = pytest.mark.slow(reason="the whole contract for each learner; CPGD stays")


@pytest.mark.parametrize(
    "learner",
    [
        learner if type(learner) is CPGD else pytest.param(learner, marks=OTHERS)
        for learner in LEARNERS
    ],
    ids=learner_id,
)
def test_the_learners_of_the_package_have_no_fault_and_are_not_modified(learner):
    kind, before = type(learner), repr(learner)
    check_learner(learner, max_examples=8)
    assert (type(learner), repr(learner)) == (kind, before)


@pytest.mark.slow(reason="the whole contract for each of 17 settings")
@pytest.mark.parametrize("learner", VARIANTS, ids=learner_id)
def test_their_variants_have_no_fault(learner):
    check_learner(learner, max_examples=5)


def test_the_smallest_failing_example_is_shown_in_full():
    assert error_of(Wide()) == (
        "the amount of padding must not matter: the gradient of token [0, 0] is 0.25, and 0.125 "
        "with 1 more columns of padding\n"
        "  Wide(reduction=token_mean, sampler_correction=None, advantage_function=centered)\n"
        "  group_size    2\n"
        "  reward        [[0, 1]]\n"
        "  log_prob      [[-4], [-4]]\n"
        "  old_log_prob  [[-4], [-4]]"
    )


def test_an_error_of_the_learner_is_shown_with_the_example_and_kept_as_cause():
    with pytest.raises(AssertionError, match="KeyError: 'more than four'") as error_info:
        check_learner(Failing())
    assert isinstance(error_info.value.__cause__, KeyError)
    assert "reward" in str(error_info.value)


def test_without_hypothesis_the_error_names_the_package_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("agents.testing.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(
        ImportError, match=r"^check_learner needs hypothesis: pip install hypothesis$"
    ):
        check_learner(CPGD())
