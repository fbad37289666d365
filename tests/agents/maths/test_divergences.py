import pytest
import torch
from helpers.oracle import forward_divergence, kl, reverse_divergence

from agents.divergences import (
    forward_kl,
    k1,
    k2,
    k3,
    reverse_kl,
    unnormalized_forward_kl,
    unnormalized_reverse_kl,
)
from agents.losses import slope

NORMALIZED = {forward_kl: forward_divergence, reverse_kl: reverse_divergence}
UNNORMALIZED = {
    unnormalized_forward_kl: forward_divergence,
    unnormalized_reverse_kl: reverse_divergence,
}
OF_RPG = [*NORMALIZED, *UNNORMALIZED]
SCHULMAN = [k1, k2, k3]


def normal(seed, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(6, generator=generator, dtype=torch.float64)


def log_softmax(seed, scale=1.0):
    return normal(seed, scale).log_softmax(-1)


def at(divergence, log_prob, old, ref):
    """Values of a row of samples."""
    return divergence(log_prob[None], old[None], ref[None])[0]


@pytest.mark.parametrize("divergence", OF_RPG)
@pytest.mark.parametrize("seed", range(5))
def test_the_value_expects_the_divergence_between_policies(divergence, seed):
    policy, old, ref = (log_softmax(seed + shift) for shift in (0, 100, 200))
    expected = (NORMALIZED | UNNORMALIZED)[divergence](policy, ref)
    torch.testing.assert_close((old.exp() * at(divergence, policy, old, ref)).sum(), expected)


@pytest.mark.parametrize("divergence", UNNORMALIZED)
@pytest.mark.parametrize("seed", range(5))
def test_the_unnormalized_value_does_so_whatever_the_masses(divergence, seed):
    measure, old, ref = (normal(seed + shift) for shift in (0, 100, 200))
    expected = UNNORMALIZED[divergence](measure, ref)
    torch.testing.assert_close((old.exp() * at(divergence, measure, old, ref)).sum(), expected)


@pytest.mark.parametrize("divergence", NORMALIZED)
def test_the_normalized_value_leaves_masses_out(divergence):
    measure, old, ref = (normal(shift) for shift in (0, 100, 200))
    masses = {forward_kl: measure.exp().sum() - ref.exp().sum()}
    masses[reverse_kl] = -masses[forward_kl]
    expected = NORMALIZED[divergence](measure, ref) - masses[divergence]
    torch.testing.assert_close((old.exp() * at(divergence, measure, old, ref)).sum(), expected)


@pytest.mark.parametrize("estimator", [k1, k3])
@pytest.mark.parametrize("seed", range(5))
def test_k1_and_k3_expect_the_divergence_on_samples_of_the_policy(estimator, seed):
    policy, ref, other = (log_softmax(seed + shift) for shift in (0, 100, 200))
    estimate = (policy.exp() * at(estimator, policy, other, ref)).sum()
    torch.testing.assert_close(estimate, kl(policy, ref))


@pytest.mark.parametrize("seed", range(5))
def test_k2_expects_the_divergence_between_policies_that_are_close(seed):
    policy = log_softmax(seed)
    ref = (policy + log_softmax(seed + 100, scale=0.01)).log_softmax(-1)
    estimate = (policy.exp() * at(k2, policy, policy, ref)).sum()
    # The bias is of third order in log ratios of about 0.01.
    torch.testing.assert_close(estimate, kl(policy, ref), rtol=0.05, atol=0)


@pytest.mark.parametrize("divergence", [k2, unnormalized_reverse_kl])
def test_on_policy_the_gradient_of_these_is_that_of_the_reverse_divergence(divergence):
    logits, ref = normal(0).requires_grad_(), log_softmax(1)
    policy = logits.log_softmax(-1)
    sampled = policy.detach()
    loss = (sampled.exp() * at(divergence, policy, sampled, ref)).sum()
    (actual,) = torch.autograd.grad(loss, logits, retain_graph=True)
    (exact,) = torch.autograd.grad(kl(policy, ref), logits)
    torch.testing.assert_close(actual, exact)


SLOPES = {
    forward_kl: lambda w, v: -v,
    reverse_kl: lambda w, v: w * ((w / v).log() + 1),
    unnormalized_forward_kl: lambda w, v: w - v,
    unnormalized_reverse_kl: lambda w, v: w * (w / v).log(),
    k1: lambda w, v: torch.ones_like(w),
    k2: lambda w, v: (w / v).log(),
    k3: lambda w, v: 1 - v / w,
}


@pytest.mark.parametrize("divergence", SLOPES)
@pytest.mark.parametrize("ref_shift", [0.0, 0.7, -0.4])
def test_each_sample_has_the_slope_of_the_table(divergence, ref_shift):
    ratio = torch.tensor([[0.1, 0.5, 1.0, 1.3, 20.0]], dtype=torch.float64)
    old = torch.full_like(ratio, -2.0)
    ref = old + ref_shift
    actual = slope(lambda x: divergence(x, old, ref), old + ratio.log())
    expected = SLOPES[divergence](ratio, torch.tensor(ref_shift).double().exp())
    torch.testing.assert_close(actual, expected.expand_as(ratio))


def test_the_unnormalized_divergences_are_k3_with_the_weight_that_it_lacks():
    policy, old, ref = (log_softmax(shift) for shift in (0, 100, 200))
    ratio, mass = (policy - old).exp(), (ref - old).exp()
    reverse = at(unnormalized_reverse_kl, policy, old, ref)
    torch.testing.assert_close(reverse, ratio * at(k3, policy, old, ref))
    forward = at(unnormalized_forward_kl, policy, old, ref)
    torch.testing.assert_close(forward, mass * at(k3, ref, old, policy))


@pytest.mark.parametrize("divergence", [unnormalized_forward_kl, unnormalized_reverse_kl, k3])
def test_a_policy_that_is_all_three_has_neither_value_nor_slope(divergence):
    policy = log_softmax(0)[None].float()
    assert (divergence(policy, policy, policy) == 0).all()
    assert (slope(lambda x: divergence(x, policy, policy), policy) == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("divergence", [*OF_RPG, *SCHULMAN])
@pytest.mark.parametrize("ref", [-51.0, -1.0, 49.0])
def test_values_and_slopes_stay_finite_and_uncut_at_extreme_log_ratios(divergence, dtype, ref):
    log_prob = torch.tensor([[-51.0, 49.0]], dtype=dtype)
    old = torch.full_like(log_prob, -1.0)
    reference = torch.full_like(log_prob, ref if divergence in OF_RPG else -1.0)
    assert divergence(log_prob, old, reference).isfinite().all()
    pull = slope(lambda x: divergence(x, old, reference), log_prob)
    assert pull.isfinite().all()
    w, v = (log_prob - old).double().exp(), (reference - old).double().exp()
    torch.testing.assert_close(
        pull.double(), SLOPES[divergence](w, v).expand_as(w), rtol=2e-2, atol=1e-4
    )


def test_k3_is_never_negative_even_where_rounding_dominates():
    log_prob = torch.linspace(-1e-3, 1e-3, 1001)[None]
    assert (k3(log_prob, log_prob, torch.zeros_like(log_prob)) >= -1e-10).all()
