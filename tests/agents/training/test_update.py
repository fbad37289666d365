"""The update: its metrics, its refusals, and its equality with the algorithm on tensors."""

import json
import math
from dataclasses import dataclass, replace

import pytest
import torch
from helpers import tiny_engines
from helpers.recording import RecordsBatches
from helpers.tiny_engines import LENGTHS, difference, vector

from agents.advantages import centered
from agents.cispo import CISPO
from agents.cpgd import CPGD
from agents.engines.frozen_models import ReferencePolicy
from agents.monitoring.traces import Trace
from agents.reductions import token_mean
from agents.references import every
from agents.reinforce_plus_plus import ReinforcePlusPlus
from agents.rloo import RLOO
from agents.storage.json_files import json_line
from agents.training.update import Passes, update

REWARD = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.5, 1.0], [0.0, 2.0]])
WHOLE = Passes(minibatch_size=8, microbatch_size=8)
METRICS = {
    "train/loss",
    "train/grad_norm",
    "train/lr",
    "train/skipped",
    "train/no_signal",
    "policy/ratio_max",
    "policy/ratio_min",
    "policy/clip_fraction",
    "policy/kl_old",
    "policy/entropy",
    "response/length_mean",
    "response/truncated",
    "sampler/log_prob_diff_mean",
    "sampler/log_prob_diff_max",
}


@dataclass(frozen=True, kw_only=True)
class Witness(RecordsBatches, CISPO):
    """CISPO that keeps the batches that it trains on."""


@torch.no_grad()
def log_prob_of(engine, responses):
    return engine.forward(responses)[0]


def test_an_update_logs_finite_numbers_under_the_names_of_the_design(engine, responses):
    # The made-up responses say that the sampler gave each token a probability of one.
    apart = -log_prob_of(engine, responses)
    metrics = update(CPGD(), engine, responses, REWARD, WHOLE)
    assert set(metrics) == METRICS
    assert all(math.isfinite(value) for value in metrics.values())
    assert metrics["response/length_mean"] == sum(LENGTHS) / len(LENGTHS)
    assert metrics["response/truncated"] == 0
    assert metrics["sampler/log_prob_diff_max"] == pytest.approx(apart.max().item())
    assert metrics["sampler/log_prob_diff_mean"] == pytest.approx(apart.sum().item() / sum(LENGTHS))


def test_the_loss_logged_is_that_of_the_algorithm_on_tensors(engine, responses):
    old = log_prob_of(engine, responses)
    expected = CPGD().compute_loss(old, old, REWARD.flatten(), responses.mask, 2)
    metrics = update(CPGD(), engine, responses, REWARD, WHOLE)
    assert metrics["train/loss"] == pytest.approx(expected.item(), rel=1e-5)


def test_the_first_minibatch_is_on_policy_and_later_ones_are_not(engine, responses):
    metrics = update(CPGD(), engine, responses, REWARD, WHOLE)
    assert metrics["policy/ratio_max"] == pytest.approx(1, abs=1e-5)
    assert metrics["policy/ratio_min"] == pytest.approx(1, abs=1e-5)
    assert metrics["policy/clip_fraction"] == 0
    assert metrics["policy/kl_old"] == pytest.approx(0, abs=1e-9)
    metrics = update(CPGD(), engine, responses, REWARD, Passes(minibatch_size=2, microbatch_size=2))
    assert metrics["policy/ratio_max"] > 1.001
    assert metrics["policy/ratio_min"] < 0.999
    assert metrics["policy/kl_old"] > 0


@pytest.mark.parametrize("learner", [CPGD(), CISPO()])
def test_an_update_makes_better_responses_likelier_and_worse_ones_less(folder, responses, learner):
    engine = tiny_engines.descent("torch", folder, rate=1e-2)
    before = log_prob_of(engine, responses).sum(-1)
    update(learner, engine, responses, REWARD, WHOLE)
    change = (log_prob_of(engine, responses).sum(-1) - before).reshape(4, 2)
    better = centered(REWARD)
    assert (change * better).sum() > 0
    assert change[0, 0] > change[0, 1]
    assert change[3, 1] > change[3, 0]


def test_the_second_epoch_knows_the_policy_at_the_end_of_the_first(folder, responses):
    witness = Witness()
    engine = tiny_engines.build("torch", folder)
    old = log_prob_of(engine, responses)
    update(
        witness, engine, responses, REWARD, Passes(minibatch_size=4, microbatch_size=4, epochs=2)
    )
    after_one = tiny_engines.build("torch", folder)
    update(CISPO(), after_one, responses, REWARD, Passes(minibatch_size=4, microbatch_size=4))
    expected = log_prob_of(after_one, responses)
    batches = [batch for _, batch in witness.batches]
    assert len(batches) == 4
    for i, epoch_log_prob in enumerate((old, old, expected, expected)):
        rows = slice(4 * (i % 2), 4 * (i % 2) + 4)
        width = batches[i].mask.shape[1]
        for seen, wanted in (
            (batches[i].old_log_prob, old),
            (batches[i].epoch_log_prob, epoch_log_prob),
        ):
            torch.testing.assert_close(seen, wanted[rows, :width], atol=1e-5, rtol=0)
    assert (expected - old).abs().max() > 1e-3


def step_of(learner, folder, responses, reference=None):
    """How an update moves the weights, in multiples of the gradient."""
    engine = tiny_engines.descent("torch", folder)
    before = vector(engine)
    update(learner, engine, responses, REWARD, WHOLE, reference)
    return vector(engine) - before


def test_the_reference_constraint_pulls_to_the_reference(engine, folder, responses):
    without = step_of(CPGD(), folder, responses)

    def pull(shift):
        def reference(part):
            return log_prob_of(engine, part) + shift

        return difference(step_of(CPGD(beta=0.5), folder, responses, reference), without)

    assert pull(0.0) < 1e-5  # the policy is its own reference
    assert pull(1.0) > 0.1


def test_a_missing_reference_is_refused_in_one_line(engine, responses):
    with pytest.raises(ValueError, match=r"^CPGD with a reference constraint needs[^\n]*$"):
        update(CPGD(beta=0.1), engine, responses, REWARD, WHOLE)


@pytest.mark.parametrize("minibatch_size", [0, 1, 3, 6, 16])
def test_minibatches_of_broken_groups_are_refused_in_one_line(engine, responses, minibatch_size):
    passes = Passes(minibatch_size=minibatch_size, microbatch_size=2)
    with pytest.raises(ValueError, match=rf"^minibatch_size {minibatch_size} must hold[^\n]*$"):
        update(CPGD(), engine, responses, REWARD, passes)


def test_tokens_outside_the_mask_have_no_influence(folder, responses):
    steps = []
    for token in (0, 7):
        responses.tokens[~responses.mask] = token
        steps.append(step_of(CPGD(reduction=token_mean), folder, responses))
    assert torch.equal(*steps)


def calls_of(engine, learner, responses, reference=None, **passes) -> list[str]:
    """The forward passes of an update: those that train, and those that only look."""
    calls, forward = [], engine.policy.forward

    def counted(*arguments):
        calls.append("train" if torch.is_grad_enabled() else "look")
        return forward(*arguments)

    engine.policy.forward = counted
    update(learner, engine, responses, REWARD, Passes(**passes), reference)
    return calls


@pytest.mark.parametrize("learner", [CPGD(), RLOO(whiten=True), ReinforcePlusPlus(beta=None)])
@pytest.mark.parametrize("epochs", [1, 2])
def test_one_optimizer_step_a_rollout_costs_no_second_forward_pass(
    engine, responses, learner, epochs
):
    calls = calls_of(engine, learner, responses, minibatch_size=8, microbatch_size=2, epochs=epochs)
    assert calls == ["train"] * 4 * epochs


def test_before_several_steps_all_but_the_first_minibatch_is_looked_at(engine, responses):
    calls = calls_of(engine, CPGD(), responses, minibatch_size=2, microbatch_size=1)
    assert calls == ["look"] * 6 + ["train"] * 8


def test_credit_that_needs_the_old_policy_has_all_of_it_before_the_first_step(engine, responses):
    learner = ReinforcePlusPlus(beta=0.1)

    def reference(part):
        return torch.zeros(part.mask.shape)

    calls = calls_of(engine, learner, responses, reference, minibatch_size=8, microbatch_size=4)
    assert calls == ["look"] * 2 + ["train"] * 2


class Thrifty(CISPO):
    """Its credit looks at the old policy, which by default an update finds out."""

    def token_advantage(self, batch, total):
        return batch.advantage + batch.old_log_prob


class Forgetful(Thrifty):
    """Says that it does not look."""

    @property
    def token_advantage_uses_old_policy(self):
        return False


def test_credit_may_look_at_the_old_policy_and_who_denies_it_trains_on_nothing(engine, responses):
    old = log_prob_of(engine, responses)
    expected = Thrifty().compute_loss(old, old, REWARD.flatten(), responses.mask, 2)
    denied = update(Forgetful(), engine, responses, REWARD, WHOLE)
    assert math.isnan(denied["train/loss"])
    assert denied["train/skipped"] == 1
    metrics = update(Thrifty(), engine, responses, REWARD, WHOLE)
    assert metrics["train/loss"] == pytest.approx(expected.item(), rel=1e-5)


class Cautious(CPGD):
    """Looks at everything before the first step, though its credit does not need it."""

    @property
    def token_advantage_uses_old_policy(self):
        return True


@pytest.mark.parametrize("minibatch_size", [2, 4, 8])
def test_a_pass_more_before_the_first_step_changes_nothing(folder, responses, minibatch_size):
    passes = Passes(minibatch_size=minibatch_size, microbatch_size=3, epochs=2)
    ends, logged = [], []
    for learner in (CPGD(), Cautious()):
        engine = tiny_engines.descent("torch", folder, rate=0.1)
        before = vector(engine)
        logged.append(update(learner, engine, responses, REWARD, passes))
        ends.append(vector(engine) - before)
    assert difference(*ends) < 1e-5
    assert logged[0] == pytest.approx(logged[1], rel=1e-4, abs=1e-6)


NAN = REWARD.clone()
NAN[0, 0] = math.nan
"""Spoils the first minibatch of two."""
HALVES = Passes(minibatch_size=4, microbatch_size=3)


def test_a_loss_that_is_no_number_skips_its_step_and_no_other(folder, responses):
    one, two = (tiny_engines.build("torch", folder) for _ in range(2))
    metrics = update(CISPO(), one, responses, NAN, HALVES)
    alone = replace(HALVES, minibatch_size=4)
    expected = update(CISPO(), two, responses.rows(4, 8), REWARD[2:], alone)
    assert metrics["train/skipped"] == 1
    assert expected["train/skipped"] == 0
    for name in ("train/loss", "train/grad_norm"):
        assert metrics[name] == pytest.approx(expected[name], rel=1e-4)
    assert difference(vector(one), vector(two)) < 1e-6


def test_metrics_of_a_skipped_step_are_written_and_the_next_update_is_as_ever(engine, responses):
    before = vector(engine)
    metrics = update(CPGD(), engine, responses, torch.full((4, 2), math.inf), HALVES)
    assert metrics["train/skipped"] == 2
    assert torch.equal(vector(engine), before)
    row = json.loads(json_line(metrics))
    assert row["train/loss"] is None
    assert row["response/length_mean"] == sum(LENGTHS) / len(LENGTHS)
    after = update(CPGD(), engine, responses, REWARD, WHOLE)
    assert after["train/skipped"] == 0
    assert all(math.isfinite(value) for value in after.values())


def test_a_ratio_beyond_all_numbers_is_told_as_a_large_one(engine, responses):
    metrics = update(CPGD(), engine, responses, REWARD, WHOLE)

    @dataclass(frozen=True, kw_only=True)
    class Far(CPGD):
        def token_advantage(self, batch, total):
            batch.old_log_prob[batch.mask] = -1e4
            return batch.advantage

    far = update(Far(), engine, responses, REWARD, Passes(minibatch_size=4, microbatch_size=4))
    assert far["policy/ratio_max"] > 1e300 > metrics["policy/ratio_max"]


def test_a_skipped_step_neither_moves_the_reference_nor_counts_for_it(folder, responses):
    engine, other = (tiny_engines.build("torch", folder) for _ in range(2))

    def says(part):
        return log_prob_of(other, part)

    reference = ReferencePolicy(other.policy.model, says, every(2))
    learner = CPGD(beta=0.1, reference=every(2))
    start = vector(other)
    counts = []
    for reward in (REWARD, torch.full((4, 2), math.nan), REWARD):
        counts.append(len(reference.token_kl))
        assert torch.equal(vector(other), start)
        update(learner, engine, responses, reward, WHOLE, reference)
    assert counts == [0, 1, 1]
    assert torch.equal(vector(other), vector(engine))


def test_what_a_sampler_does_not_tell_is_not_compared(engine, responses):
    apart = -log_prob_of(engine, responses)
    responses.sampler_log_prob[1:] = math.nan
    metrics = update(CPGD(), engine, responses, REWARD, WHOLE)
    assert metrics["sampler/log_prob_diff_max"] == pytest.approx(apart[0].max().item())
    assert metrics["sampler/log_prob_diff_mean"] == pytest.approx(apart[0].mean().item())
    responses.sampler_log_prob[:] = math.nan
    metrics = update(CPGD(), engine, responses, REWARD, WHOLE)
    assert set(metrics) == {name for name in METRICS if not name.startswith("sampler/")}
    assert all(math.isfinite(value) for value in metrics.values())


def test_a_correction_without_the_samplers_log_probabilities_is_refused_in_one_line(
    engine, responses
):
    learner = CPGD(sampler_correction=2.0)
    responses.sampler_log_prob[3, 2] = math.nan
    with pytest.raises(ValueError, match=r"^CPGD with sampler_correction 2.0 needs [^\n]*$"):
        update(learner, engine, responses, REWARD, WHOLE)
    tensors = torch.zeros(8, 9), torch.zeros(8, 9), REWARD.flatten(), responses.mask, 2
    with pytest.raises(ValueError, match=r"^CPGD with sampler_correction 2.0 needs [^\n]*$"):
        learner.compute_loss(*tensors, sampler_log_prob=responses.sampler_log_prob)
    responses.sampler_log_prob.masked_fill_(~responses.mask, math.nan)[3, 2] = 0
    learner.compute_loss(*tensors, sampler_log_prob=responses.sampler_log_prob)


def test_an_update_fills_the_trace_that_it_is_given(engine, responses):
    trace, witness = Trace(responses), Witness()
    passes = Passes(minibatch_size=4, microbatch_size=2)
    update(witness, engine, responses, REWARD, passes, trace=trace)
    assert (trace.log_ratio[:4] == 0).all()
    assert (trace.log_ratio[4:].abs().max(1).values > 0).all()
    for i, (log_prob, batch) in enumerate(witness.batches):
        rows, width = slice(2 * i, 2 * i + 2), log_prob.shape[1]
        torch.testing.assert_close(
            trace.advantage[rows, :width][batch.mask], batch.advantage[batch.mask]
        )
        torch.testing.assert_close(
            trace.log_ratio[rows, :width][batch.mask],
            (log_prob - batch.old_log_prob)[batch.mask],
        )
