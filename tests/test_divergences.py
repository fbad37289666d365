import pytest
import torch
from oracle import kl

from agents.divergences import k1, k2, k3


def log_softmax(seed, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(6, generator=generator, dtype=torch.float64)).log_softmax(-1)


@pytest.mark.parametrize("estimator", [k1, k3])
@pytest.mark.parametrize("seed", range(5))
def test_k1_and_k3_expect_the_divergence_from_the_policy_that_sampled(estimator, seed):
    q, p = log_softmax(seed), log_softmax(seed + 100)
    torch.testing.assert_close((q.exp() * estimator((p - q)[:, None])[:, 0]).sum(), kl(q, p))


@pytest.mark.parametrize("seed", range(5))
def test_k2_expects_the_divergence_between_policies_that_are_close(seed):
    q = log_softmax(seed)
    p = (q + log_softmax(seed + 100, scale=0.01)).log_softmax(-1)
    estimate = (q.exp() * k2((p - q)[:, None])[:, 0]).sum()
    # The bias is of third order in log ratios of about 0.01.
    torch.testing.assert_close(estimate, kl(q, p), rtol=0.05, atol=0)


@pytest.mark.parametrize(
    ("estimator", "values", "slopes"),
    [
        (k1, [2.0, 0.0, -0.5], [-1.0, -1.0, -1.0]),
        (k2, [2.0, 0.0, 0.125], [-2.0, 0.0, 0.5]),
        (
            k3,
            [1.1353352832366128, 0.0, 0.14872127070012822],
            [-0.8646647167633873, 0.0, 0.6487212707],
        ),
    ],
)
def test_values_and_slopes_at_log_ratios_of_minus_two_zero_and_a_half(estimator, values, slopes):
    log_ratio = torch.tensor([[-2.0, 0.0, 0.5]], dtype=torch.float64, requires_grad=True)
    value = estimator(log_ratio)
    (slope,) = torch.autograd.grad(value.sum(), log_ratio)
    torch.testing.assert_close(value, torch.tensor([values], dtype=torch.float64))
    torch.testing.assert_close(slope, torch.tensor([slopes], dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("estimator", [k1, k2, k3])
def test_values_and_slopes_stay_finite_at_extreme_log_ratios(estimator, dtype):
    log_ratio = torch.tensor([[-50.0, 50.0]], dtype=dtype, requires_grad=True)
    value = estimator(log_ratio)
    (slope,) = torch.autograd.grad(value.sum(), log_ratio)
    assert value.isfinite().all()
    assert slope.isfinite().all()


def test_k3_is_never_negative_even_where_rounding_dominates():
    log_ratio = torch.linspace(-1e-3, 1e-3, 1001)[None]
    assert (k3(log_ratio) >= -1e-10).all()
