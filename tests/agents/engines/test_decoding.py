"""Sampling in packed rows and with padding, against the forward pass of the trainer."""

import copy
from types import SimpleNamespace

import pytest
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

from agents.engines import group_cache, transformers
from agents.engines.model import Policy
from agents.engines.sampling import Sampling
from agents.engines.transformers import TransformersSampler, choose_tokens
from agents.rollout import Prompt

SIZES = {
    "vocab_size": 31,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
WINDOWS = {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}
MODELS = {
    "full": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES)),
    "windows": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES, **WINDOWS)),
    "one key head": lambda: Qwen3ForCausalLM(
        Qwen3Config(**SIZES | {"num_key_value_heads": 1}, head_dim=8)
    ),
}
GROUPS = ((9, 4), (2, 7), (13, 1), (1, 5), (6, 2))
"""Tokens of prompts, and the number of responses to each."""
CHAT = SimpleNamespace(eos=(3, 7), stop=(), decode=str, ended=lambda tokens: tokens[-1] in CHAT.eos)
LENGTH = 23
COLD = Sampling(0.7, banned=(0, 30))


def policy_of(kind):
    torch.manual_seed(0)
    return Policy(MODELS[kind]().double().eval())


def padded(policy):
    other = copy.deepcopy(policy)
    other.packs = False
    return other


def prompts_of(groups=GROUPS):
    generator = torch.Generator().manual_seed(1)
    unique = [
        (Prompt(tuple(torch.randint(1, 30, (size,), generator=generator).tolist())), count)
        for size, count in groups
    ]
    return tuple(prompt for prompt, count in unique for _ in range(count))


def sample(policy, prompts, sampling=COLD):
    return TransformersSampler(policy, CHAT, sampling, LENGTH).generate(prompts, (0,))


@pytest.mark.parametrize("by", [Policy.ready, padded])
@pytest.mark.parametrize("kind", MODELS)
def test_log_probabilities_of_the_sampler_are_those_of_the_trainer(kind, by):
    policy = by(policy_of(kind))
    responses = sample(policy, prompts_of())
    assert len(set(responses.lengths.tolist())) > 5
    assert responses.lengths.max() == LENGTH
    expected = policy(responses, COLD)[0]
    torch.testing.assert_close(
        responses.sampler_log_prob, expected.float(), rtol=0, atol=1e-5, msg=kind
    )


@pytest.mark.parametrize("kind", MODELS)
def test_packed_and_padded_rows_draw_the_same_tokens(kind):
    policy = policy_of(kind)
    assert policy.packs
    one, other = sample(policy, prompts_of()), sample(padded(policy), prompts_of())
    assert torch.equal(one.tokens, other.tokens)


@pytest.mark.parametrize("spare", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("by", [Policy.ready, padded])
def test_tokens_do_not_depend_on_when_ended_rows_are_removed(monkeypatch, by, spare):
    policy = by(policy_of("windows"))
    expected = sample(policy, prompts_of())
    monkeypatch.setattr(transformers, "SPARE", spare)
    responses = sample(policy, prompts_of())
    assert torch.equal(responses.tokens, expected.tokens)
    assert responses.texts == expected.texts


def test_a_cache_that_grows_keeps_what_it_holds_and_stops_at_the_limit(monkeypatch):
    policy, layers = policy_of("full"), []
    expected = sample(policy, prompts_of())
    monkeypatch.setattr(group_cache, "CAPACITY", 1)

    class Layer(group_cache._Layer):
        def __init__(self, *parts):
            super().__init__(*parts)
            layers.append(self)

    monkeypatch.setattr(group_cache, "_Layer", Layer)
    assert torch.equal(sample(policy, prompts_of()).tokens, expected.tokens)
    sizes = {part.shape[2] for layer in layers for part in layer.responses}
    assert sizes == {LENGTH}


def test_a_prompt_is_kept_once_for_its_group():
    policy, layers = policy_of("full"), []
    add = group_cache.GroupCache.add_prompts

    def added(cache, module, key, value):
        layers.append(key.shape[2])
        add(cache, module, key, value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_cache.GroupCache, "add_prompts", added)
        sample(policy, prompts_of())
    assert layers == [sum(size for size, _ in GROUPS)] * SIZES["num_hidden_layers"]


def test_draws_follow_the_probabilities_and_never_take_what_has_none():
    probability = torch.tensor([[0.0, 0.2, 0.0, 0.5, 0.3, 0.0]]).expand(100_000, -1)
    generator = torch.Generator().manual_seed(0)
    uniform = torch.rand(len(probability), dtype=torch.float64, generator=generator)
    drawn = choose_tokens(probability, uniform)
    share = torch.bincount(drawn, minlength=6) / len(drawn)
    assert share[[0, 2, 5]].eq(0).all()
    # Four standard errors of a share of a half.
    torch.testing.assert_close(share, probability[0], rtol=0, atol=4 * 0.5 / len(drawn) ** 0.5)
