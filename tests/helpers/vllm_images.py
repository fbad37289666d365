"""Prompts with images, and engines of the tiny vision model, for tests of images through vLLM."""

from dataclasses import replace

import torch

from helpers import tiny_engines
from helpers.vllm_model import BOUND, differences, token_lists

OPTIONS = {"load_format": "dummy", "max_model_len": 256}
LENGTH = 12
SHIFT = 0.05
"""Standard deviation of the noise that changes every weight between two handovers."""


def trainer(folder):
    """A trainer whose weights are those of no file."""
    engine = tiny_engines.build("torch", folder)
    change(engine, 0)
    return engine


def prompts(engine, group_size=1):
    """0 to 3 images each, of different sizes; two prompts share an image."""
    return engine.chat.encode(tiny_engines.observations((0, 1, 2, 3), group_size))


def change(engine, seed: int, part: str = "") -> None:
    """Adds noise to the weights that have `part` in their name."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in engine.policy.named_parameters():
            if part in name:
                weight.add_(SHIFT * torch.randn(weight.shape, generator=generator))


def check(sampler, engine, seed=0) -> None:
    """That vLLM has the trainer's weights: greedy tokens and log-probabilities."""
    rows = prompts(engine, group_size=3)
    sampler.sampling = replace(engine.sampling, temperature=0.0)
    own = tiny_engines.sampler(engine, sampler.max_response_length)
    own.sampling = sampler.sampling
    assert token_lists(sampler.generate(rows, (seed,))) == token_lists(own.generate(rows, (seed,)))
    sampler.sampling = engine.sampling
    responses = sampler.generate(rows, (seed,))
    assert differences(engine, responses).max() < BOUND
    check_power(engine, responses)


def check_power(engine, responses) -> None:
    """That log-probabilities depend on the vision tower by far more than the bound."""
    before = engine.forward(responses)[0].detach()
    weights = {name: weight.clone() for name, weight in engine.policy.named_parameters()}
    change(engine, 99, "visual")
    after = engine.forward(responses)[0].detach()
    with torch.no_grad():
        for name, weight in engine.policy.named_parameters():
            weight.copy_(weights[name])
    images = torch.tensor([bool(prompt.images) for prompt in responses.prompts])
    moved = (after - before).abs().amax(-1)
    assert (moved[images] > 100 * BOUND).all()
    assert (moved[~images] == 0).all()
