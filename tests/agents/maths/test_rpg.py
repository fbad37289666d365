"""RPG against what it maximises, E_pi[R] - beta D, computed exactly."""

import itertools
import math
from fractions import Fraction

import pytest
import torch
from helpers.exact import assert_exact, bare, gradient, losses, normal
from helpers.golden_cases import DIVERGENCES, GOLDEN, tensor
from helpers.oracle import expected_reward, forward_divergence, kl, reverse_divergence

from agents import references
from agents.advantages import batch_centered, centered, leave_one_out
from agents.losses import differentiable, reinforce
from agents.rpg import RPG

EXACT = {
    "fkl": lambda policy, ref: kl(ref, policy),
    "rkl": kl,
    "ufkl": forward_divergence,
    "urkl": reverse_divergence,
}
ESTIMATORS = [differentiable, reinforce]
BANDITS = GOLDEN["bandits"]
every_divergence = pytest.mark.parametrize("divergence", DIVERGENCES)
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)
every_bandit = pytest.mark.parametrize("bandit", BANDITS.values(), ids=BANDITS)


def surrogate(learner, log_prob, old, reward, ref=None, z=1.0):
    """Expectation of the loss under the sampler, the normalized old policy."""
    return (old.exp() / z * losses(learner, log_prob, old, reward, ref)).sum()


def objective(divergence, log_prob, reward, ref, beta):
    return expected_reward(log_prob, reward) - beta * EXACT[divergence](log_prob, ref)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("beta", [None, 0.1, 2.0])
@every_estimator
@every_divergence
def test_off_policy_the_gradient_is_that_of_the_objective(divergence, estimator, beta, seed):
    logits, reward = normal(5, seed=seed).requires_grad_(), normal(5, seed=seed + 200)
    log_prob, old = logits.log_softmax(-1), normal(5, seed=seed + 100).log_softmax(-1)
    loss = surrogate(bare(divergence, estimator, beta=beta), log_prob, old, reward)
    assert_exact(
        gradient(-loss, logits),
        gradient(objective(divergence, logits.log_softmax(-1), reward, old, beta or 0.0), logits),
    )


@pytest.mark.parametrize("seed", range(3))
@every_estimator
@every_divergence
def test_so_it_is_with_a_reference_of_its_own(divergence, estimator, seed):
    logits, reward = normal(5, seed=seed).requires_grad_(), normal(5, seed=seed + 200)
    old, ref = (normal(5, seed=seed + shift).log_softmax(-1) for shift in (100, 300))
    learner = bare(divergence, estimator, beta=0.5, reference=references.fixed)
    loss = surrogate(learner, logits.log_softmax(-1), old, reward, ref)
    exact = objective(divergence, logits.log_softmax(-1), reward, ref, 0.5)
    assert_exact(gradient(-loss, logits), gradient(exact, logits))


@pytest.mark.parametrize("z", [0.7, 1.5])
@every_estimator
@every_divergence
def test_so_it_is_with_an_old_policy_of_another_mass_and_without_z_but_for_the_scale(
    divergence, estimator, z
):
    logits, reward = normal(5, seed=0).requires_grad_(), normal(5, seed=200)
    old = normal(5, seed=100).log_softmax(-1) + math.log(z)

    def of(z_old):
        learner = bare(divergence, estimator, beta=0.5, z_old=z_old)
        return gradient(-surrogate(learner, logits.log_softmax(-1), old, reward, z=z), logits)

    exact = objective(divergence, logits.log_softmax(-1), reward, old, 0.5)
    exact = gradient(exact, logits)
    assert_exact(of(z), exact)
    assert_exact(of(1.0), exact / z)


def bandit_case(bandit, z=1.0):
    """A group that is the old policy's distribution: a plain mean is an exact expectation."""
    actions = torch.tensor(bandit["actions"])
    old = tensor([float(Fraction(p)) for p in bandit["old_probability"]]).log()
    logits = tensor(bandit["logits"]).requires_grad_()
    log_prob = logits.log_softmax(-1)[actions, None]
    old = old[actions, None] + math.log(z)
    return logits, log_prob, old, tensor(bandit["reward"])[actions]


def golden_loss(learner, bandit, z=1.0):
    logits, log_prob, old, reward = bandit_case(bandit, z)
    mask = torch.ones_like(old).bool()
    arguments = log_prob, old, reward, mask, bandit["group_size"]
    return logits, log_prob, learner.compute_loss(*arguments)


@every_bandit
@every_estimator
@every_divergence
def test_the_golden_bandits_have_the_exact_gradient_and_each_sample_its_weight(
    divergence, estimator, bandit
):
    expected = bandit["variants"][divergence]
    learner = bare(divergence, estimator, beta=bandit["beta"])
    logits, log_prob, loss = golden_loss(learner, bandit)
    weight = -torch.autograd.grad(loss, log_prob, retain_graph=True)[0][:, 0]
    assert_exact(
        weight * bandit["group_size"], tensor(expected["weight_per_action"])[bandit["actions"]]
    )
    assert_exact(gradient(-loss, logits), tensor(expected["gradient"]))


@every_bandit
@every_estimator
@pytest.mark.parametrize("divergence", ["ufkl", "urkl"])
def test_so_have_those_with_an_old_policy_of_another_mass(divergence, estimator, bandit):
    expected = bandit["variants"][divergence]["unnormalised"]
    z = expected["z_old"]
    learner = bare(divergence, estimator, beta=bandit["beta"], z_old=z)
    logits, _, loss = golden_loss(learner, bandit, z)
    assert_exact(gradient(-loss, logits), tensor(expected["gradient"]))
    _, log_prob, old, reward = bandit_case(bandit, z)
    raw_weight = gradient(-losses(learner, log_prob[:, 0], old[:, 0], reward).sum(), log_prob)
    assert_exact(raw_weight, tensor(expected["weight_per_action"])[bandit["actions"]])


@every_bandit
@pytest.mark.parametrize(
    ("divergence", "constant"), [("fkl", "entropy"), ("rkl", 0), ("ufkl", 0), ("urkl", 1)]
)
def test_the_values_of_the_golden_losses_are_those_of_the_tables_up_to_constants(
    divergence, constant, bandit
):
    # RPG writes ln pi in place of ln w for the forward KL, and w ln w - w without + 1.
    _, _, loss = golden_loss(bare(divergence, beta=bandit["beta"]), bandit)
    old = bandit_case(bandit)[2]
    constant = old.mean() if constant == "entropy" else tensor(float(constant))
    golden = tensor(bandit["variants"][divergence]["loss_differentiable"])
    assert_exact(loss.detach(), golden + bandit["beta"] * constant)


@every_estimator
@pytest.mark.parametrize(
    ("divergence", "extra"), [("fkl", 1.0), ("rkl", -1.0), ("ufkl", 0.0), ("urkl", 0.0)]
)
def test_on_policy_a_sample_has_the_weight_of_reinforce_and_the_normalized_ones_a_constant(
    divergence, extra, estimator
):
    old, credit = normal(5, seed=0).log_softmax(-1), normal(5, seed=1)
    log_prob = old.clone().requires_grad_()
    loss = losses(bare(divergence, estimator, beta=0.3), log_prob, old, credit)
    assert_exact(gradient(-loss.sum(), log_prob), credit + 0.3 * extra)


@every_divergence
def test_on_policy_no_divergence_pulls_in_expectation(divergence):
    logits = normal(5, seed=0).requires_grad_()
    old = logits.detach().log_softmax(-1)
    loss = surrogate(bare(divergence, beta=0.3), logits.log_softmax(-1), old, torch.zeros_like(old))
    torch.testing.assert_close(gradient(loss, logits), torch.zeros_like(old), rtol=0, atol=1e-15)


@every_divergence
def test_the_estimators_differ_in_value_alone(divergence):
    log_prob, old, credit = (normal(6, seed=seed, scale=0.5) - 3 for seed in (0, 1, 2))
    values = []
    for estimator in ESTIMATORS:
        leaf = log_prob.clone().requires_grad_()
        loss = losses(bare(divergence, estimator, beta=0.3), leaf, old, credit)
        values.append((loss.detach(), gradient(loss.sum(), leaf)))
    assert_exact(values[0][1], values[1][1])
    assert ((values[0][0] - values[1][0]).abs() > 1e-3).all()


@every_divergence
def test_a_constant_baseline_leaves_the_gradient_as_it_is(divergence):
    logits, reward = normal(5, seed=0).requires_grad_(), normal(5, seed=2)
    old, learner = normal(5, seed=1).log_softmax(-1), bare(divergence, beta=0.3)
    shifted, plain = (
        gradient(surrogate(learner, logits.log_softmax(-1), old, reward - baseline), logits)
        for baseline in (7.0, 0.0)
    )
    assert_exact(shifted, plain)


@pytest.mark.parametrize("group_size", [2, 3, 4])
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("advantage", [centered, batch_centered, leave_one_out])
def test_a_mean_with_oneself_in_it_shortens_the_gradient_and_leaving_oneself_out_does_not(
    advantage, estimator, group_size
):
    logits, reward = normal(3, seed=0).requires_grad_(), normal(3, seed=1)
    old = logits.detach().log_softmax(-1)
    learner = RPG(advantage_function=advantage, estimator=estimator, beta=None)
    total = torch.zeros(3, dtype=torch.float64)
    for responses in itertools.product(range(3), repeat=group_size):
        group = torch.tensor(responses)
        log_prob, mask = logits.log_softmax(-1)[group, None], torch.ones(group_size, 1).bool()
        loss = learner.compute_loss(log_prob, old[group, None], reward[group], mask, group_size)
        total -= old[group].sum().exp() * gradient(loss, logits)
    exact = gradient(expected_reward(logits.log_softmax(-1), reward), logits)
    assert_exact(total, exact * (1.0 if advantage is leave_one_out else 1 - 1 / group_size))


def test_the_gradient_through_the_regularized_advantage_would_lose_a_forward_divergence():
    logits, reward = normal(5, seed=0).requires_grad_(), normal(5, seed=1)
    old = normal(5, seed=2).log_softmax(-1)

    def algorithm_1(log_prob):
        ratio = (log_prob - old).exp()
        return (old.exp() * -ratio * (reward - 0.5 * (1 - 1 / ratio))).sum()

    wrong = gradient(-algorithm_1(logits.log_softmax(-1)), logits)
    exact = gradient(objective("ufkl", logits.log_softmax(-1), reward, old, 0.5), logits)
    without = gradient(expected_reward(logits.log_softmax(-1), reward), logits)
    assert_exact(wrong, without)
    assert (wrong - exact).abs().max() > 1e-2
    ours = surrogate(bare("ufkl", beta=0.5), logits.log_softmax(-1), old, reward)
    assert_exact(gradient(-ours, logits), exact)
