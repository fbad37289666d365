"""vLLM's context, in a file of its own: a vLLM that ends takes the groups of another with it."""

from contextlib import closing

import pytest
from helpers import vllm_model
from helpers.vllm_model import BOUND, LENGTH, differences, observations

from agents.engines.vllm.sampler import VLLMSampler


@pytest.mark.vllm
@pytest.mark.slow(reason="starts vLLM twice")
@pytest.mark.parametrize(("blocks", "context"), [(3, range(256, 512)), (100, [512])])
def test_vllm_starts_with_as_much_of_the_context_as_its_cache_holds(tmp_path, blocks, context):
    folder = vllm_model.write(tmp_path)
    trainer = vllm_model.trainer(folder)
    options = {"kv_cache_memory_bytes": blocks * 2**17}  # a KiB for each of 128 tokens
    sampler = VLLMSampler(folder, trainer.chat, trainer.sampling, LENGTH, options=options)
    with closing(sampler):
        sampler.load_weights(trainer.checkpoint_weights())
        assert sampler.max_length in context
        prompts = sampler.encode(observations())
        assert differences(trainer, sampler.generate(prompts, (0,))).max() < BOUND
