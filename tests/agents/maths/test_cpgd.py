import pytest
import torch
from helpers.golden_cases import case, loss_and_gradient, tensor

from agents.advantages import clip_filter
from agents.cpgd import CPGD, tight_to_loose
from agents.reductions import constant_length, prompt_mean, sequence_mean, token_mean
from agents.rollout import Batch


def test_a_shift_and_a_scale_of_the_rewards_do_not_matter_with_the_std_weight():
    log_prob, old, reward, mask, size, _ = case()
    expected = loss_and_gradient(CPGD(), log_prob, old, reward, mask, size)
    actual = loss_and_gradient(CPGD(), log_prob, old, 3 * reward - 7, mask, size)
    torch.testing.assert_close(actual, expected)


def batch_of(learner, name="strong"):
    log_prob, old, reward, mask, size, ref = case(name)
    credit = learner.advantage(reward.view(-1, size)).flatten()[:, None].expand_as(old)
    return log_prob, Batch(mask, credit, old, old, ref)


@pytest.mark.parametrize("reduction", [token_mean, sequence_mean, prompt_mean, constant_length(16)])
@pytest.mark.parametrize("microbatch_size", [1, 5, 8])
def test_microbatches_cut_to_their_longest_response_add_up_to_the_whole(reduction, microbatch_size):
    learner = CPGD(reduction=reduction, beta=0.1, clip_schedule=0.5)
    log_prob, batch = batch_of(learner)
    lengths = batch.mask.sum(-1)
    token_weight = reduction(lengths, 4)
    total = torch.zeros((), dtype=torch.float64)
    for start in range(0, len(lengths), microbatch_size):
        rows = slice(start, start + microbatch_size)
        width = int(lengths[rows].max())
        part = batch.rows(start, rows.stop, width)
        loss = learner.loss(log_prob[rows, :width], part).where(part.mask, 0.0)
        total += (token_weight[rows] * loss.sum(-1)).sum()
    torch.testing.assert_close(total, learner.compute_loss(*case()))


def test_the_schedule_grows_from_tight_to_loose_along_a_response():
    mask = torch.tensor([[True, True, True, True], [True, True, False, False], [False] * 4])
    factor = tight_to_loose(mask, 0.5)
    assert factor[0].tolist() == [0.625, 0.75, 0.875, 1.0]
    assert factor[1, :2].tolist() == [0.75, 1.0]
    assert factor.isfinite().all()
    assert (tight_to_loose(mask, 1.0) == 1).all()


def test_a_schedule_of_one_is_the_constant_clip():
    scheduled, constant = (loss_and_gradient(CPGD(clip_schedule=s), *case()) for s in (1.0, None))
    torch.testing.assert_close(scheduled, constant, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("schedule", "moves"),
    [
        # Bounds 0.9 and 1.3 everywhere; then 0.95 and 1.15 for the first of two tokens.
        (None, [[True, True], [False, False], [True, True], [False, False]]),
        (0.0, [[False, True], [False, False], [False, True], [False, False]]),
    ],
)
def test_clip_low_holds_negative_advantages_below_and_clip_high_positive_ones_above(
    schedule, moves
):
    ratio = tensor([[1.2] * 2, [1.4] * 2, [0.92] * 2, [0.85] * 2])
    advantage = tensor([[1.0] * 2, [1.0] * 2, [-1.0] * 2, [-1.0] * 2])
    old, log_prob = torch.full_like(ratio, -1.0), (ratio.log() - 1).requires_grad_()
    learner = CPGD(clip_low=0.1, clip_high=0.3, clip_schedule=schedule, drift_coefficient=None)
    loss = learner.loss(log_prob, Batch(torch.ones(4, 2).bool(), advantage, old, old))
    (slope,) = torch.autograd.grad(loss.sum(), log_prob)
    torch.testing.assert_close(slope, -advantage * tensor(moves))


def test_in_the_first_epoch_the_importance_factor_is_exactly_one():
    log_prob, batch = batch_of(CPGD())
    bare = CPGD(drift_coefficient=None, clip_low=None, clip_high=None)
    expected = -batch.advantage * (log_prob - batch.old_log_prob)
    torch.testing.assert_close(bare.loss(log_prob, batch), expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("clip_low", "clip_high", "factors"),
    [
        (0.2, 0.3, [0.8, 0.9, 1.0, 1.25, 1.3]),
        (None, 0.3, [0.1, 0.9, 1.0, 1.25, 1.3]),
        (0.2, None, [0.8, 0.9, 1.0, 1.25, 4.0]),
    ],
)
def test_in_later_epochs_the_advantage_is_weighed_with_the_truncated_ratio_of_the_last_epoch(
    clip_low, clip_high, factors
):
    old = tensor([[-3.0] * 5])
    epoch = old + tensor([[0.1, 0.9, 1.0, 1.25, 4.0]]).log()
    # The live policy has a ratio of its own, inside the clip range; it must not enter.
    log_prob = (old + tensor([[1.05] * 5]).log()).requires_grad_()
    mask, advantage = torch.ones(1, 5, dtype=torch.bool), tensor([[2.0] * 5])
    # The schedule tightens the clip of the loss, never that of the factor.
    for schedule in (None, 0.5):
        learner = CPGD(
            clip_low=clip_low, clip_high=clip_high, clip_schedule=schedule, drift_coefficient=None
        )
        loss = learner.loss(log_prob, Batch(mask, advantage, old, epoch))
        (slope,) = torch.autograd.grad(loss.sum(), log_prob)
        torch.testing.assert_close(slope, -2 * tensor([factors]))


def test_in_later_epochs_the_clip_and_the_drift_still_start_from_the_old_policy():
    old, advantage = tensor([[-3.0]]), tensor([[1.0]])
    epoch, log_prob = old + tensor([[2.4]]).log(), (old + tensor([[2.5]]).log()).requires_grad_()
    batch = Batch(torch.ones(1, 1).bool(), advantage, old, epoch)
    (slope,) = torch.autograd.grad(CPGD(drift_coefficient=0.1).loss(log_prob, batch), log_prob)
    torch.testing.assert_close(slope, tensor([[0.1 * 1.5]]))


def test_none_and_zero_turn_off_the_drift_and_the_reference_alike():
    without, *zeros = (
        loss_and_gradient(learner, *case())
        for learner in (
            CPGD(drift_coefficient=None),
            CPGD(drift_coefficient=0.0),
            CPGD(drift_coefficient=None, beta=0.0),
        )
    )
    for zero in zeros:
        torch.testing.assert_close(zero, without, rtol=0, atol=0)


def test_a_learner_is_a_value():
    assert CPGD(advantage_function=clip_filter(2.0)) == CPGD(advantage_function=clip_filter(2.0))
    assert CPGD() != CPGD(drift_cap=None)
