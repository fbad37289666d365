"""Engines that hold an untrained tiny model, and prompts and responses for them."""

import copy
import gc
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.optim import SGD

from agents.engines import bandit
from agents.engines.chat import Chat
from agents.engines.deepspeed import DeepSpeedEngine
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.engines.transformers import TransformersSampler
from agents.rollout import Prompt, Responses
from benchmarks.tiny import model as tiny_model

gc.freeze()  # DeepSpeed collects garbage often, and what was imported is none

STAGES = {f"deepspeed-{stage}": {"stage": stage} for stage in range(4)}
STAGES["deepspeed-3"]["stage3_param_persistence_threshold"] = 0  # else all are small enough to stay
KINDS = ("torch", *STAGES)
LENGTHS = (9, 1, 4, 6, 2, 7, 3, 8)
"""Tokens of two responses to each of four prompts."""
ADAMW = Optimization(1e-3, total_steps=10, warmup_steps=2)
RATE = 1024.0
"""Of `descent`: so large that rounding of the weights is negligible against the step."""


def write(folder: Path, words: str = "What is the sum of the numbers? How many?") -> Path:
    tiny_model.save_untrained(folder, [words], seed=0)
    return folder


@cache
def pristine(folder: Path) -> tuple[Any, Chat]:
    """The model in a folder and its chat, read once; not to be changed."""
    return load_model(str(folder), torch.device("cpu"), torch.float32)


def build(
    kind: str,
    folder: Path,
    optimization=ADAMW,
    temperature=1.0,
    config=None,
    prepare: Callable[[Policy], object] = lambda policy: None,
) -> Any:
    """An engine of one of `KINDS`, on a policy that `prepare` may change first."""
    model, chat = pristine(folder)
    policy = Policy(copy.deepcopy(model))
    prepare(policy)
    parts = policy, chat, Sampling(temperature, chat.banned), optimization
    if kind == "torch":
        return TorchEngine(*parts)
    return DeepSpeedEngine(*parts, {"zero_optimization": STAGES[kind]} | (config or {}))


def descent(kind: str, folder: Path, rate=RATE, max_grad_norm=1e9) -> Any:
    """An engine whose first step subtracts `rate` times the gradient from the weights."""
    optimization = Optimization(rate, total_steps=10**9, max_grad_norm=max_grad_norm)
    sgd = {"type": "SGD", "params": {"lr": rate}}
    config = {"optimizer": sgd, "zero_allow_untested_optimizer": True}
    engine = build(kind, folder, optimization, config=config)
    if kind == "torch":
        engine.optimizer = SGD(engine.policy.parameters(), rate)
        engine.schedule = optimization.schedule(engine.optimizer)
    return engine


def responses_of(engine, num_images=(0, 1, 3), lengths=LENGTHS[:6]) -> Responses:
    """Two responses to each problem."""
    return respond(engine.chat.encode(observations(num_images, 2)), lengths, engine.chat)


def ascend(engine, *parts: Responses, factor=1.0) -> dict[str, float]:
    """Adds the gradient of the log-probability of each part, and takes a step."""
    for part in parts:
        engine.backward(engine.forward(part)[0].sum() / 10 * factor)
    return engine.step()


def sampler(engine, max_response_length=12) -> TransformersSampler:
    parts = engine.policy, engine.chat, engine.sampling, max_response_length
    return TransformersSampler(*parts, unsharded=engine.unsharded)


def vector(engine) -> torch.Tensor:
    """A copy of all weights in one vector of float64, adapters merged, tied ones once."""
    named = engine.policy.model.named_parameters()
    names = {name.replace(".base_layer", "") for name, _ in named}
    parts = [weight.flatten().double() for name, weight in engine.weights() if name in names]
    return torch.cat(parts)


def difference(vector, expected) -> float:
    return ((vector - expected).norm() / expected.norm()).item()


def observations(num_images=(0, 1, 3), group_size=1) -> dict[str, tuple]:
    """One problem for each number of images, `group_size` times each; words and sizes differ."""
    rng = np.random.default_rng(0)
    sizes = ((56, 56, 3), (28, 84, 3), (84, 56, 3))
    rows = []
    for count in num_images:
        images = tuple(rng.integers(0, 256, size, dtype=np.uint8) for size in sizes[:count])
        row = ("Be brief." * (count % 2), "How many?" * (count + 1), images)
        rows += [row] * group_size
    return dict(zip(("system", "question", "images"), zip(*rows, strict=True), strict=True))


def plain(policy, responses, sampling):
    """Log-probability and entropy by the model itself: no padding, nothing shared."""
    model = policy.model
    log_prob, entropy = (torch.zeros(responses.mask.shape, dtype=model.dtype) for _ in range(2))
    for i, (prompt, length) in enumerate(zip(responses.prompts, responses.sizes, strict=True)):
        tokens = torch.tensor([[*prompt.token_ids, *responses.tokens[i, :length].tolist()]])
        images = {}
        seen = [part for part in (prompt, *responses.replies[i]) if part.pixel_values is not None]
        if seen:
            is_image = (tokens == model.config.image_token_id).int()
            grid = torch.cat([part.image_grid_thw for part in seen])
            images = {"image_grid_thw": grid, "mm_token_type_ids": is_image}
            images["pixel_values"] = torch.cat([p.pixel_values for p in seen]).to(model.dtype)
        logits = model(tokens, use_cache=False, **images).logits[0, len(prompt.token_ids) - 1 : -1]
        logits = logits / sampling.temperature
        logits[:, list(sampling.banned)] = -torch.inf
        every = logits.log_softmax(-1)
        log_prob[i, :length] = every.gather(-1, responses.tokens[i, :length, None])[:, 0]
        entropy[i, :length] = -(every.exp() * every.masked_fill(every.isinf(), 0)).sum(-1)
    return log_prob, entropy


def respond(prompts: tuple[Prompt, ...], lengths, chat, seed=0) -> Responses:
    """Random responses of the given lengths, without banned tokens."""
    generator = torch.Generator().manual_seed(seed)
    allowed = torch.tensor(sorted(set(range(len(chat.tokenizer))) - set(chat.banned)))
    shape = len(prompts), max(lengths)
    tokens = allowed[torch.randint(len(allowed), shape, generator=generator)]
    made = bandit.respond(range(len(prompts)), tokens, lengths)
    return replace(made, prompts=prompts, tokens=tokens * made.mask)
