"""One rank of a small training with DeepSpeed's defaults: run by torchrun, on GPUs where there are.

Usage: torchrun --nproc-per-node N smoke.py MODEL_FOLDER EMPTY_FOLDER
"""

import json
import math
import os
import sys
from pathlib import Path

import torch
from torch import distributed

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import tiny_engines

from agents.cpgd import CPGD
from agents.engines.deepspeed import DeepSpeedEngine
from agents.engines.load import load
from agents.engines.model import Policy, Sampling
from agents.engines.optimizer import Optimization
from agents.learner import Passes

CUDA = torch.cuda.is_available()
LENGTHS = (9, 1, 40, 6, 2, 7, 30, 8)
REWARD = torch.tensor([[1.0, 0.0]] * 4)
PASSES = {"minibatch_size": 4, "microbatch_size": 2}


def build(model: Path, stage: str) -> DeepSpeedEngine:
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if CUDA else torch.device("cpu")
    policy, chat = load(str(model), device, torch.bfloat16 if CUDA else torch.float32)
    parts = chat, Sampling(1.0, chat.banned), Optimization(1e-4, total_steps=100)
    return DeepSpeedEngine(
        Policy(policy), *parts, {"zero_optimization": tiny_engines.STAGES[stage]}
    )


def train(engine, num_steps: int) -> list[dict[str, float]]:
    """Metrics of updates on made-up responses; those that are rewarded become likelier."""
    prompts = engine.chat.encode(tiny_engines.observations((0, 1, 3, 2), group_size=2))
    responses = tiny_engines.respond(prompts, LENGTHS, engine.chat, seed=engine.rank)
    passes = Passes(
        minibatch_size=PASSES["minibatch_size"] * engine.num_ranks,
        microbatch_size=PASSES["microbatch_size"],
    )
    return [CPGD().update(engine, responses, REWARD, passes) for _ in range(num_steps)]


def check(model: Path, folder: Path, stage: str) -> dict[str, float]:
    """Trains, saves, and finds that training after loading is training on."""
    engine = build(model, stage)
    metrics = train(engine, 10)
    assert all(math.isfinite(value) for step in metrics for value in step.values()), metrics
    engine.save(folder)
    resumed = build(model, stage)
    resumed.load(folder)
    assert train(resumed, 2) == train(engine, 2)
    assert all(weight.isfinite().all() for _, weight in engine.weights())
    assert next(engine.policy.parameters()).dtype == (torch.bfloat16 if CUDA else torch.float32)
    return metrics[-1]


if __name__ == "__main__":
    model, empty = Path(sys.argv[1]), Path(sys.argv[2])
    stages = [f"deepspeed-{stage}" for stage in (1, 2, 3)]
    found = {stage: check(model, empty / stage, stage) for stage in stages}
    if os.environ["RANK"] == "0":
        (empty / "found.json").write_text(json.dumps(found))
    distributed.destroy_process_group()
