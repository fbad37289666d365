"""Divergences over a vocabulary, by hand, and the algorithms with a teacher."""

import math
from dataclasses import replace

import pytest
import torch
from helpers.golden_algorithms import read

from agents.algorithms.opd import ESTIMATORS, OPD
from agents.algorithms.papo import PAPO
from agents.algorithms.sdpg import ANCHORS, SDPG
from agents.algorithms.sdpo import SDPO
from agents.dapo import DAPO
from agents.distillation import (
    divergence_of_logits,
    jensen_shannon,
    kl_from_teacher,
    kl_to_teacher,
    top_k,
)
from agents.errors import UsageError
from agents.grpo import GRPO
from agents.reductions import prompt_mean, token_mean

P, Q = (0.6, 0.3, 0.1), (0.2, 0.5, 0.3)


def kl(p, q):
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a)


def jsd(p, q, weight):
    mixture = [(1 - weight) * a + weight * b for a, b in zip(p, q, strict=True)]
    return (1 - weight) * kl(p, mixture) + weight * kl(q, mixture)


def whole(p):
    return [x / sum(p) for x in p]


BY_HAND = [
    (kl_to_teacher, kl(P, Q)),
    (kl_from_teacher, kl(Q, P)),
    (jensen_shannon(0.5), jsd(P, Q, 0.5)),
    (jensen_shannon(0.1), jsd(P, Q, 0.1)),
    (top_k(3, 1.0, False), kl(P, Q)),
    (top_k(1, 1.0), kl((0.6, 0.4), (0.2, 0.8))),
    (top_k(1, 0.0, True, "teacher"), kl((0.5, 0.5), (0.3, 0.7))),
    (top_k(2, 1.0, False), kl(whole(P[:2]), whole(Q[:2]))),
    (top_k(2, 0.25, False, "teacher"), jsd(whole(P[1:]), whole(Q[1:]), 0.25)),
]


def logits(values):
    return torch.tensor(values, dtype=torch.float64).log() + 2


@pytest.mark.parametrize(("divergence", "expected"), BY_HAND, ids=lambda x: str(x)[:30])
def test_a_divergence_by_hand_and_with_a_banned_token(divergence, expected):
    value = divergence_of_logits(divergence, logits([P]), logits([Q]))
    assert value.item() == pytest.approx(expected, rel=1e-9)
    banned = torch.full((1, 1), -torch.inf, dtype=torch.float64)
    own = torch.cat([logits([P]), banned], 1).requires_grad_()
    other = divergence_of_logits(divergence, own, torch.cat([logits([Q]), banned], 1))
    assert other.item() == pytest.approx(expected, rel=1e-6)
    (slope,) = torch.autograd.grad(other.sum(), own)
    assert slope.isfinite().all()
    assert slope[0, 3] == 0


@pytest.mark.parametrize("weight", [0, 0.001, 0.1, 0.5, 0.9, 0.999, 1])
def test_values_and_slopes_are_those_of_the_golden_table(weight, shared):
    table = read(shared / "golden/algorithms_open.json")["tables"]["divergence"]
    rows = {row["alpha"]: row for row in table["rows"]}
    ends = {0: kl_from_teacher, 1: kl_to_teacher}
    own = logits([table["student"]]).requires_grad_()
    divergence = ends[weight] if weight in ends else jensen_shannon(weight)
    value = divergence_of_logits(divergence, own, logits([table["teacher"]]))
    (slope,) = torch.autograd.grad(value.sum(), own)
    assert value.item() == pytest.approx(rows[weight]["value"], rel=1e-9)
    assert slope[0].tolist() == pytest.approx(rows[weight]["gradient_logits"], abs=1e-12)


def test_the_weight_of_sdpg_is_that_of_the_golden_table(shared):
    table = read(shared / "golden/algorithms_open.json")["tables"]["sdpg_beta"]
    for row in table["rows"]:
        learner = SDPG(beta=2.0, warmup=row["warm_up"], decay=row["decay"])
        beta = learner.at_step(row["step"], row["total"]).beta
        assert beta == pytest.approx(2 * row["factor"], rel=1e-9)


def test_the_weight_of_sdpg_rises_falls_and_ends_at_zero():
    learner = SDPG(beta=2.0, warmup=4, decay=10)
    weights = [learner.at_step(k, 20).beta for k in (1, 4, 10, 15, 20)]
    assert weights == [0.5, 2.0, 2.0, 1.0, 0.0]
    assert replace(learner, warmup=0, decay=0).at_step(20, 20).beta == 2.0


@pytest.mark.parametrize("weight", [0.0, 1.0, -0.5])
def test_a_weight_outside_the_open_interval_is_refused_in_one_line(weight):
    with pytest.raises(UsageError, match=rf"^jensen_shannon got the weight {weight}: give one"):
        jensen_shannon(weight)


@pytest.mark.parametrize(
    ("name", "divergence"),
    [
        *((name, kl_from_teacher if name == "k3" else kl_to_teacher) for name in ESTIMATORS),
        *((name, kl_to_teacher) for name in ("urkl", "rkl")),
        *((name, kl_from_teacher) for name in ("ufkl", "fkl")),
    ],
)
def test_on_policy_the_expected_gradient_of_an_estimator_is_that_of_its_divergence(
    name, divergence
):
    estimator = {**ESTIMATORS, **ANCHORS}[name]
    own = logits([P]).requires_grad_()
    log_prob, teacher = own.log_softmax(-1), logits([Q]).log_softmax(-1)
    losses = estimator(log_prob, log_prob.detach(), teacher)
    (slope,) = torch.autograd.grad((log_prob.exp().detach() * losses).sum(), own)
    (expected,) = torch.autograd.grad(divergence_of_logits(divergence, own, logits([Q])), own)
    torch.testing.assert_close(slope, expected)


def arguments(seed=0, b=6, t=4):
    generator = torch.Generator().manual_seed(seed)
    log_prob, old, ref = (
        -torch.rand(b, t, generator=generator, dtype=torch.float64) - 0.5 for _ in range(3)
    )
    mask = torch.arange(t) < torch.tensor([4, 2, 3, 1, 4, 4])[:, None]
    reward = torch.tensor([1.0, 0, 0.5, 0, 0, 1], dtype=torch.float64)
    return (log_prob.requires_grad_(), old, reward, mask, 3, ref), torch.rand(
        b, t, generator=generator, dtype=torch.float64
    )


def loss_and_slope(learner, given, **further):
    loss = learner.compute_loss(*given, **further)
    return loss, torch.autograd.grad(loss, given[0])[0]


@pytest.mark.parametrize(
    ("learner", "plain"),
    [
        (
            SDPG(beta=0.0, alpha=0.0, dual_clip=None),
            DAPO(reduction=prompt_mean),
        ),
        (PAPO(gamma=0.0), GRPO(beta=0.01, clip_high=0.3, dual_clip=3.0, reduction=token_mean)),
    ],
)
def test_without_its_second_context_an_algorithm_is_the_one_that_it_extends(learner, plain):
    given, values = arguments()
    name = learner.second_context.value
    one = loss_and_slope(learner, given, **{name: values})
    torch.testing.assert_close(one, loss_and_slope(plain, given))


def test_sdpg_distils_responses_with_a_positive_advantage_and_divides_by_all_tokens():
    given, divergence = arguments()
    learner = SDPG(beta=1.0, alpha=0.0, advantage_function=lambda r: r - 0.6)
    plain = replace(learner, beta=0.0)
    pair = (x.compute_loss(*given, divergence=divergence) for x in (learner, plain))
    extra = next(pair) - next(pair)
    own = [divergence[i][given[3][i]].sum() for i in (0, 5)]  # rewards 1, above 0.6
    assert extra.item() == pytest.approx((own[0] / 9 + own[1] / 9).item() / 2)
    ungated = replace(learner, gate=False).compute_loss(*given, divergence=divergence)
    assert ungated > learner.compute_loss(*given, divergence=divergence)


def test_responses_without_a_context_leave_the_mean_or_have_no_divergence():
    given, divergence = arguments()
    distilled = torch.tensor([True, False, True, True, False, True])
    further = {"divergence": divergence, "distilled": distilled}
    learner = SDPO(ratio_cap=None)
    own = divergence[given[3] & distilled[:, None]]
    assert learner.compute_loss(*given, **further).item() == pytest.approx(own.mean().item())
    beside = OPD(divergence=kl_to_teacher, reward_weight=1.0)
    rewarded = beside.compute_loss(*given, **further)
    alone = beside.compute_loss(*given, divergence=0 * divergence, distilled=distilled)
    assert (rewarded - alone).item() == pytest.approx((own.sum() / given[3].sum()).item())


@pytest.mark.parametrize("learner", [OPD(estimator="k2", reward_weight=1.0), PAPO(gamma=1.0)])
def test_without_a_context_the_sampled_tokens_have_no_divergence_either(learner):
    given, values = arguments()
    name, distilled = learner.second_context.name, torch.tensor([True, False] * 3)
    others = values + (~distilled[:, None]).double()  # other values where there is no context
    one, two = (
        learner.compute_loss(*given, **{name: x, "distilled": distilled}) for x in (values, others)
    )
    torch.testing.assert_close(one, two)
    assert not torch.isclose(learner.compute_loss(*given, **{name: others}), one)


def test_a_ratio_far_above_its_cap_weighs_no_more():
    given, divergence = arguments()
    far = (given[0], given[1] - 5, *given[2:])
    learner = SDPO(ratio_cap=2.0)
    twice = learner.compute_loss(*far, divergence=divergence)
    once = replace(learner, ratio_cap=None).compute_loss(*far, divergence=divergence)
    assert twice.item() == pytest.approx(2 * once.item())
