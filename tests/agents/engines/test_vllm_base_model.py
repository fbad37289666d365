"""A base model through vLLM: plain prompts, stop strings, and logits that the model scales."""

import pytest
import torch
from helpers import text_models
from helpers.text_models import observations, tokens
from helpers.vllm_model import OPTIONS

from agents.engines.chat_template import Form
from agents.engines.stop_strings import cut
from agents.engines.vllm.sampler import VLLMSampler

LENGTH = 40
STOP = ("e", "ing", "\nQuestion:")


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    folder = text_models.base(tmp_path_factory.mktemp("base"), kind="Granite", logits_scaling=4.0)
    return text_models.engine(folder, form=Form(stop=STOP))


@pytest.fixture(scope="module")
def sampler(engine):
    folder = engine.policy.model.name_or_path
    sampler = VLLMSampler(folder, engine.chat, engine.sampling, LENGTH, options=OPTIONS)
    sampler.load_weights(engine.weights())
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
    ended = 0
    for row in range(len(prompts)):
        own, rest = tokens(stopped, row), tokens(whole, row)
        texts = [engine.chat.decode(rest[:count]) for count in range(1, len(rest) + 1)]
        first = next((k for k, text in enumerate(texts) if any(s in text for s in STOP)), None)
        assert own == (rest if first is None else rest[: first + 1])
        assert stopped.texts[row] == cut(texts[len(own) - 1], STOP)
        assert stopped.finished[row] == (first is not None or whole.finished[row])
        ended += first is not None
    assert ended > 10


@pytest.mark.vllm
def test_vllm_and_the_trainer_agree_on_scaled_logits(sampler, engine):
    responses = sampler.generate(engine.chat.encode(observations(group_size=8)), (1,))
    with torch.no_grad():
        log_prob, _ = engine.forward(responses)
    torch.testing.assert_close(responses.sampler_log_prob, log_prob, atol=1e-4, rtol=0)
