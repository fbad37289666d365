"""GRPO's penalty: what it pulls to as published, and corrected."""

import pytest
import torch
from helpers.exact import assert_exact, gradient, normal
from helpers.golden_cases import GOLDEN, tensor
from helpers.oracle import kl

from agents import references
from agents.divergences import k3, unnormalized_reverse_kl
from agents.grpo import GRPO
from agents.losses import slope
from agents.rollout import Batch

BANDITS = GOLDEN["bandits"]
every_bandit = pytest.mark.parametrize("bandit", BANDITS.values(), ids=BANDITS)


def policies(bandit):
    logits = tensor(bandit["logits"]).requires_grad_()
    ratio = tensor(bandit["ratio"])
    old = (logits.log_softmax(-1) - ratio.log()).detach()
    ref = tensor(bandit["reference_policy"]["ref_logits"]).log_softmax(-1)
    return logits, old, ref


def penalty(divergence, logits, old, ref):
    """Gradient of the expected penalty under the old policy."""
    log_prob = logits.log_softmax(-1)
    learner = GRPO(divergence=divergence, beta=1.0)
    mask, nothing = torch.ones(len(old), 1).bool(), torch.zeros(len(old), 1).double()
    batch = Batch(mask, nothing, old[:, None], old[:, None], ref[:, None])
    return gradient((old.exp() * learner.loss(log_prob[:, None], batch)[:, 0]).sum(), logits)


@every_bandit
def test_the_published_penalty_is_no_divergences_gradient_and_with_the_ratio_it_is(bandit):
    golden, (logits, old, ref) = bandit["reference_policy"], policies(bandit)
    published, corrected = (
        penalty(divergence, logits, old, ref) for divergence in (k3, unnormalized_reverse_kl)
    )
    assert_exact(published, tensor(golden["k3_without_weight"]))
    assert_exact(corrected, tensor(golden["k3_times_ratio"]))
    exact = gradient(kl(logits.log_softmax(-1), ref), logits)
    assert_exact(corrected, exact)
    assert_exact(exact, tensor(golden["gradient_of_kl_policy_ref"]))
    assert (published - exact).abs().max() > 1e-2


@every_bandit
def test_a_ratio_without_its_gradient_corrects_to_the_other_divergence(bandit):
    golden, (logits, old, ref) = bandit["reference_policy"], policies(bandit)
    log_prob = logits.log_softmax(-1)
    pull = slope(lambda x: k3(x, old[None], ref[None]), log_prob[None])[0]
    stopped = gradient(((log_prob.detach()).exp() * pull * log_prob).sum(), logits)
    assert_exact(stopped, tensor(golden["k3_times_stopped_ratio"]))
    assert_exact(stopped, gradient(kl(ref, logits.log_softmax(-1)), logits))


@pytest.mark.parametrize("seed", range(3))
def test_on_policy_the_published_penalty_pulls_as_the_forward_divergence(seed):
    logits, ref = normal(5, seed=seed).requires_grad_(), normal(5, seed=seed + 9).log_softmax(-1)
    old = logits.detach().log_softmax(-1)
    exact = gradient(kl(ref, logits.log_softmax(-1)), logits)
    assert_exact(penalty(k3, logits, old, ref), exact)
    reverse = gradient(kl(logits.log_softmax(-1), ref), logits)
    assert_exact(penalty(unnormalized_reverse_kl, logits, old, ref), reverse)


def test_held_to_the_old_policy_it_needs_no_reference():
    learner = GRPO(reference=references.old)
    assert not learner.uses_reference
    log_prob, old = normal(4, 3, seed=0) - 3, normal(4, 3, seed=1) - 3
    reward, mask = normal(4, seed=2), torch.ones(4, 3).bool()
    arguments = log_prob, old, reward, mask, 4
    expected = GRPO().compute_loss(*arguments, old)
    torch.testing.assert_close(learner.compute_loss(*arguments), expected)
