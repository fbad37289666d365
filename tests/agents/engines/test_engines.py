"""The contract of training engines: one suite for all, on the same tiny model."""

import numpy as np
import pytest
import torch
from helpers import tiny_engines
from helpers.tiny_engines import (
    ADAMW,
    KINDS,
    LENGTHS,
    RATE,
    ascend,
    difference,
    plain,
    responses_of,
    vector,
)

from agents.cpgd import CPGD
from agents.engines import TrainEngine
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.reductions import prompt_mean, sequence_mean, token_mean
from agents.training.update import Passes, update

STAGE_3 = pytest.param(
    "deepspeed-3", marks=pytest.mark.slow(reason="each pass gathers each weight; others do not")
)
SOME = ["torch", "deepspeed-0", "deepspeed-2", STAGE_3]
"""Stage 1 is computed as stage 2 is."""


@pytest.fixture(params=SOME)
def kind(request):
    return request.param


@pytest.fixture
def engine(kind, folder):
    return tiny_engines.build(kind, folder)


@pytest.fixture
def descent(kind, folder):
    return tiny_engines.descent(kind, folder)


def test_an_engine_is_a_train_engine_with_the_weights_of_its_model(engine, folder):
    assert isinstance(engine, TrainEngine)
    assert (engine.rank, engine.num_ranks) == (0, 1)
    expected = tiny_engines.pristine(folder)[0].state_dict()
    weights = dict(engine.weights())
    assert list(weights) == list(expected)
    assert all(torch.equal(weights[name], weight) for name, weight in expected.items())


def test_log_probabilities_are_those_of_the_plain_model(kind, folder):
    engine = tiny_engines.build(kind, folder, temperature=0.7)
    responses = responses_of(engine)
    log_prob, entropy = engine.forward(responses)
    policy = Policy(tiny_engines.pristine(folder)[0])
    with torch.no_grad():
        expected_log_prob, expected_entropy = plain(policy, responses, engine.sampling)
    torch.testing.assert_close(log_prob, expected_log_prob, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(entropy, expected_entropy, atol=2e-5, rtol=1e-5)
    assert log_prob.requires_grad
    assert not entropy.requires_grad
    assert all((values[~responses.mask] == 0).all() for values in (log_prob, entropy))


@pytest.mark.parametrize("weights", [(0.5, 1), (0, 1)])
def test_all_engines_take_the_same_step_for_the_entropy(descent, folder, weights):
    steps = []
    for engine in (descent, tiny_engines.descent("torch", folder)):
        before, responses = vector(engine), responses_of(engine)
        for part in (responses.rows(0, 2), responses.rows(2, 6)):
            values = engine.forward(part, entropy_gradient=True)
            terms = [weight * v.sum() for weight, v in zip(weights, values, strict=True) if weight]
            engine.backward(sum(terms) / 10)
        engine.step()
        steps.append(vector(engine) - before)
    assert difference(*steps) < 1e-6
    assert steps[0].norm() > 1e-2


def test_a_banned_token_has_probability_zero_and_breaks_nothing(engine):
    responses = responses_of(engine)
    placeholder = engine.policy.model.config.image_token_id
    assert placeholder in engine.chat.banned
    responses.tokens[0, 3] = placeholder
    log_prob, entropy = engine.forward(responses)
    assert log_prob[0, 3] == -torch.inf
    log_prob[0, 3] = 0
    assert log_prob.isfinite().all()
    assert entropy.isfinite().all()


def test_gradients_add_up_over_backward_calls(kind, folder):
    steps = []
    for cuts in ([(0, 6)], [(0, 1), (1, 4), (4, 6)]):
        engine = tiny_engines.descent(kind, folder)
        before = vector(engine)
        responses = responses_of(engine)
        ascend(engine, *(responses.rows(*cut) for cut in cuts))
        steps.append(vector(engine) - before)
    assert difference(*steps) < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_all_engines_take_the_same_step(descent, folder):
    reference = tiny_engines.descent("torch", folder)
    before = vector(descent)
    responses = responses_of(descent)
    assert ascend(descent, responses) == pytest.approx(ascend(reference, responses), rel=1e-5)
    step, expected = (vector(engine) - before for engine in (descent, reference))
    assert difference(step, expected) < 1e-6


def test_a_step_clears_the_gradient(kind, folder):
    engine = tiny_engines.descent(kind, folder, rate=1e-3)
    responses = responses_of(engine)
    ascend(engine, responses)
    weights = vector(engine)
    engine.backward(0 * engine.forward(responses)[0].sum())
    assert engine.step()["train/grad_norm"] == 0
    assert torch.equal(vector(engine), weights)


def test_the_gradient_is_clipped_and_its_norm_told_before(kind, folder):
    engine = tiny_engines.descent(kind, folder, max_grad_norm=0.25)
    before = vector(engine)
    metrics = ascend(engine, responses_of(engine))
    step = (vector(engine) - before).norm().item()
    assert metrics["train/grad_norm"] > 1
    assert metrics["train/lr"] == RATE
    assert step == pytest.approx(0.25 * RATE, rel=1e-4)


def test_the_learning_rate_follows_its_schedule(engine):
    responses = responses_of(engine).rows(0, 2)
    rates = [ascend(engine, responses)["train/lr"] for _ in range(4)]
    assert rates == pytest.approx([ADAMW.learning_rate * ADAMW.ratio(step) for step in range(4)])


HALF = {"bf16": {"enabled": True}}
PRECISIONS = [("torch", None), ("deepspeed-0", None), ("deepspeed-2", None), ("deepspeed-2", HALF)]
PRECISIONS.append(pytest.param("deepspeed-3", HALF, marks=STAGE_3.marks))


# Times zero, infinity is no number either.
@pytest.mark.parametrize(("kind", "config"), PRECISIONS)
def test_a_gradient_that_is_not_finite_moves_nothing(kind, config, folder):
    ends = []
    for spoiled in (False, True):
        engine = tiny_engines.build(kind, folder, config=config)
        responses = responses_of(engine)
        ascend(engine, responses)
        if spoiled:
            weights = vector(engine)
            # What was added before is lost with it.
            engine.backward(engine.forward(responses)[0].sum())
            engine.backward(engine.forward(responses)[0].sum() * torch.inf)
            assert not np.isfinite(engine.step()["train/grad_norm"])
            assert torch.equal(vector(engine), weights)
        ascend(engine, responses)
        ends.append(vector(engine))
    assert ends[0].isfinite().all()
    # Neither have the optimizer's averages seen it, nor has the rate gone on.
    assert torch.equal(*ends)


def test_a_forward_pass_without_gradients_changes_nothing(kind, folder):
    steps = []
    for looks in (False, True):
        engine = tiny_engines.descent(kind, folder)
        before = vector(engine)
        responses = responses_of(engine)
        for start in (0, 2, 4):
            part = responses.rows(start, start + 2)
            if looks:
                with torch.no_grad():
                    assert not engine.forward(responses)[0].requires_grad
            engine.backward(engine.forward(part)[0].sum())
        engine.step()
        steps.append(vector(engine) - before)
    assert difference(*steps) < 1e-6


def test_a_microbatch_without_images_adds_no_gradient_of_the_step_before(kind, folder):
    norms = []
    for each in ("torch", kind):
        engine = tiny_engines.descent(each, folder, rate=0.0)
        responses = responses_of(engine)
        for parts in (((2, 4), (4, 6)), ((0, 2), (2, 4))):  # the first two responses have no image
            step = ascend(engine, *(responses.rows(*part) for part in parts))
            norms.append(step["train/grad_norm"])
    assert norms[2:] == pytest.approx(norms[:2], rel=1e-5)


@pytest.mark.parametrize(("kind", "config"), PRECISIONS)
def test_a_discarded_gradient_changes_nothing_before_the_first_step_and_after(kind, config, folder):
    ends = []
    for discards in (False, True):
        engine = tiny_engines.build(kind, folder, config=config)
        responses = responses_of(engine)
        steps = []
        for _ in range(2):
            if discards:
                weights = vector(engine)
                for _ in range(2):
                    engine.backward(0 * engine.forward(responses)[0].sum())
                    metrics = engine.discard()
                assert torch.equal(vector(engine), weights)
            step = ascend(engine, responses)
            if discards:
                assert metrics == {"train/grad_norm": 0.0, "train/lr": step["train/lr"]}
            steps.append([vector(engine), *step.values()])
        ends.append(steps)
    for one, other in zip(*ends, strict=True):
        assert torch.equal(one[0], other[0])
        assert one[1:] == other[1:]


@pytest.mark.parametrize(
    ("kind", "reduction"),
    [
        ("torch", sequence_mean),
        ("torch", token_mean),
        *((kind, prompt_mean) for kind in ("torch", "deepspeed-1", "deepspeed-2")),
        pytest.param("deepspeed-3", prompt_mean, marks=STAGE_3.marks),
    ],
)
def test_microbatches_do_not_change_an_update(kind, folder, reduction):
    steps, losses = [], []
    for microbatch_size, tokens in ((8, None), (3, None), (1, 60)):
        engine = tiny_engines.descent(kind, folder)
        before = vector(engine)
        responses = responses_of(engine, (0, 1, 3, 2), LENGTHS)
        reward = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 2.0]])
        passes = Passes(
            minibatch_size=8, microbatch_size=microbatch_size, tokens_per_microbatch=tokens
        )
        metrics = update(CPGD(reduction=reduction), engine, responses, reward, passes)
        steps.append(vector(engine) - before)
        losses.append(metrics["train/loss"])
    assert max(difference(step, steps[0]) for step in steps) < 1e-6
    assert losses == pytest.approx([losses[0]] * len(losses), rel=1e-5, abs=1e-7)


def test_training_goes_on_after_loading_as_if_never_interrupted(engine, kind, folder, tmp_path):
    responses = responses_of(engine)
    for start in (0, 2):
        ascend(engine, responses.rows(start, start + 2))
    engine.save(tmp_path)
    resumed = tiny_engines.build(kind, folder)
    resumed.load(tmp_path)
    for start in (4, 1, 3):
        part = responses.rows(start, start + 2)
        assert ascend(resumed, part) == ascend(engine, part)
    assert torch.equal(vector(resumed), vector(engine))


def test_a_checkpoint_is_a_model_for_transformers(engine, tmp_path):
    ascend(engine, responses_of(engine))
    engine.save(tmp_path)
    model, chat = load_model(str(tmp_path), torch.device("cpu"), torch.float32)
    saved = model.state_dict()
    for name, weight in engine.weights():
        assert torch.equal(saved[name], weight), name
    assert chat.banned == engine.chat.banned


def test_a_checkpoint_of_another_model_is_refused_in_one_line(engine, kind, tmp_path):
    other = tiny_engines.write(tmp_path / "other", "Quite other words: apple, pear, melon, plum.")
    tiny_engines.build(kind, other).save(tmp_path / "checkpoint")
    with pytest.raises(ValueError, match=r"^the checkpoint .*checkpoint does not fit[^\n]*$"):
        engine.load(tmp_path / "checkpoint")


def test_a_checkpoint_of_another_engine_is_refused_in_one_line(engine, kind, folder, tmp_path):
    other = "deepspeed-0" if kind == "torch" else "torch"
    tiny_engines.build(other, folder).save(tmp_path)
    with pytest.raises(ValueError, match=r"^the checkpoint [^\n]* or of another engine$"):
        engine.load(tmp_path)


def test_the_sampler_agrees_with_the_trainer(kind, folder):
    engine = tiny_engines.build(kind, folder, temperature=1.5)
    prompts = engine.chat.encode(tiny_engines.observations(group_size=3))
    responses = tiny_engines.sampler(engine).generate(prompts, seed=(1,))
    with torch.no_grad():
        log_prob, _ = engine.forward(responses)
    torch.testing.assert_close(responses.sampler_log_prob, log_prob, atol=1e-4, rtol=0)


def test_the_sampler_samples_from_the_weights_as_trained(engine):
    prompts = engine.chat.encode(tiny_engines.observations(group_size=2))
    sampler = tiny_engines.sampler(engine)
    before = sampler.generate(prompts, seed=(1,))
    for _ in range(3):
        ascend(engine, before)
    sampler.load_weights(engine.checkpoint_weights())
    assert sampler.generate(prompts, seed=(1,)).texts != before.texts
