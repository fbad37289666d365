"""Mixtures of experts through vLLM: their names in transformers are not those in files."""

import pytest
import torch
from helpers import text_models
from helpers.text_models import observations
from helpers.vllm_model import BOUND, OPTIONS, differences, learn
from helpers.vllm_served import served

from agents.engines.vllm.remote_sampler import RemoteSampler
from agents.engines.vllm.sampler import VLLMSampler

LENGTH = 24
FAMILIES = {
    "Mixtral": {"num_local_experts": 4},
    "Qwen3Moe": {
        **{"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
        **{"head_dim": 32, "tie_word_embeddings": False},
    },
}


def write(folder, family):
    return text_models.write(folder, family, **FAMILIES[family])


def assert_follows(sampler, engine):
    """The sampler agrees with the trainer at each of three handovers."""
    prompts = engine.chat.encode(observations(group_size=8))
    texts = set()
    for step in range(3):
        sampler.load_weights(engine.checkpoint_weights())
        responses = sampler.generate(prompts, (1,))
        assert differences(engine, responses).max() < BOUND
        texts.add(responses.texts)
        if step == 1:  # what has come of a broken update is dropped
            weights = list(engine.checkpoint_weights())
            with pytest.raises(ValueError, match="weight"):
                sampler.load_weights([*weights[: len(weights) // 2], ("other", torch.ones(2))])
        learn(engine, responses)
    assert len(texts) == 3


@pytest.mark.vllm
@pytest.mark.parametrize("family", FAMILIES)
def test_vllm_in_this_process_has_the_trainers_experts(family, tmp_path):
    folder = write(tmp_path, family)
    engine = text_models.engine(folder)
    sampler = VLLMSampler(folder, engine.chat, engine.sampling, LENGTH, options=OPTIONS)
    try:
        assert_follows(sampler, engine)
    finally:
        sampler.close()


@pytest.mark.vllm
def test_a_vllm_server_has_the_trainers_experts(tmp_path):
    folder = write(tmp_path / "model", "Mixtral")
    engine = text_models.engine(folder)
    with served(folder, tmp_path / "log") as (url, _):
        assert_follows(RemoteSampler(url, engine.chat, engine.sampling, LENGTH), engine)
