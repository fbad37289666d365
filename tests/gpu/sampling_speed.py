"""Tokens a second of vLLM alone: with a seed for each response, and with one for a rollout."""

import gc
import time
from pathlib import Path
from typing import Any

import torch

from agents.engines.load import load_model
from agents.engines.sampling import Sampling
from agents.engines.vllm.sampler import VLLMSampler
from throughput import sizes


def main(folder: Path, *, banned: bool, rehearse: bool) -> dict[str, Any]:
    """Two rollouts of each kind, the first of which warms up.

    Args:
        folder: For the model, of random weights, whose responses hardly ever end.
        banned: True to ban a token, which gives vLLM a logits processor.
        rehearse: True for tiny sizes.
    """
    size, count, length = ("tiny", 4, 8) if rehearse else ("1.5b", 64, 512)
    sizes.write(folder / "model", sizes.SIZES[size])
    chat = load_model(str(folder / "model"), torch.device("cpu"), torch.bfloat16)[1]
    gc.collect()
    sampling = Sampling(1.0, (len(chat.tokenizer) - 1,) if banned else ())
    sampler = VLLMSampler(folder / "model", chat, sampling, length, options={"max_model_len": 1024})
    questions = tuple(f"What is {k} + {k}?" for k in range(count) for _ in range(8))
    nothing = ((),) * len(questions)
    rows = {"system": ("",) * len(questions), "question": questions, "images": nothing}
    prompts, found = sampler.encode(rows), {}
    for kind, one_seed in {"seed of each response": False, "seed of the rollout": True}.items():
        sampler._one_seed = one_seed
        for seed in range(2):
            began = time.perf_counter()
            tokens = int(sampler.generate(prompts, (seed,)).lengths.sum())
            found[kind] = {"tokens": tokens, "tokens_per_s": tokens / (time.perf_counter() - began)}
    sampler.close()
    return found
