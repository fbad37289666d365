"""Training in float32 from a sampler in bfloat16: a mismatch as large runs have it, and its curve.

    python -m benchmarks.mismatch.half
    python -m benchmarks.mismatch.half --draw

GRPO without a penalty on Figures-v2, 100 steps of 16 problems x 8 responses at 1e-4, three seeds a
cell. The sampler is a copy of the policy whose weights and products are in bfloat16, renewed after
each update. One thread; a run takes minutes, and what is done is not run again.
"""

import argparse
import copy
import json
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import trange

import reasonenv
from agents.corrections import SamplerCorrection, truncated_weight
from agents.engines.chat import Chat
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.pretrained import TINY
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.engines.transformers import TransformersSampler
from agents.grpo import GRPO
from agents.training.update import Passes, update

RESULTS = Path(__file__).parent / "half.json"
NUM_STEPS, NUM_PROMPTS, GROUP_SIZE, WINDOW = 100, 16, 8, 10
CELLS: dict[str, tuple[torch.dtype, SamplerCorrection]] = {
    "float32": (torch.float32, None),
    "bfloat16": (torch.bfloat16, None),
    "bfloat16, TIS 2": (torch.bfloat16, truncated_weight(2.0)),
}
SEEDS = (0, 1, 2)
PARTS = slice(0, WINDOW), slice(-WINDOW, None)
KEPT = {
    "difference": "sampler/log_prob_diff_mean",
    "largest": "sampler/log_prob_diff_max",
    "entropy": "policy/entropy",
}


class CopiedSampler(TransformersSampler):
    """Samples from a copy of the policy, in a number format of its own."""

    def __init__(self, engine: TorchEngine, chat: Chat, dtype: torch.dtype) -> None:
        policy = Policy(copy.deepcopy(engine.policy.model).to(dtype))
        super().__init__(policy, chat, engine.sampling, max_response_length=48)

    @torch.no_grad()
    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Rounds the trainer's weights to the number format of the copy."""
        own = self.policy.model.state_dict()
        for name, values in weights:
            own[name].copy_(values)


def run(name: str, seed: int) -> dict[str, Any]:
    """Curves of one run."""
    dtype, correction = CELLS[name]
    torch.manual_seed(seed)
    model, chat = load_model(str(TINY), torch.device("cpu"), torch.float32)
    parts = Policy(model), chat, Sampling(1.0, chat.banned)
    engine = TorchEngine(*parts, Optimization(1e-4, NUM_STEPS * NUM_PROMPTS))
    sampler = CopiedSampler(engine, chat, dtype)
    learner = replace(GRPO(beta=None), sampler_correction=correction)
    passes = Passes(minibatch_size=GROUP_SIZE, microbatch_size=GROUP_SIZE)
    num_envs = NUM_PROMPTS * GROUP_SIZE
    curves: dict[str, list[float]] = {curve: [] for curve in ("accuracy", *KEPT)}
    envs = reasonenv.make("Figures-v2", num_envs=num_envs, group_size=GROUP_SIZE)
    observations, _ = envs.reset(seed=seed)
    for step in trange(NUM_STEPS, desc=f"{name}, seed {seed}"):
        responses = sampler.generate(sampler.encode(observations), seed=(seed, step))
        observations, rewards, _, _, infos = envs.step(responses.texts)
        reward = torch.as_tensor(rewards, dtype=torch.float32).view(-1, GROUP_SIZE)
        metrics = update(learner, engine, responses, reward, passes)
        sampler.load_weights(engine.weights())
        curves["accuracy"].append(float(infos["accuracy"].mean()))
        for curve, metric in KEPT.items():
            curves[curve].append(metrics[metric])
    envs.close()
    rounded = {curve: [float(f"{v:.5g}") for v in values] for curve, values in curves.items()}
    return {"cell": name, "seed": seed, **rounded}


def table_of(records: list[dict[str, Any]]) -> str:
    """Means over seeds of the first and the last ten steps, of accuracy with its range."""
    lines = [
        "| sampler | accuracy, first | last (range of seeds) | difference of log-probabilities, "
        "first | last | largest |",
        "|---" * 6 + "|",
    ]
    for name in CELLS:
        runs = [record for record in records if record["cell"] == name]
        ends = [np.mean(record["accuracy"][-WINDOW:]) for record in runs]
        first = np.mean([record["accuracy"][:WINDOW] for record in runs])
        gaps = [np.mean([r["difference"][part] for r in runs]) for part in PARTS]
        largest = max(max(record["largest"]) for record in runs)
        lines.append(
            f"| {name} | {first:.3f} | {np.mean(ends):.3f} ({min(ends):.3f} to {max(ends):.3f}) | "
            f"{gaps[0]:.5f} | {gaps[1]:.5f} | {largest:.2f} |"
        )
    return "\n".join(lines)


def draw(records: list[dict[str, Any]]) -> None:
    """The picture: accuracy, and how far sampler and trainer are apart, over steps."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    labels = {"accuracy": "accuracy", "difference": "mean |ln π_old - ln μ| of a token"}
    for axis, (curve, label) in zip(axes, labels.items(), strict=True):
        for colour, name in zip(("C7", "C3", "C0"), CELLS, strict=True):
            values = np.array([r[curve] for r in records if r["cell"] == name])
            kernel = np.ones(WINDOW) / WINDOW
            smooth = np.array([np.convolve(row, kernel, "valid") for row in values])
            steps = np.arange(WINDOW, NUM_STEPS + 1)
            axis.plot(steps, smooth.mean(0), colour, label=name)
            axis.fill_between(steps, smooth.min(0), smooth.max(0), color=colour, alpha=0.15, lw=0)
        axis.set(xlabel="step", title=label)
    axes[1].set_yscale("log")
    axes[0].legend(frameon=False)
    figure.savefig(RESULTS.with_suffix(".png"), dpi=120)


def main() -> None:
    """Runs what is missing, and writes the table and the picture."""
    parser = argparse.ArgumentParser("python -m benchmarks.mismatch.half")
    parser.add_argument("--draw", action="store_true", help="of what is kept alone")
    records = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    kept = {(record["cell"], record["seed"]) for record in records}
    missing = [pair for pair in product(CELLS, SEEDS) if pair not in kept]
    for pair in [] if parser.parse_args().draw else missing:
        torch.set_num_threads(1)
        records.append(run(*pair))
        RESULTS.write_text(json.dumps(records) + "\n")
    draw(records)
    print(table_of(records))


if __name__ == "__main__":
    main()
