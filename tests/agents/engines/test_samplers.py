"""The contract of sampling engines: transformers, vLLM in this process, and a vLLM server."""

from contextlib import ExitStack, closing
from dataclasses import replace

import pytest
import torch
from helpers import vllm_model
from helpers.vllm_model import BOUND, LENGTH, differences, greedy, learn, observations, token_lists
from helpers.vllm_served import served

from agents.engines import RolloutEngine
from agents.engines.transformers import TransformersSampler
from agents.engines.vllm.remote_sampler import RemoteSampler

KINDS = [pytest.param(kind, marks=pytest.mark.vllm) for kind in ("vllm", "server")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return vllm_model.write(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="module", params=["transformers", *KINDS])
def sampler_of(request, folder, tmp_path_factory):
    """Gives a sampler that holds the weights of an engine; vLLM starts once for all tests."""
    with ExitStack() as stack:
        if request.param == "vllm":
            started = vllm_model.sampler(folder, vllm_model.trainer(folder))
            stack.enter_context(closing(started))
        elif request.param == "server":
            url, _ = stack.enter_context(served(folder, tmp_path_factory.mktemp("log") / "log"))

        def sampler(engine):
            parts = engine.chat, engine.sampling, LENGTH
            if request.param == "transformers":
                sampler = TransformersSampler(engine.policy, *parts)
            else:
                sampler = started if request.param == "vllm" else RemoteSampler(url, *parts)
            sampler.sampling, sampler.max_response_length = parts[1:]
            sampler.load_weights(engine.checkpoint_weights())
            return sampler

        yield sampler


@pytest.fixture
def engine(folder):
    return vllm_model.trainer(folder)


@pytest.fixture
def sampler(sampler_of, engine):
    return sampler_of(engine)


def test_likeliest_tokens_are_those_of_transformers_after_every_handover(sampler, engine):
    assert isinstance(sampler, RolloutEngine)
    prompts = sampler.encode(observations(group_size=2))
    texts = set()
    for step in range(3):
        sampler.load_weights(engine.checkpoint_weights())
        sampler.sampling = replace(engine.sampling, temperature=0.0)
        responses = sampler.generate(prompts, (step,))
        assert token_lists(responses) == [greedy(engine, prompt) for prompt in prompts]
        assert (responses.sampler_log_prob == 0).all()
        texts.add(responses.texts)
        sampler.sampling = engine.sampling
        responses = sampler.generate(prompts, (step,))
        assert differences(engine, responses).max() < BOUND
        sampler.release()
        learn(engine, responses)
    assert len(texts) == 3


@pytest.mark.parametrize(
    "changes", [{}, {"temperature": 0.6}, {"temperature": 1.7}, {"top_p": 0.7}, {"top_k": 5}]
)
def test_log_probabilities_are_of_what_was_drawn_from(sampler, engine, changes):
    sampler.sampling = replace(engine.sampling, **changes)
    responses = sampler.generate(sampler.encode(observations(group_size=4)), (1,))
    vllm_model.assert_drawn_from(sampler.sampling, engine, responses)
    assert (responses.sampler_log_prob[~responses.mask] == 0).all()


def test_sampling_is_a_pure_function_of_weights_prompts_and_seed(sampler):
    prompts = sampler.encode(observations(group_size=3))
    first = sampler.generate(prompts, (1, 2))
    torch.manual_seed(5)
    state = torch.get_rng_state()
    again = sampler.generate(prompts, (1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(again.tokens, first.tokens)
    torch.testing.assert_close(again.sampler_log_prob, first.sampler_log_prob, atol=BOUND, rtol=0)
    assert sampler.generate(prompts, (2, 1)).texts != first.texts


@pytest.mark.parametrize("temperature", [1.0, 0.0])
def test_each_response_is_announced_once_as_soon_as_it_is_done(sampler, temperature):
    sampler.sampling = replace(sampler.sampling, temperature=temperature)
    sampler.max_response_length = 200 if temperature else LENGTH
    announced = []
    prompts = sampler.encode(observations(group_size=8))
    responses = sampler.generate(prompts, (9,), lambda *words: announced.append(words))
    assert sorted(announced) == list(enumerate(responses.texts))
    if temperature:
        # The requests of other prompts may have begun some tokens earlier or later.
        for group in range(len(responses) // 8):
            ended = [responses.lengths[i].item() for i, _ in announced if i // 8 == group]
            assert ended == sorted(ended)
        # One prompt does not wait for another.
        groups = [index // 8 for index, _ in announced]
        assert groups != sorted(groups, key=groups.index)


def test_responses_end_with_the_end_token_or_at_the_limit(sampler):
    sampler.max_response_length = 9
    responses = sampler.generate(sampler.encode(observations(group_size=40)), (10,))
    vllm_model.assert_ends(sampler.chat, responses, 9)


def test_banned_tokens_are_never_sampled_however_likely(sampler, engine):
    vllm_model.two_likeliest_are_banned(engine)
    sampler.load_weights(engine.checkpoint_weights())
    prompts = sampler.encode(observations(group_size=20))
    for temperature in (1.0, 2.0, 0.0):
        sampler.sampling = replace(engine.sampling, temperature=temperature)
        responses = sampler.generate(prompts, (4,))
        assert not set(responses.tokens[responses.mask].tolist()) & set(engine.chat.banned)
    sampler.sampling = engine.sampling
    assert differences(engine, sampler.generate(prompts, (4,))).max() < BOUND


def test_nothing_of_the_old_weights_is_remembered(sampler, engine):
    # Longer than a block of vLLM's cache, so that the prompt is found there again.
    prompts = sampler.encode(observations(("letters " * 150,)))
    sampler.max_response_length = 8
    sampler.generate(prompts, (0,))
    vllm_model.move(engine, 0.1)
    sampler.load_weights(engine.checkpoint_weights())
    assert differences(engine, sampler.generate(prompts, (0,))).max() < BOUND


def test_it_goes_on_after_a_rollout_that_was_broken_off(sampler):
    prompts = sampler.encode(observations(group_size=8))
    expected = sampler.generate(prompts, (11,))

    def stop(index, text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sampler.generate(prompts, (11,), stop)
    assert torch.equal(sampler.generate(prompts, (11,)).tokens, expected.tokens)


@pytest.fixture
def remote(sampler):
    """One with weights of its own."""
    if isinstance(sampler, TransformersSampler):
        pytest.skip("its weights are the trainer's")
    yield sampler
    sampler.log_probs = True


def test_log_probabilities_that_are_not_asked_for_are_unknown(remote):
    prompts = remote.encode(observations(group_size=2))
    expected = remote.generate(prompts, (3,))
    remote.log_probs = False
    responses = remote.generate(prompts, (3,))
    assert torch.equal(responses.tokens, expected.tokens)
    assert responses.sampler_log_prob[responses.mask].isnan().all()
    assert (responses.sampler_log_prob[~responses.mask] == 0).all()


def test_a_response_does_not_depend_on_what_is_sampled_beside_it(remote):
    prompts = remote.encode(observations(group_size=3))
    whole = token_lists(remote.generate(prompts, (7,)))
    assert token_lists(remote.generate(prompts[:6], (7,))) == whole[:6]
    assert token_lists(remote.generate(prompts[:1], (7,))) == whole[:1]


def test_weights_that_do_not_fit_are_refused_in_one_line_and_the_right_ones_then_taken(
    remote, engine
):
    prompts, weights = remote.encode(observations()), engine.checkpoint_weights()
    with pytest.raises(ValueError, match=r"vLLM (cannot load the|server at \S+ cannot update) wei"):
        remote.load_weights([(name, weight[..., :-1]) for name, weight in weights])
    with pytest.raises(ValueError, match="call load_weights first"):
        remote.generate(prompts, (0,))
    remote.load_weights(engine.checkpoint_weights())
    assert differences(engine, remote.generate(prompts, (0,))).max() < BOUND


def test_it_takes_weights_after_a_handover_that_was_broken_off(remote, engine):
    def broken():
        yield next(iter(engine.checkpoint_weights()))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        remote.load_weights(broken())
    remote.load_weights(engine.checkpoint_weights())
    responses = remote.generate(remote.encode(observations()), (0,))
    assert differences(engine, responses).max() < BOUND
