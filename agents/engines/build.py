"""The engines of a run, from its settings and this machine."""

import copy
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from agents.engines import RolloutEngine, TrainEngine
from agents.engines.chat import Chat
from agents.engines.load import check_size, load, place
from agents.engines.model import Policy, Sampling
from agents.engines.optimizer import Optimization
from agents.engines.torch import TorchEngine
from agents.engines.transformers import TransformersSampler
from agents.files import read_object
from agents.references import ReferencePolicy, Refresh, old
from agents.settings import Run


@dataclass(frozen=True)
class Engines:
    """What trains and what samples; one copy of the weights serves both."""

    train: TrainEngine
    sampler: RolloutEngine
    policy: Policy
    reference: ReferencePolicy | None
    """Begins as the base model; None where the learner needs no second model."""


def build(run: Run, folder: str | Path, refresh: Refresh | None) -> Engines:
    """The engines that a run asks for, holding the model in `folder`.

    Args:
        run: Resolved settings.
        folder: Folder or hub name of the base model.
        refresh: When a reference becomes the policy; None for a learner without a reference.

    Raises:
        ValueError: In one line, when the model, the device or the engine cannot be had.
    """
    config = read_object(run.deepspeed) if run.deepspeed else None
    deepspeed = uses_deepspeed(run)
    device = place()
    check_size(str(folder), device, trains=True)
    # DeepSpeed keeps float32 masters of what it trains in bfloat16; plain PyTorch does not.
    dtype = torch.bfloat16 if deepspeed and device.type == "cuda" else torch.float32
    model, chat = load(str(folder), device, dtype, run.max_pixels)
    policy = Policy(model)
    if run.freeze_vision:
        policy.freeze_vision()
    if run.gradient_checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    # Copied before DeepSpeed takes the weights apart.
    base = None if refresh in (None, old) else copy.deepcopy(policy)
    sampling = Sampling(run.temperature, chat.banned, run.top_p, run.top_k)
    optimization = Optimization(run.learning_rate, run.optimizer_steps())
    parts = (policy, chat, sampling, optimization)
    engine: TrainEngine = _deepspeed(*parts, config) if deepspeed else TorchEngine(*parts)
    sampler = TransformersSampler(
        policy, chat, sampling, run.max_response_length, run.sampler_batch_size
    )
    reference = None
    if base is not None and refresh is not None:
        reference = ReferencePolicy(base.model, lambda part: base(part, sampling)[0], refresh)
    return Engines(engine, sampler, policy, reference)


def uses_deepspeed(run: Run) -> bool:
    """Whether DeepSpeed trains: when asked for, and by default on GPUs and with several ranks."""
    several = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if run.engine == "torch" and several:
        raise ValueError("--engine torch is one process; leave --engine to auto, or drop torchrun")
    if run.engine == "torch" and run.deepspeed:
        raise ValueError(f"--deepspeed {run.deepspeed} is not for --engine torch: drop one")
    if run.engine == "auto":
        return several or run.deepspeed is not None or torch.cuda.is_available()
    return run.engine == "deepspeed"


def _deepspeed(
    policy: Policy,
    chat: Chat,
    sampling: Sampling,
    optimization: Optimization,
    config: dict[str, Any] | None,
) -> TrainEngine:
    from agents.engines.deepspeed import DeepSpeedEngine

    stage = (config or {}).get("zero_optimization", {}).get("stage", 0)
    if stage == 3 and ranks()[1] > 1:
        raise ValueError(
            "ZeRO stage 3 shares the weights out over the ranks, and each rank samples on its own: "
            "use stage 1 or 2"
        )
    return DeepSpeedEngine(policy, chat, sampling, optimization, config)


def ranks() -> tuple[int, int]:
    """Rank of this process and number of ranks, as torchrun tells them."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
