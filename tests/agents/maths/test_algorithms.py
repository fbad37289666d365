"""What the algorithms of 2026 estimate and keep, by enumeration and identity."""

import itertools
import math
from functools import partial

import pytest
import torch
from helpers.golden_cases import DEFAULTS, case, loss_and_gradient, tensor

from agents.advantages import over_mean, pass_at_k
from agents.algorithms.clip_cov import ClipCov
from agents.algorithms.dppo import DPPO, binary_kl, binary_tv
from agents.algorithms.gdpo import GDPO
from agents.algorithms.gmpo import GMPO
from agents.algorithms.gspo import GSPO
from agents.algorithms.kl_cov import KLCov
from agents.algorithms.sapo import SAPO
from agents.cispo import CISPO
from agents.cli.flags import parse_run
from agents.dapo import DAPO
from agents.engines.bandit import BanditEngine, ThreadRanks, respond
from agents.errors import UsageError
from agents.grpo import GRPO
from agents.losses import geometric, geometric_token
from agents.reductions import sequence_mean, token_mean
from agents.rollout import Batch
from agents.training.update import Passes, update


def expected_gradient(advantage, size, rate):
    """Of 1/size Σ A d ln π over all groups of binary rewards, in the rate of success."""
    total = 0.0
    for outcome in itertools.product((0.0, 1.0), repeat=size):
        reward = tensor([outcome])
        chance = math.prod(rate if right else 1 - rate for right in outcome)
        score = reward / rate - (1 - reward) / (1 - rate)
        total += chance * (advantage(reward) * score).mean().item()
    return total


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
def test_maxrl_estimates_one_term_less_of_the_likelihood_than_there_are_responses(size, rate):
    def terms(count):
        return sum((1 - rate) ** (k - 1) for k in range(1, count + 1))

    assert expected_gradient(over_mean, size, rate) == pytest.approx(terms(size - 1))

    def keeps_failures(reward):
        return reward / reward.mean().clamp(min=1e-9) - 1

    assert expected_gradient(keeps_failures, size, rate) == pytest.approx(terms(size))


def test_maxrl_is_zero_without_a_success_and_the_table_of_the_paper_with_one():
    assert over_mean(tensor([[0, 0, 0, 0], [1, 1, 1, 1]])).eq(0).all()
    assert over_mean(tensor([[1, 0, 0, 0]])).tolist() == [[3, -1, -1, -1]]
    assert over_mean(tensor([[-1, 0, 0.5, 0]])).eq(0).all()


def without_deviation(k):
    """pass_at_k before it divides by its deviation."""

    def advantage(reward):
        size, wrong = reward.shape[1], int((reward < 1).sum())
        rate = 1 - math.comb(wrong, k) / math.comb(size, k)
        return pass_at_k(k)(reward) * (math.sqrt(rate * (1 - rate)) + 1e-9)

    return advantage


@pytest.mark.parametrize(("size", "k"), [(3, 2), (4, 2), (5, 3), (4, 4)])
@pytest.mark.parametrize("rate", [0.2, 0.6])
def test_pass_at_k_has_the_gradient_of_pass_at_k_but_for_its_deviation(size, k, rate):
    slope = k * (1 - rate) ** (k - 1)
    actual = expected_gradient(without_deviation(k), size, rate)
    assert actual == pytest.approx((size - k) / (size * k) * slope, abs=1e-12)


def test_pass_at_k_of_a_group_by_hand():
    advantage = pass_at_k(2)(tensor([[1, 0, 0, 1.5], [0, 0, 0, 0], [1, 1, 1, 0]]))
    # Of six pairs one has no success, and of the three pairs of a wrong response one.
    right, wrong, deviation = 1 / 6, 1 / 6 - 1 / 3, math.sqrt(5 / 36)
    expected = [right / deviation, wrong / deviation, wrong / deviation, right / deviation]
    torch.testing.assert_close(advantage[0], tensor(expected))
    assert advantage[1:].eq(0).all()
    with pytest.raises(UsageError, match=r"^pass_at_k got k = 5 for groups of 4: give 1 to 4$"):
        pass_at_k(5)(tensor([[1, 0, 0, 1]]))


OF_RATIOS = {
    name: DEFAULTS[name] for name in ("gspo", "gmpo", "sapo", "dppo", "maxrl", "clip_cov", "kl_cov")
}


@pytest.mark.parametrize("learner", OF_RATIOS.values(), ids=OF_RATIOS)
def test_on_policy_the_gradient_is_that_of_the_advantage(learner):
    _, old, reward, mask, size, _ = case()
    if isinstance(learner, ClipCov):
        learner = ClipCov(cov_low=1e9)  # nothing is drawn
    _, gradient = loss_and_gradient(learner, old, old, reward, mask, size)
    advantage = learner.advantage(reward.view(-1, size)).flatten()
    weight = learner.reduction(mask.sum(-1), size)
    torch.testing.assert_close(gradient, -(advantage * weight)[:, None] * mask)


def test_gspo_token_has_the_gradient_of_gspo_where_advantages_are_those_of_responses():
    arguments = case()[:-1]
    one, two = (
        loss_and_gradient(GSPO(clip_low=0.2, clip_high=0.2, level=level), *arguments)
        for level in (geometric, geometric_token)
    )
    torch.testing.assert_close(one, two)


@pytest.mark.parametrize("kind", [GRPO, DAPO, CISPO])
def test_the_level_of_a_response_wants_the_mean_over_responses(kind):
    with pytest.warns(UserWarning, match=rf"^{kind.__name__} with the level geometric has the lo"):
        kind(level=geometric, reduction=token_mean)
    kind(level=geometric, reduction=sequence_mean)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_token_that_gmpo_holds_has_no_gradient_and_weighs_the_others(sign):
    old, mask = tensor([[-3.0, -3.0]]), torch.ones(1, 2).bool()
    log_prob = (old + sign * tensor([[0.6, 0.1]])).requires_grad_()
    batch = Batch(mask, sign * tensor([[2.0, 2.0]]), old, old)
    loss = GMPO().loss(log_prob, batch).mean()
    (slope,) = torch.autograd.grad(loss, log_prob)
    torch.testing.assert_close(slope, tensor([[0.0, -sign * math.exp(sign * 0.25)]]))


@pytest.mark.parametrize("ratio", [0.05, 0.8, 1.0, 1.2, 5.0])
@pytest.mark.parametrize("advantage", [2.0, -2.0])
def test_the_gate_of_sapo_is_one_on_policy_and_closes_on_both_sides(ratio, advantage):
    old, mask = tensor([[-5.0]]), torch.ones(1, 1).bool()
    log_prob = (old + math.log(ratio)).requires_grad_()
    learner = SAPO(tau_positive=2.0, tau_negative=3.0)
    loss = learner.loss(log_prob, Batch(mask, tensor([[advantage]]), old, old))
    (slope,) = torch.autograd.grad(loss.sum(), log_prob)
    tau = 2.0 if advantage > 0 else 3.0
    gate = 1 / (1 + math.exp(-tau * (ratio - 1)))
    assert slope.item() == pytest.approx(-advantage * ratio * 4 * gate * (1 - gate))


def test_the_distances_of_dppo_by_hand():
    new, old = tensor([[0.35, 0.005]]).log(), tensor([[0.3, 0.9]]).log()
    torch.testing.assert_close(binary_tv(new, old), tensor([[0.05, 0.895]]))
    first = 0.3 * math.log(0.3 / 0.35) + 0.7 * math.log(0.7 / 0.65)
    second = 0.9 * math.log(0.9 / 0.005) + 0.1 * math.log(0.1 / 0.995)
    torch.testing.assert_close(binary_kl(new, old), tensor([[first, second]]))


@pytest.mark.parametrize(
    ("new", "advantage", "learns"),
    [(0.5, 1, False), (0.5, -1, True), (0.1, -1, False), (0.1, 1, True), (0.34, 1, True)],
)
def test_dppo_stops_tokens_that_leave_their_region_by_the_samplers_probability(
    new, advantage, learns
):
    sampler, old = tensor([[0.3]]).log(), tensor([[0.9]]).log()
    log_prob, mask = tensor([[new]]).log().requires_grad_(), torch.ones(1, 1).bool()
    batch = Batch(mask, tensor([[float(advantage)]]), old, old, sampler_log_prob=sampler)
    for cap in (20.0, 1.5):
        (slope,) = torch.autograd.grad(DPPO(ratio_cap=cap).loss(log_prob, batch).sum(), log_prob)
        weight = min(new / 0.3, cap) if learns else 0.0
        assert slope.item() == pytest.approx(-advantage * weight)


def test_dppo_needs_the_samplers_probabilities():
    log_prob, old, reward, mask, size, _ = case()
    unknown = torch.full_like(old, math.nan)
    with pytest.raises(UsageError, match=r"^DPPO needs sampler_log_prob, .* log-probabilities$"):
        DPPO().compute_loss(log_prob, old, reward, mask, size, sampler_log_prob=unknown)


def test_gdpo_tells_components_apart_whose_sums_are_equal():
    parts = {"accuracy": tensor([[0, 1], [0, 1]]), "format": tensor([[0, 1], [1, 1]])}
    advantage = GDPO(weights=(1.0, 1.0)).advantage_from_parts(parts["accuracy"], parts)
    # Eqs. 4 to 6 by hand: ±√2 and ±√½, over their standard deviation √(5/3).
    expected = tensor([[-2, 2], [-1, 1]]) * (1 / 2) ** 0.5 / (5 / 3) ** 0.5
    torch.testing.assert_close(advantage, expected)
    _, parsed = parse_run(GDPO, ["--parts", "letters", "accuracy", "--weights", "2", "1"])
    assert (parsed.parts, parsed.weights) == (("letters", "accuracy"), (2.0, 1.0))
    with pytest.raises(UsageError, match=r"^GDPO got 1 weights for parts \('a', 'b'\)$"):
        GDPO(parts=("a", "b"), weights=(1.0,))


def rollout(log_prob, advantage):
    mask = torch.ones(log_prob.shape).bool()
    return Batch(mask, advantage, log_prob, log_prob)


def test_clip_cov_draws_a_share_of_the_eligible_tokens_by_its_seed():
    generator = torch.Generator().manual_seed(0)
    log_prob = -torch.rand(20, 50, generator=generator, dtype=torch.float64) * 5
    batch = rollout(log_prob, torch.randn(20, 1, generator=generator).double().expand(20, 50))
    drawn = {}
    for seed in (0, 1):
        learner = ClipCov(share=0.0109, cov_low=0.2, cov_high=3.0, choice_seed=seed)
        drawn[seed] = learner.prepare(batch, lambda x: x, log_prob).extras["selection"]
        assert drawn[seed].sum() == 10
        loss = learner.loss(log_prob, batch.with_extras(selection=drawn[seed]))
        assert (loss == 0).eq(drawn[seed]).all()
    assert not torch.equal(drawn[0], drawn[1])
    cov = (batch.advantage - batch.advantage.mean()) * (log_prob - log_prob.mean())
    assert ((cov > 0.2) & (cov < 3.0))[drawn[0] | drawn[1]].all()
    every = ClipCov(share=1.0, cov_low=0.2, cov_high=3.0)
    later = every.prepare(batch, lambda x: x, log_prob + 0.5).extras["selection"]
    assert later.any()
    assert not (later & (batch.advantage > 0)).any()  # their ratio is clipped already
    few = ClipCov(share=1e-6, cov_low=0.2, cov_high=3.0)
    assert few.prepare(batch, lambda x: x, log_prob).extras["selection"].sum() == 1


def test_kl_cov_holds_the_tokens_of_largest_covariance_of_either_sign():
    old = tensor([[-1.0, -2.0, -3.0, -4.0]])
    batch = rollout(old, tensor([[1.0, -1.0, 1.0, -1.0]]))
    learner = KLCov(share=0.5, kappa=3.0)
    batch = learner.prepare(batch, lambda x: x, old)
    assert batch.extras["selection"].tolist() == [[True, False, False, True]]
    negative = rollout(old, tensor([[-2.0, -2.0, 2.0, 2.0]]))
    chosen = KLCov(share=0.25).prepare(negative, lambda x: x, old).extras["selection"]
    assert chosen.sum(-1).tolist() == [2]  # ties, of negative covariances alone
    log_prob = (old + 0.1).requires_grad_()
    (slope,) = torch.autograd.grad(learner.loss(log_prob, batch).sum(), log_prob)
    ratio = math.exp(0.1)
    torch.testing.assert_close(slope, tensor([[3 - ratio, ratio, -ratio, 3 + ratio]]))


@pytest.mark.parametrize("kind", [ClipCov, KLCov])
def test_the_choice_is_that_of_the_whole_rollout_on_however_many_ranks(kind):
    table = torch.randn(4, 3, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    reward = tensor([[1, 0.0], [0, 1], [1, 0.3], [0.2, 0.7]])
    tokens = torch.arange(24).view(8, 3) % 3
    learner = kind(share=0.2, **({} if kind is KLCov else {"cov_low": 0.01}))

    def work(rank, ranks):
        rows = torch.arange(8).view(4, 2)[rank :: ranks.num_ranks].flatten()
        responses = respond((rows // 2).tolist(), tokens[rows], [3] * len(rows))
        engine = BanditEngine(table, 4.0, rank, ranks)
        passes = Passes(minibatch_size=8, microbatch_size=3, epochs=2)
        update(learner, engine, responses, reward[rank :: ranks.num_ranks], passes)
        return engine.logits.detach()

    one, two = (ranks.run(partial(work, ranks=ranks)) for ranks in map(ThreadRanks, (1, 2)))
    torch.testing.assert_close(one[0], two[0])
    torch.testing.assert_close(one[0], two[1])
