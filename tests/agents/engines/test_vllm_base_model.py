"""A base model through vLLM: stop strings, logits that the model scales, generation settings."""

import pytest
import torch
from helpers import text_models
from helpers.text_models import observations
from helpers.vllm_model import OPTIONS

from agents.engines.chat_template import ChatOptions
from agents.engines.vllm.sampler import VLLMSampler

LENGTH = 40
STOP = ("e", "ing", "\nQuestion:")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    generation = {"eos_token_id": [2, 0], "do_sample": True, "top_k": 2, "repetition_penalty": 2.0}
    options = {"kind": "Granite", "logits_scaling": 4.0, "generation": generation}
    folder = text_models.base(tmp_path_factory.mktemp("base"), **options)
    return text_models.engine(folder, chat_options=ChatOptions(stop=STOP))


@pytest.fixture(scope="module")
def sampler(engine):
    folder = engine.policy.model.name_or_path
    sampler = VLLMSampler(folder, engine.chat, engine.sampling, LENGTH, options=OPTIONS)
    sampler.load_weights(engine.checkpoint_weights())
    yield sampler
    sampler.close()


@pytest.mark.vllm
def test_a_stop_string_ends_a_response_of_vllm_at_the_token_that_completes_it(
    sampler, engine, monkeypatch
):
    prompts = engine.chat.encode(observations(group_size=24))
    stopped = sampler.generate(prompts, (0,))
    monkeypatch.setattr(engine.chat, "stop", ())
    whole = sampler.generate(prompts, (0,))
    text_models.assert_stopped(stopped, whole, engine.chat, STOP)


@pytest.mark.vllm
def test_vllm_and_the_trainer_agree_on_scaled_logits_whatever_the_generation_settings(
    sampler, engine
):
    responses = sampler.generate(engine.chat.encode(observations(group_size=8)), (1,))
    with torch.no_grad():
        log_prob, _ = engine.forward(responses)
    torch.testing.assert_close(responses.sampler_log_prob, log_prob, atol=1e-4, rtol=0)
