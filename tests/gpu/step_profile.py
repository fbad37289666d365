"""The largest items of an update, by the time of the device that computes."""

import time
from pathlib import Path
from typing import Any

import torch
from helpers import tiny_engines, vllm_gpu
from torch.profiler import ProfilerActivity, profile

from agents.cpgd import CPGD
from agents.engines.deepspeed import DeepSpeedEngine
from agents.engines.load import load_model, local_device
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.training.update import Passes, update
from throughput import sizes

LARGEST = 25
"""Items that are kept."""


def built(kind: str, folder: Path, *, rehearse: bool) -> DeepSpeedEngine:
    """A trainer of random weights: of 1.5 billion, or of 3 billion with images."""
    if kind == "images":
        vllm_gpu.write(folder, vllm_gpu.SHAPES["tiny" if rehearse else "3b"])
    else:
        sizes.write(folder, sizes.SIZES["tiny" if rehearse else "1.5b"])
    device = local_device()
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    model, chat = load_model(str(folder), device, dtype)
    parts = chat, Sampling(1.0, chat.banned), Optimization(1e-6, total_steps=10)
    config = {"zero_optimization": {"stage": 1 if kind == "zero1" else 2}}
    policy = Policy(model)
    policy.checkpoint_activations()
    return DeepSpeedEngine(policy, *parts, config)


def main(kind: str, folder: Path, *, rehearse: bool) -> dict[str, Any]:
    """Seconds, memory and largest items of the second update."""
    engine = built(kind, folder / "model", rehearse=rehearse)
    groups, length = (2, 8) if rehearse else (8, 511)
    counts = [k % 4 if kind == "images" else 0 for k in range(groups)]
    observed = tiny_engines.observations(counts, group_size=8)
    questions = tuple(f"What is {k} + {k}?" for k in range(groups) for _ in range(8))
    prompts = engine.chat.encode(observed | {"question": questions})
    responses = tiny_engines.respond(prompts, [length] * len(prompts), engine.chat)
    passes = Passes(minibatch_size=len(prompts), microbatch_size=1, tokens_per_microbatch=16384)
    reward = (torch.arange(len(prompts)) % 2).float().view(-1, 8)
    cuda = torch.cuda.is_available()
    activities = [ProfilerActivity.CPU, *[ProfilerActivity.CUDA] * cuda]
    update(CPGD(), engine, responses, reward, passes)
    began = time.perf_counter()
    with profile(activities=activities) as profiled:
        update(CPGD(), engine, responses, reward, passes)
        if cuda:
            torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    name = "self_device_time_total" if cuda else "self_cpu_time_total"
    items = sorted(profiled.key_averages(), key=lambda item: getattr(item, name), reverse=True)
    return {
        "step_s": seconds,
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30 if cuda else None,
        "items": [[i.key, round(getattr(i, name) / 1e3, 2), i.count] for i in items[:LARGEST]],
    }
