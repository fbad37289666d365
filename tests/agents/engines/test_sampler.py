"""The contract of sampling engines, kept by the one that needs nothing but transformers."""

import pytest
import torch
from helpers import tiny_engines

from agents.engines import RolloutEngine


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_engines.write(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def sampler(folder):
    return tiny_engines.sampler(tiny_engines.build("torch", folder))


def test_the_sampler_is_a_rollout_engine(sampler):
    assert isinstance(sampler, RolloutEngine)


def test_sampling_is_a_pure_function_of_weights_prompts_and_seed(sampler):
    prompts = sampler.encode(tiny_engines.observations(group_size=3))
    first = sampler.generate(prompts, seed=(1, 2))
    torch.manual_seed(5)
    state = torch.get_rng_state()
    again = sampler.generate(prompts, seed=(1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(again.tokens, first.tokens)
    assert torch.equal(again.sampler_log_prob, first.sampler_log_prob)
    assert sampler.generate(prompts, seed=(2, 1)).texts != first.texts


def test_each_response_is_announced_once_with_its_text(sampler):
    prompts = sampler.encode(tiny_engines.observations(group_size=8))
    announced = []
    responses = sampler.generate(prompts, (3,), lambda *message: announced.append(message))
    assert sorted(announced) == list(enumerate(responses.texts))


def test_responses_end_with_the_end_token_or_at_the_limit(sampler):
    prompts = sampler.encode(tiny_engines.observations(group_size=40))
    responses = sampler.generate(prompts, seed=(4,))
    last = responses.tokens[torch.arange(len(responses)), responses.lengths - 1]
    ends = torch.isin(last, torch.tensor(sampler.chat.eos))
    assert torch.equal(responses.finished, ends)
    assert 0 < ends.sum() < len(ends)
    assert (responses.lengths[~ends] == sampler.max_response_length).all()


def test_banned_tokens_are_never_sampled(folder):
    engine = tiny_engines.build("torch", folder, temperature=100.0)
    prompts = engine.chat.encode(tiny_engines.observations(group_size=100))
    responses = tiny_engines.sampler(engine).generate(prompts, seed=(0,))
    sampled = set(responses.tokens[responses.mask].tolist())
    assert not sampled & set(engine.chat.banned)
    assert len(sampled) > 0.9 * (engine.policy.model.config.get_text_config().vocab_size - 10)
