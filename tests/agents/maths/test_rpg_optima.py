"""Where RPG ends: a bandit, trained on exact expectations to convergence."""

import pytest
import torch
from helpers.exact import bare, losses
from helpers.golden_cases import DIVERGENCES, GOLDEN, tensor

from agents import references
from agents.losses import differentiable, reinforce

BANDIT = GOLDEN["bandits"]["four_arms"]
OPTIMA = BANDIT["reference_policy"]
REWARD = tensor(BANDIT["reward"])


def train(learner, ref, num_steps, rate):
    """Policies after each step of gradient descent; the old policy is that of every fourth step."""
    logits = tensor(BANDIT["logits"]).requires_grad_()
    optimizer = torch.optim.SGD([logits], rate)
    policies = []
    for step in range(num_steps):
        log_prob = logits.log_softmax(-1)
        if step % 4 == 0:
            old = log_prob.detach()
        loss = (old.exp() * losses(learner, log_prob, old, REWARD, ref)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        policies.append(logits.detach().softmax(-1))
    return policies


@pytest.mark.parametrize("estimator", [differentiable, reinforce])
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_with_a_fixed_reference_it_ends_at_the_optimum_of_its_objective(divergence, estimator):
    learner = bare(divergence, estimator, beta=BANDIT["beta"], reference=references.fixed)
    ref = tensor(OPTIMA["ref_logits"]).log_softmax(-1)
    end = train(learner, ref, num_steps=400, rate=2.0)[-1]
    golden = OPTIMA["optimum_rkl_urkl" if divergence.endswith("rkl") else "optimum_fkl_ufkl"]
    torch.testing.assert_close(end, tensor(golden), rtol=1e-6, atol=1e-8)


def test_the_golden_optima_are_what_the_theory_says():
    ref, beta = tensor(OPTIMA["ref_logits"]).softmax(-1), BANDIT["beta"]
    gibbs = ref * (REWARD / beta).exp()
    torch.testing.assert_close(tensor(OPTIMA["optimum_rkl_urkl"]), gibbs / gibbs.sum())
    policy = tensor(OPTIMA["optimum_fkl_ufkl"])
    multiplier = beta * ref / policy + REWARD
    torch.testing.assert_close(multiplier, multiplier[:1].expand(4))
    assert multiplier[0] > REWARD.max()


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_held_to_the_old_policy_the_expected_reward_only_grows_up_to_the_best_arm(divergence):
    policies = train(bare(divergence, beta=BANDIT["beta"]), None, num_steps=400, rate=1.0)
    rewards = torch.stack([policy @ REWARD for policy in policies])
    assert (rewards.diff() > 0).all()
    assert rewards[-1] > 0.97 * REWARD.max()
