"""Every family that reads images, trained and sampled, against the forward pass of its own."""

import copy
from functools import cache

import pytest
import torch
from helpers import tiny_engines, vision_models
from helpers.text_models import CPU, plain_log_probs
from transformers import (
    AutoModelForImageTextToText,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
)
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil

from agents.engines import lora
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.sampling import Sampling
from agents.engines.transformers import TransformersSampler
from agents.errors import ModelError
from benchmarks.tiny import model as tiny_model

KINDS = vision_models.KINDS
WAYS = {
    "packed": lambda policy: None,
    "padded": lambda policy: setattr(policy, "packs", False),
    "recomputed": Policy.checkpoint_activations,
}


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Loads one of a kind: its folder, model and chat, which are not to be changed."""

    @cache
    def loaded(kind):
        folder = vision_models.write(tmp_path_factory.mktemp("vision"), kind)
        return folder, *load_model(str(folder), CPU, torch.float32)

    return loaded


def slopes(model, log_prob):
    """Gradient of each weight by a weighted sum of log-probabilities."""
    weight = torch.linspace(-1, 2, log_prob.numel()).reshape(log_prob.shape)
    (log_prob * weight).sum().backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize(
    ("kind", "way"),
    [*((kind, "packed") for kind in KINDS), ("Qwen3-VL", "padded"), ("Qwen3-VL", "recomputed")],
)
def test_trainer_and_sampler_have_the_log_probabilities_of_the_model(load, kind, way):
    """With several images, one and none in a batch, two responses to each."""
    folder, model, chat = load(kind)
    plain = AutoModelForImageTextToText.from_pretrained(folder, attn_implementation="eager")
    policy = Policy(copy.deepcopy(model))
    WAYS[way](policy)
    policy.ready()
    sampling = Sampling(1.0, chat.banned)
    sampler = TransformersSampler(policy, chat, sampling, 8)
    prompts = sampler.encode(tiny_engines.observations((1, 3, 0), group_size=2))
    responses = sampler.generate(prompts, (0,))
    expected = plain_log_probs(plain, chat, responses)
    actual, _ = policy(responses, sampling)
    for values in (actual, responses.sampler_log_prob):
        torch.testing.assert_close(values, expected, atol=2e-5, rtol=0)
    own, gradient = slopes(plain, expected), slopes(policy.model, actual)
    assert own.keys() == gradient.keys() == dict(plain.named_parameters()).keys()
    for name in own:
        torch.testing.assert_close(gradient[name], own[name], atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_without_images_gives_each_weight_of_the_tower_a_gradient(load, kind):
    _, model, chat = load(kind)
    policy = Policy(copy.deepcopy(model))
    policy.always_runs_vision = True
    prompts = chat.encode(tiny_engines.observations((0,)))
    responses = tiny_engines.respond(prompts, (5,), chat)
    gradient = slopes(policy.model.model.visual, policy(responses, Sampling())[0])
    assert gradient.keys() == dict(model.model.visual.named_parameters()).keys()
    assert not any(values.any() for values in gradient.values())


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_towers_and_adapters_leave_all_of_the_tower(load, kind):
    pytest.importorskip("peft", reason="needs peft")
    _, model, _ = load(kind)
    policy = Policy(copy.deepcopy(model))
    policy.freeze_vision()
    trained = {name for name, p in policy.model.named_parameters() if p.requires_grad}
    tower = {name for name, _ in model.named_parameters() if ".visual." in name}
    assert tower
    assert trained == {name for name, _ in model.named_parameters()} - tower
    lora.attach(policy.model, {"r": 2, "target_modules": "all-linear"})
    assert not any(".visual." in name for name in lora._layers(policy.model))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_model_is_refused_where_a_policy_leaves_out_what_an_image_adds(
    tmp_path, monkeypatch, dtype
):
    folder, embed = vision_models.write(tmp_path, "Qwen3-VL"), Policy.embed
    monkeypatch.setattr(Policy, "embed", lambda *arguments: (embed(*arguments)[0], {}))
    with pytest.raises(ModelError, match="a qwen3_vl, computes log-probabilities after an image"):
        load_model(str(folder), CPU, dtype)


def test_a_family_with_a_tower_of_another_kind_is_refused_by_name(tmp_path):
    tokens = tiny_model.tokenizer(["How many?"])
    text = vision_models.TEXT | {"vocab_size": len(tokens), "rope_parameters": None}
    eyes = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2}
    model = Gemma3ForConditionalGeneration(Gemma3Config(text_config=text, vision_config=eyes))
    for part in (model, tokens, Gemma3ImageProcessorPil()):
        part.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="a gemma3, reads images in a way that is not known here"):
        load_model(str(tmp_path), CPU, torch.float32)
