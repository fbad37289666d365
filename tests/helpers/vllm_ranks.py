"""Two ranks that sample with vLLM, each for itself and both as one: run by test_vllm_sampler.py.

Usage: torchrun --nproc-per-node 2 vllm_ranks.py MODEL_FOLDER EMPTY_FOLDER
"""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from torch import distributed

from agents.engines.vllm.sampler import VLLMSampler
from helpers import vllm_model
from helpers.vllm_model import LENGTH, OPTIONS, QUESTIONS, greedy, observations, token_lists


def check(folder: Path, rank: int, size: int) -> dict:
    """What one rank finds where `size` ranks share each vLLM."""
    engine = vllm_model.trainer(folder)
    options = OPTIONS | {"tensor_parallel_size": size}
    sampler = VLLMSampler(folder, engine.chat, engine.sampling, LENGTH, options=options)
    # Neither the prompts nor their number are those of the other rank.
    prompts = sampler.encode(observations(QUESTIONS[rank : 2 * rank + 1], group_size=2 + rank))
    likeliest, differences, announced = [], [], []
    for step in range(2):
        vllm_model.move(engine, 0.1 * step)
        sampler.load_weights(engine.checkpoint_weights())
        sampler.sampling = replace(engine.sampling, temperature=0.0)
        responses = sampler.generate(prompts, (rank, step))
        likeliest.append(token_lists(responses) == [greedy(engine, prompt) for prompt in prompts])
        sampler.sampling = engine.sampling
        announced.clear()
        responses = sampler.generate(prompts, (rank, step), lambda *words: announced.append(words))
        assert sorted(announced) == list(enumerate(responses.texts))
        differences.append(vllm_model.differences(engine, responses).max().item())
    tokens = token_lists(responses)
    # One seed for a rollout: all ranks that share a vLLM must draw the same.
    sampler._one_seed = True
    first, again = (sampler.generate(prompts, (rank, 9)) for _ in range(2))
    differences.append(vllm_model.differences(engine, first).max().item())
    sampler.close()
    assert distributed.is_initialized()
    repeats = token_lists(first) == token_lists(again)
    results = {"likeliest": likeliest, "differences": differences}
    return results | {"tokens": tokens, "repeats": repeats}


if __name__ == "__main__":
    distributed.init_process_group("gloo")
    model, empty, rank = Path(sys.argv[1]), Path(sys.argv[2]), int(os.environ["RANK"])
    results = {size: check(model, rank, size) for size in (1, 2)}
    (empty / f"{rank}.json").write_text(json.dumps(results))
    distributed.destroy_process_group()
