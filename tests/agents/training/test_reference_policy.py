"""Reference policies: which one stands when, what a minibatch is held to, and what a run keeps."""

import copy
import math
import shutil
from dataclasses import dataclass

import pytest
import torch
from helpers import oracle, tiny_engines
from helpers.recording import RecordsBatches
from helpers.tiny_runs import numbers, same, train

from agents.cli.flags import FUNCTIONS, format_function, parse_function
from agents.cpgd import CPGD
from agents.engines.frozen_models import STATE, ReferencePolicy
from agents.grpo import GRPO
from agents.monitoring.metrics import token_kl
from agents.references import Refresh, every, fixed, old, when_moved
from agents.rollout import Batch
from agents.training.update import Passes, update

REWARD = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.5, 1.0], [0.0, 2.0]])
PIECES = Passes(minibatch_size=2, microbatch_size=2)


@dataclass(frozen=True, kw_only=True)
class Witness(RecordsBatches, GRPO):
    """GRPO that keeps the batches that it trains on."""


def reference_of(engine, refresh) -> ReferencePolicy:
    policy = copy.deepcopy(engine.policy)
    return ReferencePolicy(policy.model, lambda part: policy(part, engine.sampling)[0], refresh)


def snapshot(model) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in model.state_dict().items()}


def equal(weights, others) -> bool:
    return all(torch.equal(weights[name], others[name]) for name in weights)


def test_every_counts_optimizer_steps():
    assert [every(3)([0.0] * n) for n in range(1, 5)] == [False, False, True, True]
    assert every(1)([0.0])


def test_when_moved_looks_at_an_average_that_begins_at_zero():
    assert not when_moved(0.5, decay=0.0)([9.0, 0.5])
    assert when_moved(0.5, decay=0.0)([0.0, 0.5001])
    # 0.5 * (0.5 * 0 + 0.5 * 1) + 0.5 * 2
    assert not when_moved(1.25, decay=0.5)([1.0, 2.0])
    assert when_moved(1.2499, decay=0.5)([1.0, 2.0])


@pytest.mark.parametrize("divergence", [math.inf, math.nan])
def test_a_policy_beyond_all_numbers_has_moved(divergence):
    assert when_moved(1e9)([0.0, divergence, 0.0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: every(0), "every got 0 optimizer steps"),
        (lambda: when_moved(0.0), "kappa 0.0: give it one above 0"),
        (lambda: when_moved(math.nan), "kappa nan"),
        (lambda: when_moved(0.1, 1.0), "decay 1.0: give it one in"),
    ],
)
def test_numbers_out_of_range_are_refused_in_one_line(make, words):
    with pytest.raises(ValueError, match=rf"^[^\n]*{words}[^\n]*$"):
        make()


@pytest.mark.parametrize("refresh", [old, fixed, every(3), when_moved(0.1, 0.5)])
def test_the_command_line_spells_a_reference_as_it_reads_it(refresh):
    assert parse_function(format_function(refresh), FUNCTIONS[Refresh]) == refresh


def test_only_references_are_offered_by_name():
    with pytest.raises(ValueError, match=r"there are every, fixed, old, when_moved$"):
        parse_function("newest", FUNCTIONS[Refresh])


def test_after_every_k_steps_the_reference_is_the_policy_and_stays_so(engine, responses):
    steps = 2
    reference = reference_of(engine, every(steps))
    stood = [snapshot(reference.model)]
    for step in range(1, 5):
        update(CPGD(), engine, responses, REWARD, Passes(minibatch_size=8, microbatch_size=8))
        assert equal(snapshot(reference.model), stood[-1])  # what trains the policy leaves it
        assert reference.stepped(engine, 0.0) is (step % steps == 0)
        if step % steps == 0:
            stood.append(snapshot(engine.policy.model))
            assert not equal(stood[-1], stood[-2])
        assert equal(snapshot(reference.model), stood[-1])


def test_a_fixed_reference_never_changes(engine, responses):
    reference = reference_of(engine, fixed)
    before = snapshot(reference.model)
    for _ in range(3):
        metrics = update(GRPO(reference=fixed), engine, responses, REWARD, PIECES, reference)
    assert equal(snapshot(reference.model), before)
    assert not equal(snapshot(engine.policy.model), before)
    assert metrics["policy/kl_ref"] > 0


def refreshed_by(refresh, engine, responses, num_rollouts=3) -> list[int]:
    """After which optimizer steps of the rollouts the reference was another one."""
    reference = reference_of(engine, refresh)
    learner = Witness(reference=refresh)
    before, steps = snapshot(reference.model), []
    stepped = reference.stepped

    def count(engine, token_kl):
        moved = stepped(engine, token_kl)
        counted.append(moved)
        return moved

    counted: list[bool] = []
    reference.stepped = count
    for _ in range(num_rollouts):
        update(learner, engine, responses, REWARD, PIECES, reference)
    steps = [i + 1 for i, moved in enumerate(counted) if moved]
    assert equal(snapshot(reference.model), before) == (not steps)
    return steps


def test_the_count_of_steps_goes_on_over_rollouts(engine, responses):
    assert refreshed_by(every(5), engine, responses) == [5, 10]


def test_a_reference_moves_only_when_the_policy_is_further_than_kappa(folder, responses):
    moves = {
        kappa: refreshed_by(when_moved(kappa), tiny_engines.build("torch", folder), responses, 2)
        for kappa in (1e-9, 1e-3, 1e9)
    }
    assert len(moves[1e-9]) > len(moves[1e-3]) > 0
    assert moves[1e9] == []


def test_minibatches_after_a_refresh_are_held_to_the_new_reference(engine, responses):
    witness = Witness(reference=every(2))
    reference = reference_of(engine, every(2))
    start = reference(responses)
    update(witness, engine, responses, REWARD, PIECES, reference)
    seen = [(log_prob, batch) for log_prob, batch in witness.batches]
    assert len(seen) == 4
    for i, (log_prob, batch) in enumerate(seen):
        mask = batch.mask
        ref = batch.ref_log_prob[mask]
        rows = start[2 * i : 2 * i + 2, : mask.shape[1]][mask]
        if i < 2:
            torch.testing.assert_close(ref, rows)
        else:
            assert (ref - rows).abs().max() > 1e-4
        if i in (0, 2):  # the first step of a reference: w == 1 with itself
            torch.testing.assert_close(ref, log_prob[mask], atol=1e-5, rtol=0)
            assert token_kl(log_prob, batch) == pytest.approx(0, abs=1e-6)
        else:
            assert token_kl(log_prob, batch) > 1e-5
        torch.testing.assert_close(  # the ratio's old policy is another matter
            batch.old_log_prob[mask], rows, atol=1e-5, rtol=0
        )


def test_a_reference_refreshed_with_each_rollout_is_the_old_policy(engine, responses):
    witness = Witness(reference=every(4))
    reference = reference_of(engine, every(4))
    for _ in range(2):
        update(witness, engine, responses, REWARD, PIECES, reference)
    for _, batch in witness.batches:
        ref, before = batch.ref_log_prob[batch.mask], batch.old_log_prob[batch.mask]
        torch.testing.assert_close(ref, before, atol=1e-5, rtol=0)
    first = witness.batches[4]
    torch.testing.assert_close(first[0], first[1].old_log_prob, atol=1e-5, rtol=0)


def test_the_old_policy_as_reference_needs_no_model(engine, responses):
    metrics = update(GRPO(reference=old), engine, responses, REWARD, PIECES)
    assert "policy/kl_ref" not in metrics


def test_the_token_kl_is_exact_in_expectation():
    short = oracle.ShortResponses.of(3)
    before = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64).log()
    first, ref = (torch.tensor(x, dtype=torch.float64) for x in ([0.1, -0.2, 0.3], [0, 0.4, -0.4]))
    rows = short.copies(before, total=4)
    mask = torch.ones(4, 1, dtype=torch.bool)
    policies = [x.log_softmax(-1) for x in (first, before, ref)]
    log_prob, old_log_prob, ref_log_prob = (x[rows][:, None] for x in policies)
    batch = Batch(mask, log_prob, old_log_prob, old_log_prob, ref_log_prob)
    expected = oracle.kl(policies[0], policies[2]).item()
    assert token_kl(log_prob, batch) / 4 == pytest.approx(expected, rel=1e-12)


def test_a_saved_reference_is_restored_with_its_count(engine, responses, tmp_path):
    reference = reference_of(engine, every(3))
    update(GRPO(reference=every(3)), engine, responses, REWARD, PIECES, reference)
    reference.save(tmp_path)
    loaded = reference_of(engine, every(3))
    assert not equal(snapshot(loaded.model), snapshot(reference.model))
    loaded.load(tmp_path)
    assert equal(snapshot(loaded.model), snapshot(reference.model))
    assert loaded.token_kl == reference.token_kl
    assert len(loaded.token_kl) == 1


def test_a_missing_or_damaged_reference_is_told_in_one_line(engine, tmp_path):
    reference = reference_of(engine, fixed)
    with pytest.raises(ValueError, match=rf"^the checkpoint [^\n]* has no {STATE}: [^\n]*$"):
        reference.load(tmp_path)
    torch.save({"model": {}, "token_kl": []}, tmp_path / STATE)
    with pytest.raises(ValueError, match=rf"^[^\n]*{STATE} does not fit this run: [^\n]*$"):
        reference.load(tmp_path)


@pytest.mark.slow(reason="two runs; test_rollouts has a resumed run that is held to a reference")
def test_a_resumed_run_is_held_to_the_reference_of_one_that_was_not_stopped(tiny_folder, tmp_path):
    settings = {"beta": 0.1, "reference": "when_moved(0.001)", "num_steps": 4, "save_every": 2}
    settings |= {"num_prompts": 2, "minibatch_size": 4, "max_response_length": 4}
    whole, again = tmp_path / "whole", tmp_path / "again"
    rows = train(tiny_folder, whole, **settings)
    assert rows[-1]["policy/kl_ref"] > 0
    shutil.copytree(whole, again)
    shutil.rmtree(again / "checkpoints" / "step-4")
    train(tiny_folder, again, **settings, resume=True)
    assert numbers(again) == numbers(whole)
    assert same(again, whole)
    states = [
        torch.load(run / "checkpoints" / "step-4" / STATE, weights_only=True)
        for run in (whole, again)
    ]
    assert states[0]["token_kl"] == states[1]["token_kl"]
    assert equal(states[0]["model"], states[1]["model"])
