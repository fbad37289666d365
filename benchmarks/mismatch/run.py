"""Bias and noise of a policy's gradient under a sampler that is not the trainer, enumerated.

    python -m benchmarks.mismatch.run

The policy is a `BanditEngine` of one prompt: responses of four tokens of a vocabulary of three, 81
of them, each with a reward of 0 or 1. The sampler's logits are the policy's and a normal noise.
Every number is a sum over all 81 responses as often as the sampler draws them, so there is no
sampling error, and a mean over draws of policy, noise and rewards. Writes the table into the page.
"""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from agents.advantages import raw
from agents.corrections import SamplerCorrection, masked_weight, truncated_weight
from agents.engines.bandit import BanditEngine, respond
from agents.grpo import GRPO
from agents.reductions import sequence_mean

FOLDER = Path(__file__).parent
VOCABULARY, LENGTH, DRAWS = 3, 4, 200
NOISES = (0.05, 0.3, 1.0)
"""Standard deviations of the noise of the logits: rounding, another precision, another policy."""
CORRECTIONS: dict[str, SamplerCorrection] = {
    "none": None,
    "TIS, token, 2": truncated_weight(2.0),
    "TIS, response, 2": truncated_weight(2.0, level="response"),
    "MIS, token, 0.5 to 2": masked_weight(0.5, 2.0),
    "MIS, response, up to 3": masked_weight(0.0, 3.0, "response"),
    "IcePop, 0.5 to 5": masked_weight(0.5, 5.0),
    "π_old/μ of the response": truncated_weight(1e30, level="response"),
}
PLAIN = GRPO(
    advantage_function=raw, reduction=sequence_mean, clip_low=None, clip_high=None, beta=None
)
TOKENS = torch.tensor(list(itertools.product(range(VOCABULARY), repeat=LENGTH)))


RESPONSES = respond([0] * len(TOKENS), TOKENS, [LENGTH] * len(TOKENS))


def gradients(
    table: Tensor, sampler: Tensor, reward: Tensor, correction: SamplerCorrection
) -> Tensor:
    """Gradient of each response's loss in the logits, `[81 LENGTH VOCABULARY]`."""
    learner = replace(PLAIN, sampler_correction=correction)
    old, told = (BanditEngine(x).forward(RESPONSES)[0].detach() for x in (table, sampler))
    log_prob = old.clone().requires_grad_()
    loss = learner.compute_loss(
        log_prob, old, reward, RESPONSES.mask, group_size=1, sampler_log_prob=told
    )
    (slope,) = torch.autograd.grad(loss * TOKENS.numel(), log_prob)
    score = torch.nn.functional.one_hot(TOKENS, VOCABULARY) - table.softmax(-1)
    return slope[..., None] * score


def probabilities(table: Tensor) -> Tensor:
    """Of each of the 81 responses."""
    tokens = table[0].log_softmax(-1)[torch.arange(LENGTH), TOKENS]
    return tokens.sum(-1).exp()


def measure(noise: float, correction: SamplerCorrection, seed: int) -> tuple[float, float]:
    """Bias and noise of one response's gradient, both over the size of the exact gradient."""
    generator = torch.Generator().manual_seed(seed)
    shape = 1, LENGTH, VOCABULARY
    table, offset = torch.randn(2, *shape, generator=generator, dtype=torch.float64)
    reward = (torch.rand(len(TOKENS), generator=generator) < 0.3).double()
    old, drawn = probabilities(table), probabilities(table + noise * offset)
    reward = reward - (old * reward).sum()
    exact = torch.einsum("n,n...->...", old, gradients(table, table, reward, None))
    actual = gradients(table, table + noise * offset, reward, correction)
    mean = torch.einsum("n,n...->...", drawn, actual)
    variance = (drawn * (actual - mean).square().sum((1, 2))).sum()
    size = exact.norm()
    return ((mean - exact).norm() / size).item(), (variance.sqrt() / size).item()


def table_of(records: list[dict]) -> str:
    """The table of the page."""
    header = " | ".join(f"{noise}: bias | noise" for noise in NOISES)
    lines = [f"| correction | {header} |", "|---" * (1 + 2 * len(NOISES)) + "|"]
    for name in CORRECTIONS:
        rows = [r for r in records if r["correction"] == name]
        cells = (f"{r['bias']:.3f} ± {r['bias_error']:.3f} | {r['noise']:.1f}" for r in rows)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Computes all cells and writes them."""
    records = []
    for name, noise in itertools.product(CORRECTIONS, NOISES):
        pairs = [measure(noise, CORRECTIONS[name], seed) for seed in range(DRAWS)]
        bias, spread = torch.tensor(pairs, dtype=torch.float64).unbind(-1)
        error = 1.96 * bias.std() / DRAWS**0.5
        record = {"correction": name, "logit_noise": noise, "bias": bias.mean().item()}
        record |= {"bias_error": error.item(), "noise": spread.median().item()}
        records.append(record)
        print(record, flush=True)
    (FOLDER / "mismatch.json").write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    page = FOLDER / "README.md"
    before, mark, _ = page.read_text().partition("<!-- table -->\n")
    page.write_text(before + mark + table_of(records) + "\n")


if __name__ == "__main__":
    main()
