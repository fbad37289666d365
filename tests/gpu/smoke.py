"""One rank of small trainings with DeepSpeed: run by torchrun, on GPUs where there are.

Every stage of ZeRO, state and weights offloaded to the CPU, and adapters: each trains, samples
from what was trained, saves, and goes on from what was saved as if never interrupted.

Usage: torchrun --nproc-per-node N smoke.py MODEL_FOLDER EMPTY_FOLDER [CASE ...]
"""

import json
import math
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import distributed

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from helpers import tiny_engines

from agents.cpgd import CPGD
from agents.engines import lora
from agents.engines.deepspeed import DeepSpeedEngine
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.training.update import Passes, update

CUDA = torch.cuda.is_available()
CPU = {"device": "cpu"}
# DeepSpeed's own Adam for CPUs must be compiled, where there is no GPU for no gain.
ADAM = (
    {}
    if CUDA
    else {
        "optimizer": {"type": "AdamW", "params": {"torch_adam": True}},
        "zero_force_ds_cpu_optimizer": False,
    }
)
LORA = {"r": 4, "target_modules": "all-linear"}


def zero(stage: int, **more) -> dict:
    return {"zero_optimization": tiny_engines.STAGES[f"deepspeed-{stage}"] | more}


CASES = {
    "stage 1": (zero(1), None),
    "stage 2": (zero(2), None),
    "stage 3": (zero(3), None),
    "stage 2, optimizer offloaded": (zero(2, offload_optimizer=CPU) | ADAM, None),
    "stage 3, all offloaded": (zero(3, offload_optimizer=CPU, offload_param=CPU) | ADAM, None),
    "stage 1, adapters": (zero(1), LORA),
    "stage 3, adapters": (zero(3), LORA),
}
"""Configuration of DeepSpeed, and options of LoRA."""
LENGTHS = (9, 1, 40, 6, 2, 7, 30, 8)
REWARD = torch.tensor([[1.0, 0.0]] * 4)
PASSES = {"minibatch_size": 4, "microbatch_size": 2}


def build(model: Path, case: str) -> DeepSpeedEngine:
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if CUDA else torch.device("cpu")
    config, options = CASES[case]
    policy, chat = load_model(str(model), device, torch.bfloat16 if CUDA else torch.float32)
    if options is not None:
        lora.attach(policy, options)
    parts = chat, Sampling(1.0, chat.banned), Optimization(1e-4, total_steps=100)
    return DeepSpeedEngine(Policy(policy), *parts, {"bf16": {"enabled": True}} | config)


def train(engine, num_steps: int) -> list[dict[str, float]]:
    """Metrics of updates on made-up responses; those that are rewarded become likelier."""
    prompts = engine.chat.encode(tiny_engines.observations((0, 1, 3, 2), group_size=2))
    responses = tiny_engines.respond(prompts, LENGTHS, engine.chat, seed=engine.rank)
    passes = Passes(
        minibatch_size=PASSES["minibatch_size"] * engine.num_ranks,
        microbatch_size=PASSES["microbatch_size"],
    )
    return [update(CPGD(), engine, responses, REWARD, passes) for _ in range(num_steps)]


def sample(engine) -> float:
    """Largest difference of log-probabilities between sampler and trainer.

    Ranks sample different numbers of tokens, rank 0 alone once more.
    """
    prompts = engine.chat.encode(tiny_engines.observations((0, 1, 3, 2), group_size=2))
    sampler = tiny_engines.sampler(engine, max_response_length=16 - 8 * (engine.rank % 2))
    with engine.unsharded():
        if engine.rank == 0:
            sampler.generate(prompts[:2], seed=(0,))
    responses = sampler.generate(prompts, seed=(engine.rank,))
    with torch.no_grad():
        log_prob = engine.forward(responses)[0].cpu()
    return (log_prob - responses.sampler_log_prob).abs().max().item()


def check(model: Path, folder: Path, case: str) -> dict[str, float]:
    """Trains, samples, saves, and finds that training after loading is training on."""
    engine = build(model, case)
    metrics = train(engine, 10)
    assert all(math.isfinite(value) for step in metrics for value in step.values()), metrics
    difference = sample(engine)
    engine.save(folder)
    resumed = build(model, case)
    resumed.load(folder)
    assert train(resumed, 2) == train(engine, 2)
    assert all(weight.isfinite().all() for _, weight in engine.weights())
    assert next(engine.policy.parameters()).dtype == torch.bfloat16
    return {**metrics[-1], "difference": difference}


if __name__ == "__main__":
    model, empty = Path(sys.argv[1]), Path(sys.argv[2])
    cases = sys.argv[3:] or [case for case in CASES if "adapters" not in case or find_spec("peft")]
    results = {case: check(model, empty / case, case) for case in cases}
    if os.environ["RANK"] == "0":
        (empty / "found.json").write_text(json.dumps(results))
    distributed.destroy_process_group()
