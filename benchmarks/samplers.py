"""Speed of the samplers on a CPU with a pretrained model, and their distance from the trainer.

    VLLM_CPU_OMP_THREADS_BIND=nobind PYTHONPATH=.:tests python benchmarks/samplers.py --model FOLDER

Prompts are those of WordProblems-v0 at level 1, each for 8 responses of at most 40 tokens at
temperature 1. All is in float32; with --dtype bfloat16 transformers and the trainer compute in
bfloat16 from weights in float32, as they do by default on processors with instructions for it, and
vLLM has its weights in bfloat16. transformers samples from the trainer's weights. vLLM, in the
trainer's process and as a server, starts with random weights and is given the trainer's: first
those of the folder, then others, each weight changed by noise of 1 % of the standard deviation of
its tensor. Log-probabilities of the sampler are compared with the trainer's: of 16 responses after
the first handover ("folder") and once the trainer's weights have changed ("stale"), of 64 after the
second ("changed"). Rollouts of 64 and 256 responses are timed with the changed weights, each once;
"cpu_s" is processor time, which other work on the machine disturbs less. The samplers are measured
one after the other, and closed.

It takes vllm-cpu (tests/requirements-vllm-cpu.txt), which uses OMP_NUM_THREADS threads with the
variable above. Results go to samplers/float32.json or samplers/bfloat16.json.
"""

import argparse
import json
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import torch
from helpers.vllm_model import OPTIONS, differences
from helpers.vllm_served import served

import reasonenv
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.engines.transformers import TransformersSampler
from agents.engines.vllm.remote_sampler import RemoteSampler
from agents.engines.vllm.sampler import VLLMSampler
from agents.rollout import Responses
from provenance import provenance

FOLDER = Path(__file__).with_suffix("")
GROUP_SIZE, LENGTH, NUM_BEFORE = 8, 40, 16


def trainer(folder: str, dtype: str) -> TorchEngine:
    """Engine whose products are in `dtype`, from weights in float32."""
    model, chat = load_model(folder, torch.device("cpu"), torch.float32)
    return TorchEngine(
        Policy(model, getattr(torch, dtype)),
        chat,
        Sampling(1.0, chat.banned),
        Optimization(1e-6, 1),
    )


def change_weights(engine: TorchEngine) -> None:
    """Adds the noise."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in engine.policy.parameters():
            noise = torch.randn(weight.shape, generator=generator)
            weight.add_(0.01 * weight.std(correction=0) * noise)


@dataclass
class Subject:
    """A sampler to measure."""

    sampler: Any
    processes: list[psutil.Process]
    """Those that work while it samples."""

    def cpu_seconds(self) -> float:
        """Processor time so far."""
        times = [process.cpu_times() for process in self.processes]
        return sum(time.user + time.system for time in times)

    def rollout(self, num_responses: int) -> tuple[Responses, dict[str, float]]:
        """Responses to problems of the environment, and how fast they were sampled."""
        shape = {"num_envs": num_responses, "group_size": GROUP_SIZE}
        with closing(reasonenv.make("WordProblems-v0", level=1, **shape)) as envs:
            prompts = self.sampler.encode(envs.reset(seed=num_responses)[0])
        began, cpu_began = time.perf_counter(), self.cpu_seconds()
        responses = self.sampler.generate(prompts, (0,))
        seconds, cpu = time.perf_counter() - began, self.cpu_seconds() - cpu_began
        tokens = int(responses.lengths.sum())
        speed = {"s": seconds, "cpu_s": cpu, "responses_per_s": num_responses / seconds}
        speed |= {"tokens_per_s": tokens / seconds, "tokens_per_cpu_s": tokens / cpu}
        counts = {"responses": num_responses, "tokens": tokens}
        return responses, counts | {name: round(value, 2) for name, value in speed.items()}


def nats(engine: TorchEngine, responses: Responses) -> dict[str, float]:
    """Mean and maximum of the differences between log-probabilities of sampler and trainer."""
    apart = differences(engine, responses)
    return {"mean": float(f"{apart.mean():.2g}"), "max": float(f"{apart.max():.2g}")}


def transformers_sampler(engine: TorchEngine, stack: ExitStack) -> Subject:
    sampler = TransformersSampler(engine.policy, engine.chat, engine.sampling, LENGTH)
    return Subject(sampler, [psutil.Process()])


def vllm_sampler(engine: TorchEngine, stack: ExitStack) -> Subject:
    folder = engine.policy.model.name_or_path
    options = OPTIONS | {"dtype": _dtype(engine)}
    sampler = VLLMSampler(folder, engine.chat, engine.sampling, LENGTH, options=options)
    stack.callback(sampler.close)
    return Subject(sampler, [psutil.Process()])


def remote_sampler(engine: TorchEngine, stack: ExitStack) -> Subject:
    """With a server of its own."""
    folder = Path(engine.policy.model.name_or_path)
    work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    options = ("--dtype", _dtype(engine))
    url, processes = stack.enter_context(served(folder, work / "log", options=options))
    sampler = RemoteSampler(url, engine.chat, engine.sampling, LENGTH)
    stack.callback(sampler.close)
    return Subject(sampler, [psutil.Process(), *processes])


def _dtype(engine: TorchEngine) -> str:
    return str(engine.policy.dtype).removeprefix("torch.")


SAMPLERS = {
    "transformers": transformers_sampler,
    "vLLM": vllm_sampler,
    "vLLM server": remote_sampler,
}


def measure(engine: TorchEngine, subject: Subject, sizes: list[int]) -> dict[str, Any]:
    """Nats between sampler and trainer, time of a handover, and speeds."""
    subject.sampler.load_weights(engine.checkpoint_weights())
    responses, _ = subject.rollout(NUM_BEFORE)
    apart = {"folder": nats(engine, responses)}
    change_weights(engine)
    apart["stale"] = nats(engine, responses)
    began = time.perf_counter()
    subject.sampler.load_weights(engine.checkpoint_weights())
    handover = round(time.perf_counter() - began, 2)
    rollouts = [subject.rollout(size) for size in sizes]
    apart["changed"] = nats(engine, rollouts[0][0])
    return {"nats": apart, "handover_s": handover, "speed": [speed for _, speed in rollouts]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="folder of the model")
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 256], help="of a rollout")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--output", type=Path, help="by default samplers/DTYPE.json")
    options = parser.parse_args()
    result = provenance("samplers.py")
    names = ("torch", "transformers", "vllm-cpu")
    result["versions"] |= {name: version(name) for name in names}
    figures = {}
    for name, build in SAMPLERS.items():
        with ExitStack() as stack:
            engine = trainer(options.model, options.dtype)
            figures[name] = measure(engine, build(engine, stack), options.sizes)
        print(name, json.dumps(figures[name]), flush=True)
    settings = {"dtype": options.dtype, "num_threads": torch.get_num_threads()}
    path = options.output or FOLDER / f"{options.dtype}.json"
    path.write_text(json.dumps(result | settings | {"samplers": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
