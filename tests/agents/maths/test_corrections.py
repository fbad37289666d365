"""Corrections for a sampler that is not the trainer, as functions."""

import math
from dataclasses import replace

import pytest
import torch
from helpers.golden_cases import case, loss_and_gradient, tensor

from agents.advantages import centered
from agents.cli.flags import parse_run
from agents.corrections import (
    corrected,
    k3_mask,
    masked_weight,
    off_policy_mask,
    product,
    ratio_mask,
    rejected,
    truncated_weight,
    uncorrected,
)
from agents.divergences import unnormalized_reverse_kl
from agents.engines.bandit import BanditEngine, respond
from agents.errors import UsageError
from agents.grpo import GRPO
from agents.rollout import Batch
from agents.training.update import Passes, update

MASK = torch.tensor([[True, True], [True, True], [True, False]])
RATIO = tensor([[0.4, 4.0], [1.5, 1.5], [7.0, math.nan]])
"""π_old / μ; products 1.6, 2.25, 7; geometric means 1.26, 1.5, 7."""
OLD = torch.full((3, 2), -3.0, dtype=torch.float64)


def batch(advantage=1.0):
    sampler = OLD - RATIO.log()
    return Batch(MASK, torch.full_like(OLD, advantage), OLD, OLD, sampler_log_prob=sampler)


@pytest.mark.parametrize(
    ("correction", "weights"),
    [
        (truncated_weight(2.0), [[0.4, 2], [1.5, 1.5], [2, 1]]),
        (truncated_weight(2.0, 0.5), [[0.5, 2], [1.5, 1.5], [2, 1]]),
        (truncated_weight(2.0, level="response"), [[1.6, 1.6], [2, 2], [2, 2]]),
        (masked_weight(0.5, 5.0), [[0, 4], [1.5, 1.5], [0, 1]]),
        (masked_weight(0.0, 3.0, "response"), [[1.6, 1.6], [2.25, 2.25], [0, 0]]),
        (ratio_mask(0.5, 2.0, "response"), [[1, 1], [0, 0], [0, 0]]),
        (ratio_mask(1.3, 2.0), [[0, 0], [1, 1], [0, 0]]),
        (ratio_mask(0.5, 2.0, "token"), [[0, 0], [1, 1], [0, 1]]),
        (k3_mask(0.1), [[0, 0], [1, 1], [0, 0]]),
        (k3_mask(0.09), [[0, 0], [0, 0], [0, 0]]),  # ½ ln² 1.5 is less
        (product(ratio_mask(1.0, 2.0), truncated_weight(1e30)), [[0.4, 4], [1.5, 1.5], [0, 0]]),
        (uncorrected, [[1, 1], [1, 1], [1, 1]]),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_the_weights_of_tokens_by_hand(correction, weights):
    actual = correction(batch(), OLD)
    torch.testing.assert_close(actual[MASK], tensor(weights)[MASK])
    assert torch.equal(corrected(correction, batch(), OLD)[1], actual)
    assert torch.equal(rejected(correction, batch(), OLD), (actual == 0) & MASK)


@pytest.mark.parametrize("correction", [2.0, truncated_weight(2.0), masked_weight(), k3_mask()])
def test_without_log_probabilities_of_a_sampler_nothing_is_weighed(correction):
    arguments = case()
    learner = GRPO(sampler_correction=correction)
    plain = loss_and_gradient(GRPO(), *arguments)
    torch.testing.assert_close(loss_and_gradient(learner, *arguments), plain, rtol=0, atol=0)


@pytest.mark.parametrize("cap", [0.5, 2.0])
def test_a_number_is_the_cap_of_truncated_weights_bit_for_bit(cap):
    log_prob, old, reward, mask, size, ref = case()
    losses = [
        GRPO(sampler_correction=value).compute_loss(
            log_prob, old, reward, mask, size, ref, sampler_log_prob=old - 0.7
        )
        for value in (cap, truncated_weight(cap))
    ]
    assert torch.equal(*losses)


@pytest.mark.parametrize("log_ratio", [200.0, -200.0])
def test_a_ratio_beyond_float32_is_rejected_or_cut_and_never_infinite(log_ratio):
    sampler = (OLD - log_ratio).float()
    far = replace(batch(), old_log_prob=OLD.float(), sampler_log_prob=sampler)
    functions = masked_weight(), truncated_weight(1e30), k3_mask(), ratio_mask(0.5, 2.0, "response")
    for function in (*functions, product(*functions[:2])):
        assert function(far, OLD.float()).isfinite().all()


def test_the_off_policy_mask_drops_bad_responses_that_have_become_unlikely():
    log_prob = OLD - tensor([[0.9, 0.3], [0.5, 0.3], [0.7, math.nan]])
    anchored = replace(batch(-1.0), sampler_log_prob=OLD)
    expected = tensor([[0, 0], [1, 1], [0, 0]])
    assert torch.equal(off_policy_mask(0.5)(anchored, log_prob), expected)
    alone = replace(anchored, sampler_log_prob=None)
    assert torch.equal(off_policy_mask(0.5)(alone, log_prob), expected)
    good = replace(anchored, advantage=-anchored.advantage)
    assert off_policy_mask(0.5)(good, log_prob).eq(1).all()


def test_the_off_policy_mask_leaves_the_penalty_of_what_it_drops():
    log_prob, old, reward, mask, size, ref = case()
    loss = GRPO(
        advantage_function=centered,
        divergence=unnormalized_reverse_kl,
        sampler_correction=product(off_policy_mask(-math.inf), truncated_weight(1e30)),
    )
    nothing_bad = reward.view(-1, size).amin(-1, keepdim=True).expand(-1, size).flatten()
    only_penalty = loss_and_gradient(loss, log_prob, old, nothing_bad, mask, size, ref)
    actual = loss_and_gradient(loss, log_prob, old, reward, mask, size, ref)
    is_bad = (reward.view(-1, size) < reward.view(-1, size).mean(-1, keepdim=True)).flatten()
    torch.testing.assert_close(actual[1][is_bad], only_penalty[1][is_bad])
    assert not torch.allclose(actual[1][~is_bad], only_penalty[1][~is_bad])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: masked_weight(5.0, 0.5),
            r"^masked_weight got bounds from 5.0 to 0.5: give finite",
        ),
        (
            lambda: truncated_weight(0.0),
            r"^truncated_weight got bounds from 0.0 to 0.0: give finite",
        ),
        (
            lambda: masked_weight(0.0, math.inf),
            r"^masked_weight got bounds from 0.0 to inf: give fi",
        ),
        (lambda: ratio_mask(level="word"), r"^ratio_mask got the level 'word': give token, turn"),
    ],
)
def test_bounds_and_levels_that_there_are_not_are_refused_in_one_line(make, words):
    with pytest.raises(UsageError, match=words):
        make()


@pytest.mark.parametrize(
    ("text", "correction"),
    [
        ("2", 2.0),
        ("None", None),
        ("uncorrected", uncorrected),
        ("masked_weight(0.5,5)", masked_weight(0.5, 5)),
        (
            "ratio_mask(0.9, 1.1) * truncated_weight(2)",
            product(ratio_mask(0.9, 1.1), truncated_weight(2)),
        ),
    ],
)
def test_a_correction_is_a_matter_of_flags_and_of_its_own_words(text, correction):
    assert parse_run(GRPO, ["--sampler-correction", text])[1].sampler_correction == correction
    if callable(correction) and correction is not uncorrected:
        words = ["--sampler-correction", str(correction)]
        assert parse_run(GRPO, words)[1].sampler_correction == correction


def test_an_update_counts_tokens_and_responses_that_are_rejected():
    responses = respond([0, 0], torch.tensor([[0, 1], [1, 2]]), [2, 2])
    sampler = torch.full((2, 2), -math.log(3)) - tensor([[9.0, 1.0], [9.0, 9.0]]).log()
    responses = replace(responses, sampler_log_prob=sampler)
    passes = Passes(minibatch_size=2, microbatch_size=1)

    def metrics(correction):
        learner = GRPO(beta=None, sampler_correction=correction)
        table = torch.zeros(1, 2, 3, dtype=torch.float64)
        return update(learner, BanditEngine(table), responses, tensor([[1.0, 0.0]]), passes)

    row = metrics(masked_weight())
    assert (row["sampler/rejected_tokens"], row["sampler/rejected_responses"]) == (0.75, 0.5)
    for correction in (None, 2.0, uncorrected):
        assert "sampler/rejected_tokens" not in metrics(correction)
