"""Models as they are on the hub: what their files say besides weights, and what it may change."""

import json
import math
from types import SimpleNamespace

import pytest
import torch
from helpers import text_models, tiny_engines
from helpers.text_models import CPU, observations, plain_log_probs
from safetensors.torch import load_file
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
)

from agents.engines import lora
from agents.engines.load import load_model
from agents.engines.optimizer import Optimization
from agents.engines.transformers import _context_length
from agents.errors import UsageError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return text_models.write(tmp_path_factory.mktemp("words"))


def sampled(folder, group_size=8, **options):
    """An engine and responses of its sampler."""
    engine = text_models.engine(folder, **options)
    prompts = engine.chat.encode(observations(group_size=group_size))
    return engine, text_models.sampler(engine).generate(prompts, (0,))


def assert_policy_is_the_model(engine, responses):
    expected = plain_log_probs(engine.policy.model, engine.chat, responses)
    with torch.no_grad():
        log_prob, _ = engine.forward(responses)
    torch.testing.assert_close(log_prob, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(responses.sampler_log_prob, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", ["OPT", "Llama"])
def test_a_response_beyond_the_context_is_refused(tmp_path, kind):
    """Of a model with learned positions, which fails there, and of one with rotary ones."""
    engine = text_models.engine(text_models.write(tmp_path, kind, max_position_embeddings=64))
    prompts = engine.chat.encode(observations())
    length = max(len(prompt.token_ids) for prompt in prompts)
    responses = text_models.sampler(engine, 64 - length).generate(prompts, (0,))
    assert responses.lengths.max() == 64 - length
    message = f"of {length} tokens and a response of {65 - length} do not fit in this model's "
    with pytest.raises(UsageError, match=f"{message}context of 64 tokens: lower --max-resp"):
        text_models.sampler(engine, 65 - length).generate(prompts, (0,))


def test_the_context_is_that_of_the_configuration_with_scaled_positions():
    yarn = {"rope_type": "yarn", "factor": 4.0}
    of_layers = {"full_attention": {"rope_type": "default"}}
    assert _context_length(LlamaConfig(max_position_embeddings=64)) == 64
    assert _context_length(LlamaConfig(max_position_embeddings=64, rope_parameters=yarn)) == 256
    layered = SimpleNamespace(max_position_embeddings=64, rope_parameters=of_layers)
    assert _context_length(layered) == 64
    assert _context_length(BloomConfig()) == math.inf


def test_a_model_that_changes_its_logits_in_another_way_is_refused(folder, monkeypatch):
    forward = LlamaForCausalLM.forward

    def doubled(self, *arguments, **options):
        output = forward(self, *arguments, **options)
        output.logits = output.logits * 2
        return output

    monkeypatch.setattr(LlamaForCausalLM, "forward", doubled)
    with pytest.raises(ValueError, match="a llama, computes log-probabilities after text in"):
        load_model(str(folder), CPU, torch.float32)


GENERATION = {
    "sampling": {"do_sample": True, "temperature": 0.1, "top_k": 2, "top_p": 0.5, "min_p": 0.3},
    "penalties": {"repetition_penalty": 1.5, "no_repeat_ngram_size": 2, "max_new_tokens": 3},
    "sampling without do_sample": {"temperature": 0.6, "top_p": 0.9, "typical_p": 0.2},
    "greedy with a temperature": {"do_sample": False, "temperature": 0.6},
    "padding that is none": {"pad_token_id": -1, "suppress_tokens": [5, 6]},
    "a lone length penalty": {"length_penalty": 2.0},
}


@pytest.mark.parametrize("name", GENERATION)
def test_generation_settings_change_neither_sampling_nor_what_is_saved(folder, tmp_path, name):
    expected = sampled(folder)[1]
    content = {"eos_token_id": 2} | GENERATION[name]
    engine, responses = sampled(text_models.write(tmp_path / "model", generation=content))
    assert torch.equal(responses.tokens, expected.tokens)
    assert torch.equal(responses.sampler_log_prob, expected.sampler_log_prob)
    engine.save(tmp_path / "checkpoint")
    saved = GenerationConfig.from_pretrained(tmp_path / "checkpoint")
    assert saved.eos_token_id == 2


def test_each_of_several_end_tokens_ends_a_response_padding_among_them(tmp_path):
    content = {"eos_token_id": [2, 0], "pad_token_id": 0}
    engine, responses = sampled(text_models.write(tmp_path, generation=content), group_size=200)
    assert engine.chat.tokenizer.pad_token_id == 0
    assert engine.chat.eos == (0, 2)
    assert not set(engine.chat.eos) & set(engine.chat.banned)
    last = responses.tokens.gather(1, responses.lengths[:, None] - 1)[:, 0]
    assert {0, 2} <= set(last.tolist())
    assert torch.equal(responses.finished, torch.isin(last, torch.tensor([0, 2])))
    inner = responses.tokens[:, :-1][responses.mask[:, 1:]]
    assert not torch.isin(inner, torch.tensor([0, 2])).any()
    engine.save(tmp_path / "checkpoint")
    assert load_model(str(tmp_path / "checkpoint"), CPU, torch.float32)[1].eos == (0, 2)


def without_padding(tokenizer):
    tokenizer.pad_token = None


def test_a_tokenizer_needs_no_token_for_padding(tmp_path):
    engine, responses = sampled(text_models.write(tmp_path, change=without_padding))
    assert engine.chat.tokenizer.pad_token_id is None
    assert len(set(responses.lengths.tolist())) > 1
    assert_policy_is_the_model(engine, responses)


def test_ids_without_a_token_are_banned_also_between_others(folder, tmp_path):
    whole = load_model(str(folder), CPU, torch.float32)[1]
    model = text_models.write(tmp_path)
    content = json.loads((model / "tokenizer.json").read_text())
    merged = {*map("".join, content["model"]["merges"])}
    used = {*"".join(merged), *merged, *whole.tokenizer.all_special_tokens}
    byte, hole = next(item for item in content["model"]["vocab"].items() if item[0] not in used)
    del content["model"]["vocab"][byte]
    (model / "tokenizer.json").write_text(json.dumps(content))
    chat = load_model(str(model), CPU, torch.float32)[1]
    names = set(chat.tokenizer.get_vocab().values())
    assert hole not in names
    assert hole < max(names)
    assert set(range(chat.vocabulary)) - names < set(chat.banned)
    assert set(chat.banned) & names == {chat.tokenizer.pad_token_id}


def test_weights_of_half_precision_are_trained_and_saved_in_float32(tmp_path):
    engine, responses = sampled(text_models.write(tmp_path / "model", dtype=torch.bfloat16))
    assert_policy_is_the_model(engine, responses)
    engine.save(tmp_path / "checkpoint")
    saved = load_file(tmp_path / "checkpoint" / "model.safetensors")
    assert {weight.dtype for weight in saved.values()} == {torch.float32}
    assert json.loads((tmp_path / "checkpoint" / "config.json").read_text())["dtype"] == "float32"


@pytest.mark.parametrize("adapters", [False, True], ids=["all weights", "LoRA"])
@pytest.mark.parametrize("kind", ["torch", "deepspeed-2"])
def test_tied_embeddings_stay_tied_from_training_to_transformers(folder, tmp_path, kind, adapters):
    if adapters:
        pytest.importorskip("peft", reason="needs peft")
    options = {"r": 4, "target_modules": "all-linear"}
    attach = {"prepare": lambda policy: lora.attach(policy.model, options)} if adapters else {}
    engine = tiny_engines.build(kind, folder, Optimization(1e-2, 10, warmup_steps=1), **attach)
    responses = text_models.sampler(text_models.engine(folder)).generate(
        engine.chat.encode(observations(group_size=2)), (0,)
    )
    for _ in range(2):
        tiny_engines.ascend(engine, responses)
    with torch.no_grad():
        trained, _ = engine.forward(responses)
    weights = {name: weight.clone() for name, weight in engine.weights()}
    assert torch.equal(weights["lm_head.weight"], weights["model.embed_tokens.weight"])
    engine.save(tmp_path)
    assert "lm_head.weight" not in load_file(tmp_path / "model.safetensors")
    plain = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert plain.get_input_embeddings().weight is plain.get_output_embeddings().weight
    expected = plain_log_probs(plain, engine.chat, responses)
    torch.testing.assert_close(trained, expected, atol=1e-5, rtol=0)
    before = plain_log_probs(text_models.engine(folder).policy.model, engine.chat, responses)
    assert (expected - before).abs().max() > 1e-2
