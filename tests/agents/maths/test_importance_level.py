"""Ratios of tokens and of responses: what each gives exactly, over all responses of two tokens."""

from functools import partial

import pytest
import torch
from helpers.exact import assert_exact, bare, gradient, normal
from helpers.golden_cases import DIVERGENCES, GOLDEN, tensor
from helpers.oracle import ShortResponses, cpgd_objective, expected_reward, kl

from agents.advantages import raw
from agents.cispo import CISPO
from agents.cpgd import CPGD
from agents.dapo import DAPO
from agents.grpo import GRPO
from agents.losses import differentiable, per_response, per_token, per_turn, reinforce
from agents.reductions import sequence_mean
from agents.rloo import RLOO
from agents.rollout import Batch
from agents.rpg import RPG

GOLDEN_SEQUENCES = GOLDEN["sequences"]["two_tokens"]
OF_RESPONSES = {"level": per_response, "reduction": sequence_mean}
RESPONSES = ShortResponses.of(vocabulary=3)
every_divergence = pytest.mark.parametrize("divergence", DIVERGENCES)
every_estimator = pytest.mark.parametrize("estimator", [differentiable, reinforce])


def pairs(first, second):
    """Log-probability of each token of the nine responses of exactly two tokens."""
    one = first.log_softmax(-1)[:, None].expand(3, 3)
    return torch.stack([one, second.log_softmax(-1)], -1).reshape(9, 2)


def expectation(learner, log_prob, old, reward, mask, value):
    """Of a value of each response's losses, under the old policy; no baseline."""
    credit = reward[:, None].expand_as(old)
    loss = learner.loss(log_prob, Batch(mask, credit, old, old))
    probability = old.where(mask, 0.0).sum(-1).exp()
    return (probability * value(loss.where(mask, 0.0))).sum()


def first_token(loss):
    """The loss of a response, which each of its tokens has."""
    return loss[:, 0]


def total(loss):
    return loss.sum(-1)


def golden_gradient(learner, value):
    golden = GOLDEN_SEQUENCES
    logits = [tensor(golden[name]).requires_grad_() for name in ("logits_first", "logits_second")]
    old = pairs(*(tensor(golden[name]) for name in ("old_logits_first", "old_logits_second")))
    reward, mask = tensor(golden["reward"]).flatten(), torch.ones(9, 2).bool()
    return gradient(-expectation(learner, pairs(*logits), old, reward, mask, value), *logits)


@every_estimator
@every_divergence
def test_with_the_ratio_of_the_response_the_gradient_is_exact_off_policy(divergence, estimator):
    learner = bare(divergence, estimator, beta=GOLDEN_SEQUENCES["beta"], **OF_RESPONSES)
    actual = golden_gradient(learner, first_token)
    torch.testing.assert_close(actual, tensor(GOLDEN_SEQUENCES["objective_gradient"][divergence]))
    golden = GOLDEN_SEQUENCES["surrogate_gradient_sequence_ratio"][divergence]
    torch.testing.assert_close(actual, tensor(golden))


@every_estimator
@every_divergence
def test_with_ratios_of_tokens_it_is_another_one(divergence, estimator):
    learner = bare(divergence, estimator, beta=GOLDEN_SEQUENCES["beta"])
    actual = golden_gradient(learner, total)
    golden = GOLDEN_SEQUENCES["surrogate_gradient_token_ratio"][divergence]
    torch.testing.assert_close(actual, tensor(golden))
    exact = tensor(GOLDEN_SEQUENCES["objective_gradient"][divergence])
    assert (actual - exact).abs().max() > 1e-2


def policies(seed):
    """Logits that carry a gradient, log-probabilities of tokens, and those of an old policy."""
    shapes = ((3,), (3, 3))
    logits = [normal(*shape, seed=seed + i).requires_grad_() for i, shape in enumerate(shapes)]
    old = [normal(*shape, seed=seed + 10 + i) for i, shape in enumerate(shapes)]
    return logits, RESPONSES.token_log_prob(*logits), RESPONSES.token_log_prob(*old)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("divergence", ["fkl", "ufkl"])
def test_a_forward_divergence_of_tokens_is_that_of_responses(divergence, seed):
    logits, log_prob, old = policies(seed)
    nothing = torch.zeros(len(old), dtype=torch.float64)
    value = expectation(bare(divergence, beta=1.0), log_prob, old, nothing, RESPONSES.mask, total)
    exact = kl(old.sum(-1), log_prob.sum(-1))
    torch.testing.assert_close(value, exact)
    torch.testing.assert_close(gradient(value, *logits), gradient(exact, *logits))


@every_divergence
def test_on_policy_the_losses_of_tokens_add_up_to_the_gradient_of_the_expected_reward(divergence):
    logits, log_prob, _ = policies(0)
    reward = normal(len(log_prob), seed=5)
    learner = bare(divergence, beta=0.3)
    loss = expectation(learner, log_prob, log_prob.detach(), reward, RESPONSES.mask, total)
    exact = expected_reward(log_prob.sum(-1), reward)
    torch.testing.assert_close(gradient(-loss, *logits), gradient(exact, *logits))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_equation_1_of_cpgd_is_its_loss_at_the_level_of_responses(alpha, seed):
    logits, log_prob, old = policies(seed)
    reward = normal(len(old), seed=seed + 5)
    reward = reward - expected_reward(old.sum(-1), reward)
    learner = CPGD(drift_coefficient=alpha, drift_cap=None, advantage_function=raw, **OF_RESPONSES)
    loss = expectation(learner, log_prob, old, reward, RESPONSES.mask, first_token)
    ratio = (log_prob - old).sum(-1).exp()
    assert ((ratio > 1.2) & (reward > 0)).any()
    assert ((ratio < 0.8) & (reward < 0)).any()
    exact = cpgd_objective(log_prob.sum(-1), old.sum(-1), reward, alpha, epsilon=0.2)
    torch.testing.assert_close(gradient(-loss, *logits), gradient(exact, *logits))


def test_a_response_is_the_sum_of_its_tokens_and_padding_has_no_part_in_it():
    log_prob = tensor([[-1.0, -2.0, float("nan")], [-3.0, 7.0, 7.0]])
    mask = torch.tensor([[True, True, False], [True, False, False]])
    assert per_response(log_prob, mask).tolist() == [[-3.0] * 3, [-3.0] * 3]
    assert per_token(log_prob, mask) is log_prob


def test_a_turn_is_the_sum_of_the_tokens_between_two_replies():
    nan = float("nan")
    log_prob = tensor([[-1.0, -2.0, nan, nan, -4.0, nan], [nan, -8.0, -1.0, nan, -2.0, -3.0]])
    log_prob.requires_grad_()
    mask = torch.tensor([[1, 1, 0, 0, 1, 0], [0, 1, 1, 0, 1, 1]], dtype=torch.bool)
    turns = per_turn(log_prob, mask)
    assert turns[mask].tolist() == [-3.0, -3.0, -4.0, -9.0, -9.0, -5.0, -5.0]
    turns[mask].sum().backward()
    assert log_prob.grad.tolist() == [[2, 2, 0, 0, 1, 0], [0, 2, 2, 0, 2, 2]]
    firsts = mask & ~torch.nn.functional.pad(mask, (1, 0))[:, :-1]
    whole = per_response(log_prob, mask)[:, 0]
    torch.testing.assert_close(turns.where(firsts, 0.0).sum(-1), whole)
    alone = torch.ones(1, 1, dtype=torch.bool)
    assert per_turn(tensor([[-7.0]]), alone).tolist() == [[-7.0]]
    assert per_turn(tensor([[-7.0, -1.0]]), torch.zeros(1, 2, dtype=torch.bool)).shape == (1, 2)


@pytest.mark.parametrize(
    "learner", [DAPO, GRPO, CISPO, RLOO, CPGD, partial(RPG, beta=0.1, clip_low=None)]
)
def test_an_episode_of_one_turn_has_the_loss_of_a_response(learner):
    _, log_prob, old = policies(3)
    width = log_prob.shape[1]
    losses = []
    for level in (per_turn, per_response):
        made = learner(level=level, reduction=sequence_mean)
        mask = torch.ones(log_prob.shape, dtype=torch.bool)
        credit = normal(len(old), seed=8)[:, None].expand(-1, width)
        losses.append(made.loss(log_prob, Batch(mask, credit, old, old, old)))
    torch.testing.assert_close(*losses)


def test_in_a_later_epoch_the_importance_of_a_response_is_its_own():
    old = tensor([[-1.0, -1.0]])
    epoch = old + tensor([[1.1, 1.05]]).log()
    learner = CPGD(drift_coefficient=None, **OF_RESPONSES)
    log_prob = old.clone().requires_grad_()
    batch = Batch(torch.ones(1, 2).bool(), tensor([[2.0, 2.0]]), old, epoch)
    loss = learner.loss(log_prob, batch)[0, 0]
    assert_exact(gradient(loss, log_prob), tensor([-2.0 * 1.1 * 1.05] * 2))
