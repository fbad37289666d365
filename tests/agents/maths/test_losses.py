import json
from math import log
from pathlib import Path

import pytest
import torch

from agents.divergences import forward_kl, reverse_kl
from agents.losses import (
    clipped_log_ratio,
    clipped_ratio,
    differentiable,
    masked,
    policy_drift,
    policy_gradient,
    reinforce,
    slope,
    truncated,
)

TABLE = json.loads((Path(__file__).parents[2] / "golden/losses.json").read_text())["clip_tables"]


def row(values):
    return torch.tensor([values], dtype=torch.float64)


def loss_and_slope(function, log_prob, *arguments):
    """Loss of each token, and its slope in the token's log-probability."""
    log_prob = log_prob.detach().requires_grad_()
    loss = function(log_prob, *arguments)
    return loss.detach(), torch.autograd.grad(loss.sum(), log_prob)[0]


def clip_at(ratio, advantage, low, high):
    old = row([-1.0])
    return loss_and_slope(clipped_log_ratio, old + log(ratio), old, row([advantage]), low, high)


@pytest.mark.parametrize("advantage", [1.0, -1.0, 0.8, -0.8])
def test_the_clipped_log_ratio_of_a_token_agrees_with_the_golden_table(advantage):
    expected = TABLE["log_ratio_clip"]["rows"][str(advantage)]
    old = torch.full_like(row(TABLE["ratio"]), TABLE["log_prob_old"])
    loss, slope = loss_and_slope(
        clipped_log_ratio,
        old + row(TABLE["ratio"]).log(),
        old,
        torch.full_like(old, advantage),
        TABLE["log_ratio_clip"]["clip_low"],
        TABLE["log_ratio_clip"]["clip_high"],
    )
    torch.testing.assert_close(loss, row(expected["loss"]))
    torch.testing.assert_close(slope, row(expected["gradient"]))


@pytest.mark.parametrize("table", ["ppo_clip", "ppo_dual_clip", "asymmetric_dual_clip"])
@pytest.mark.parametrize("advantage", [1.0, -1.0, 0.8, -0.8])
def test_the_clipped_ratio_of_a_token_agrees_with_the_golden_table(advantage, table):
    expected = TABLE[table]["rows"][str(advantage)]
    old = torch.full_like(row(TABLE["ratio"]), TABLE["log_prob_old"])
    bounds = [TABLE[table][name] for name in ("clip_low", "clip_high", "dual_clip")]
    log_prob, credit = old + row(TABLE["ratio"]).log(), torch.full_like(old, advantage)
    loss, slope = loss_and_slope(clipped_ratio, log_prob, old, credit, *bounds)
    torch.testing.assert_close(loss, row(expected["loss"]))
    torch.testing.assert_close(slope, row(expected["gradient"]))


def test_the_slope_of_the_policy_drift_agrees_with_the_golden_table():
    expected = TABLE["drift"]
    old = torch.full_like(row(TABLE["ratio"]), TABLE["log_prob_old"])
    log_prob = old + row(TABLE["ratio"]).log()
    _, slope = loss_and_slope(policy_drift, log_prob, old, expected["cap"])
    torch.testing.assert_close(expected["coefficient"] * slope, row(expected["gradient"]))


@pytest.mark.parametrize(
    ("ratio", "advantage", "slope"),
    [
        (0.1, 1.5, -1.5),  # far below, but the advantage brings it back
        (0.7, -1.5, 0.0),
        (0.85, -1.5, 1.5),
        (1.0, 1.5, -1.5),
        (1.0, -1.5, 1.5),
        (1.25, 1.5, -1.5),
        (1.35, 1.5, 0.0),
        (10.0, -1.5, 1.5),  # far above, and PPO would multiply this by 10
        (10.0, 0.0, 0.0),
        (0.1, 0.0, 0.0),
    ],
)
def test_a_token_moves_unless_it_left_the_clip_range_in_the_direction_of_its_advantage(
    ratio, advantage, slope
):
    _, actual = clip_at(ratio, advantage, low=0.2, high=0.3)
    torch.testing.assert_close(actual, row([slope]))


@pytest.mark.parametrize(
    ("low", "high", "frozen"),
    [(0.2, None, (True, False)), (None, 0.2, (False, True)), (None, None, (False, False))],
)
def test_a_bound_of_none_turns_off_its_side_alone(low, high, frozen):
    below, above = clip_at(0.5, -1.0, low, high)[1], clip_at(2.0, 1.0, low, high)[1]
    assert (below.item() == 0, above.item() == 0) == frozen


def test_a_token_with_a_hair_of_clip_range_left_moves_as_on_policy():
    inside = 1 - 1e-12
    assert clip_at(1 + 0.2 * inside, 1.0, 0.2, 0.2)[1].item() == -1
    assert clip_at(1 - 0.2 * inside, -1.0, 0.2, 0.2)[1].item() == 1


def test_on_a_bound_a_token_still_moves():
    zero = row([-1.0])
    for advantage in (1.0, -1.0):
        _, slope = loss_and_slope(clipped_log_ratio, zero, zero, row([advantage]), 0.0, 0.0)
        assert slope.item() == -advantage


def test_bounds_may_differ_from_token_to_token():
    old = row([-1.0, -1.0, -1.0, -1.0])
    log_prob = old + row([1.15, 1.15, 0.85, 0.85]).log()
    advantage = row([1.0, 1.0, -1.0, -1.0])
    bounds = row([0.1, 0.2, 0.1, 0.2])
    _, slope = loss_and_slope(clipped_log_ratio, log_prob, old, advantage, bounds, bounds)
    assert slope.tolist() == [[0.0, -1.0, 0.0, 1.0]]


@pytest.mark.parametrize("cap", [0.5, 2.0])
def test_the_drift_pulls_every_ratio_towards_one_and_never_harder_than_its_cap(cap):
    old = row([-60.0] * 6)
    log_prob = old + row([-50.0, log(0.5), 0.0, log(1.4), log(cap + 1.1), 50.0])
    _, slope = loss_and_slope(policy_drift, log_prob, old, cap)
    torch.testing.assert_close(slope, row([-1.0, -0.5, 0.0, 0.4, cap, cap]))


def test_without_a_cap_the_drift_has_the_slope_of_the_k3_estimate():
    old = row([-1.0, -1.0])
    _, slope = loss_and_slope(policy_drift, old + row([0.1, 9.0]).log(), old, None)
    torch.testing.assert_close(slope, row([-0.9, 8.0]))


@pytest.mark.parametrize(
    ("divergence", "slopes"),
    [(forward_kl, [-1.0, -1.0]), (reverse_kl, [0.5 * (1 + log(0.5)), 2.0])],
)
def test_the_drift_of_another_divergence_has_its_slope_up_to_the_cap(divergence, slopes):
    old = row([-1.0, -1.0])
    log_prob = old + row([0.5, 9.0]).log()
    _, slope = loss_and_slope(policy_drift, log_prob, old, 2.0, divergence)
    torch.testing.assert_close(slope, row(slopes))


def test_the_value_of_the_drift_is_that_of_equation_2():
    loss, _ = loss_and_slope(policy_drift, row([-1.0]), row([-1.0 - log(1.5)]), 2.0)
    torch.testing.assert_close(loss, row([-0.5]))


def test_the_policy_gradient_weighs_the_log_probability_with_the_advantage():
    loss, slope = loss_and_slope(policy_gradient, row([-0.5, -2.0]), row([2.0, -1.0]))
    assert loss.tolist() == [[1.0, -2.0]]
    assert slope.tolist() == [[-2.0, 1.0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bound", [None, 0.0, 0.2])
@pytest.mark.parametrize("cap", [None, 2.0])
def test_losses_and_slopes_stay_finite_at_extreme_log_ratios(dtype, bound, cap):
    log_prob = torch.tensor([[-51.0, -1.0, -51.0, -1.0]], dtype=dtype)
    old = torch.tensor([[-1.0, -51.0, -1.0, -51.0]], dtype=dtype)
    advantage = torch.tensor([[1.0, 1.0, -1.0, -1.0]], dtype=dtype)
    for function, arguments in [
        (clipped_log_ratio, (old, advantage, bound, bound)),
        (policy_drift, (old, cap)),
        (clipped_ratio, (old, advantage, bound, bound)),
        (clipped_ratio, (old, advantage, bound, bound, 3.0)),
        (policy_gradient, (advantage,)),
    ]:
        loss, slope = loss_and_slope(function, log_prob, *arguments)
        assert loss.dtype == slope.dtype == dtype
        assert loss.isfinite().all()
        assert slope.isfinite().all()


def held(function, ratio, credit, *bounds):
    """Ratio that a loss looks at, and the slope of its logarithm in the log-ratio."""
    log_ratio = torch.full((1, 1), log(ratio), dtype=torch.float64).requires_grad_()
    result = function(log_ratio, row([credit]), *bounds)
    return result.exp().item(), torch.autograd.grad(result.sum(), log_ratio)[0].item()


@pytest.mark.parametrize(
    ("ratio", "credit", "expected"),
    [
        (0.5, 1.0, (0.5, 1)),
        (1.1, 1.0, (1.1, 1)),
        (1.5, 1.0, (1.3, 0)),
        (0.5, -1.0, (0.8, 0)),
        (2.5, -1.0, (2.5, 1)),
        (4.0, -1.0, (3.0, 0)),
        (0.5, 0.0, (0.8, 0)),
    ],
)
def test_a_masked_ratio_is_held_where_it_left_in_the_direction_of_its_credit(
    ratio, credit, expected
):
    assert held(masked, ratio, credit, 0.2, 0.3, 3.0) == pytest.approx(expected)


@pytest.mark.parametrize("credit", [1.0, -1.0])
@pytest.mark.parametrize(
    ("ratio", "bounds", "value"),
    [
        (0.5, (0.2, 0.3), 0.8),
        (1.1, (0.2, 0.3), 1.1),
        (1.5, (0.2, 0.3), 1.3),
        (0.5, (None, 0.3), 0.5),
        (1.5, (0.2, None), 1.5),
    ],
)
def test_a_truncated_ratio_is_bounded_and_keeps_its_gradient(ratio, bounds, value, credit):
    assert held(truncated, ratio, credit, *bounds) == pytest.approx((value, 1))


def square(log_prob):
    return log_prob.square()


def test_the_estimators_have_one_gradient_and_different_values():
    log_prob = row([-0.5, -2.0])
    exact, stopped = (
        loss_and_slope(lambda x, e=e: e(square, x), log_prob) for e in (differentiable, reinforce)
    )
    torch.testing.assert_close(exact[1], row([-1.0, -4.0]))
    torch.testing.assert_close(stopped[1], exact[1])
    torch.testing.assert_close(exact[0], row([0.25, 4.0]))
    torch.testing.assert_close(stopped[0], row([0.5, 8.0]))


def test_a_slope_carries_no_gradient_and_leaves_none_behind():
    log_prob = row([-0.5, -2.0]).requires_grad_()
    with torch.no_grad():
        pull = slope(square, log_prob)
    assert not pull.requires_grad
    assert log_prob.grad is None
    torch.testing.assert_close(pull, row([-1.0, -4.0]))
