"""Two ranks that sample from one vLLM server at a time: run by test_vllm_server.py.

Usage: torchrun --nproc-per-node 2 vllm_server_ranks.py URL MODEL_FOLDER EMPTY_FOLDER
"""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from torch import distributed

from agents.engines.vllm.remote_sampler import RemoteSampler
from helpers import vllm_model
from helpers.vllm_model import LENGTH, QUESTIONS, greedy, observations, token_lists


def check(url: str, folder: Path, rank: int) -> dict:
    """What one rank finds."""
    engine = vllm_model.trainer(folder)
    sampler = RemoteSampler(url, engine.chat, engine.sampling, LENGTH)
    prompts = sampler.encode(observations(QUESTIONS[rank : 2 * rank + 1], group_size=2 + rank))
    likeliest, differences, gone_through, faults = [], [], [], []
    for step in range(2):
        vllm_model.move(engine, 0.1 * step)
        weights = iter(engine.checkpoint_weights())
        sampler.load_weights(weights)
        gone_through.append(next(weights, None) is None)
        sampler.sampling = replace(engine.sampling, temperature=0.0)
        responses = sampler.generate(prompts, (rank, step))
        likeliest.append(token_lists(responses) == [greedy(engine, prompt) for prompt in prompts])
        sampler.sampling = engine.sampling
        responses = sampler.generate(prompts, (rank, step))
        differences.append(vllm_model.differences(engine, responses).max().item())
        # One rank must not send new weights while the other still compares with the old.
        distributed.barrier()
    try:
        weights = engine.checkpoint_weights()
        sampler.load_weights([(name, weight[..., :-1]) for name, weight in weights])
    except ValueError as error:
        faults.append(str(error))
    sampler.close()
    return {
        "likeliest": likeliest,
        "differences": differences,
        "gone_through": gone_through,
        "faults": faults,
    }


if __name__ == "__main__":
    distributed.init_process_group("gloo")
    rank = int(os.environ["RANK"])
    results = check(sys.argv[1], Path(sys.argv[2]), rank)
    (Path(sys.argv[3]) / f"{rank}.json").write_text(json.dumps(results))
    distributed.destroy_process_group()
