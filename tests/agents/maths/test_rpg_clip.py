"""The clips of RPG against the golden tables, token by token."""

import math

import pytest
import torch
from helpers.exact import assert_exact, gradient, losses
from helpers.golden_cases import DIVERGENCES, GOLDEN, WITHOUT_CLIP, tensor

from agents.losses import differentiable, masked, reinforce, truncated
from agents.rpg import RPG

every_divergence = pytest.mark.parametrize("divergence", DIVERGENCES)
every_estimator = pytest.mark.parametrize("estimator", [differentiable, reinforce])
REGULARISED = GOLDEN["clip_tables"]["regularised"]
MODES = {
    "none": WITHOUT_CLIP,
    "masked": {"clip": masked},
    "additive": {"clip": masked, "kl_in_clip": False},
    "truncated": {"clip": truncated},
}


def clipped(divergence, estimator, mode, **settings):
    bounds = {name: REGULARISED[name] for name in ("beta", "clip_low", "clip_high", "dual_clip")}
    fields = {"divergence": DIVERGENCES[divergence], "estimator": estimator}
    return RPG(**bounds | fields | MODES[mode] | settings)


def slopes(learner, ratio, advantage):
    """Slope of the loss of a token in its log-probability, at each ratio."""
    ratio = tensor(ratio)
    old = torch.full_like(ratio, GOLDEN["clip_tables"]["log_prob_old"])
    log_prob = (old + ratio.log()).requires_grad_()
    loss = losses(learner, log_prob, old, torch.full_like(ratio, float(advantage)))
    return gradient(loss.sum(), log_prob)


@pytest.mark.parametrize("advantage", ["1.0", "-1.0", "0.8", "-0.8"])
@pytest.mark.parametrize("mode", MODES)
@every_estimator
@every_divergence
def test_a_clipped_token_agrees_with_the_golden_table(divergence, estimator, mode, advantage):
    actual = slopes(clipped(divergence, estimator, mode), GOLDEN["clip_tables"]["ratio"], advantage)
    assert_exact(actual, tensor(REGULARISED["gradient"][divergence][advantage][mode]))


@every_estimator
@every_divergence
def test_inside_the_range_no_clip_changes_anything(divergence, estimator):
    inside = [0.81, 0.9, 1.0, 1.1, 1.27]
    without = slopes(clipped(divergence, estimator, "none"), inside, -0.3)
    for mode in MODES:
        assert_exact(slopes(clipped(divergence, estimator, mode), inside, -0.3), without)


def test_a_truncated_reward_may_have_a_divergence_that_is_not():
    learner = clipped("ufkl", reinforce, "truncated", kl_in_clip=False)
    actual = slopes(learner, [0.5, 2.0], 1.0)
    assert_exact(actual, tensor([-0.8 + 0.3 * (0.5 - 1), -1.28 + 0.3 * (2.0 - 1)]))


def test_a_large_divergence_and_not_the_reward_may_choose_the_branch():
    # The weight is w (1 - 4 ln w) < 0 at 2: up to the dual clip the token goes on moving.
    learner = clipped("urkl", differentiable, "masked", beta=4.0)
    moves = slopes(learner, [2.0, 3.1], 1.0)
    assert_exact(moves, tensor([-2.0 * (1 - 4 * math.log(2.0)), 0.0]))
