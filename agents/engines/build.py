"""The engines of a run, from its settings and this machine."""

import copy
import importlib.util
import os
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache

from agents.cli.settings import Run, json_object
from agents.engines import RolloutEngine, TrainEngine, lora
from agents.engines.chat import Chat
from agents.engines.load import apply_liger, load_model, local_device
from agents.engines.model import Policy
from agents.engines.optimizer import Optimization
from agents.engines.reference_policy import ReferencePolicy
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.engines.transformers import TransformersSampler
from agents.errors import ModelError, UsageError
from agents.references import Refresh, fixed
from agents.rollout import PerToken, Responses
from agents.storage.json_files import read_json


@dataclass(frozen=True)
class Engines:
    """What trains and what samples."""

    train: TrainEngine
    sampler: RolloutEngine
    policy: Policy
    chat: Chat
    reference: ReferencePolicy | None
    """Begins as the base model; None where the learner needs no second model."""


def build(run: Run, folder: str, refresh: Refresh | None) -> Engines:
    """The engines that a run asks for, holding the model in `folder`.

    Args:
        run: Resolved settings.
        folder: Folder or hub name of the base model.
        refresh: When a reference becomes the policy; None for a learner without a reference.

    Raises:
        AgentsError: In one line, when the model, the device or an engine cannot be had.
    """
    deepspeed, device = uses_deepspeed(run), local_device()
    # DeepSpeed keeps float32 masters of what it trains in bfloat16; plain PyTorch does not.
    dtype = torch.bfloat16 if deepspeed and device.type == "cuda" else torch.float32
    model, chat = load_model(folder, device, dtype, run.max_pixels)
    apply_liger(model)
    # Copied before adapters change it and DeepSpeed takes its weights apart.
    base = copy.deepcopy(model) if needs_reference_model(refresh, run.lora) else None
    policy = _policy(run, model)
    sampling = Sampling(run.temperature, chat.banned, run.top_p, run.top_k)
    parts: Any = (policy, chat, sampling, Optimization(run.learning_rate, run.optimizer_steps()))
    engine = _deepspeed(run, *parts) if deepspeed else TorchEngine(*parts)
    reference = _reference(base, engine, sampling, refresh) if refresh else None
    return Engines(engine, _sampler(run, folder, sampling, engine), policy, chat, reference)


def _policy(run: Run, model: Any) -> Policy:
    """The model as the run trains it."""
    policy = Policy(model)
    if run.freeze_vision:
        policy.freeze_vision()
    if run.lora is not None:
        lora.attach(model, run.lora, run.seed)
    if run.gradient_checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    return policy


def needs_reference_model(refresh: Refresh | None, adapters: str | None) -> bool:
    """True if the reference is a second model, not the policy without its adapters.

    Args:
        refresh: The learner's `reference_schedule`.
        adapters: The run's `lora`, as JSON.
    """
    is_within_policy = refresh is fixed and adapters is not None and lora.begins_as_base(adapters)
    return refresh is not None and not is_within_policy


def _reference(
    base: Any | None, engine: TorchEngine, sampling: Sampling, refresh: Refresh
) -> ReferencePolicy:
    """What the policy is held to: a model of its own, or the policy without its adapters."""
    if base is not None:
        beside = Policy(base)
        return ReferencePolicy(base, lambda part: beside(part, sampling)[0], refresh)

    def bare(responses: Responses) -> PerToken:
        with lora.without(engine.policy.model):
            return engine.forward(responses)[0]

    return ReferencePolicy(None, bare, refresh)


def _sampler(run: Run, folder: str, sampling: Sampling, engine: Any) -> RolloutEngine:
    """What samples: vLLM elsewhere or here, or the trainer's own model."""
    length, log_probs = run.max_response_length, run.sampler_log_probs
    if run.vllm_server is not None:
        from agents.engines.vllm.remote_sampler import RemoteSampler

        return RemoteSampler(run.vllm_server, engine.chat, sampling, length, log_probs=log_probs)
    if uses_vllm(run.sampler):
        from agents.engines.vllm.sampler import VLLMSampler

        # Its weights are the trainer's, which are on their way.
        options = {"load_format": "dummy"} | json_object("vllm", run.vllm)
        return VLLMSampler(
            folder, engine.chat, sampling, length, log_probs=log_probs, options=options
        )
    _check_cache(run.model, engine.policy.model)
    parts = engine.policy, engine.chat, engine.sampling, length
    return TransformersSampler(*parts, run.sampler_batch_size, engine.unsharded)


def _check_cache(name: str, model: Any) -> None:
    """Refuses a model with layers whose state cannot be shared by the responses of a group."""
    cache = DynamicCache(config=model.config.get_text_config())
    if not all(hasattr(layer, "batch_select_indices") for layer in cache.layers):
        raise ModelError(
            f"--sampler transformers reads a prompt once for its group, and layers of {name} carry "
            "a state that cannot be shared so: use --sampler vllm"
        )


def uses_deepspeed(run: Run) -> bool:
    """Whether DeepSpeed trains: when asked for, and by default on GPUs and with several ranks."""
    several = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if run.engine == "torch" and several:
        raise UsageError("--engine torch is one process; leave --engine to auto, or drop torchrun")
    if run.engine == "torch" and run.deepspeed:
        raise UsageError(f"--deepspeed {run.deepspeed} is not for --engine torch: drop one")
    if run.engine == "auto":
        return several or run.deepspeed is not None or torch.cuda.is_available()
    return run.engine == "deepspeed"


def uses_vllm(sampler: str) -> bool:
    """Whether vLLM samples: when asked for, and by default where there are a GPU and vLLM."""
    if sampler == "auto":
        return torch.cuda.is_available() and importlib.util.find_spec("vllm") is not None
    return sampler == "vllm"


def describe_engines(run: Run) -> str:
    """One line that names the training engine, the sampler and the devices."""
    trainer = "DeepSpeed" if uses_deepspeed(run) else "PyTorch"
    sampler = "vLLM" if uses_vllm(run.sampler) else "transformers"
    sampler = f"vLLM at {run.vllm_server}" if run.vllm_server is not None else sampler
    device, num_ranks = local_device().type, ranks()[1]
    devices = f"{num_ranks} ranks, each on {device}" if num_ranks > 1 else device
    return f"{trainer} trains and {sampler} samples, on {devices}"


def ranks() -> tuple[int, int]:
    """Rank of this process and number of ranks, as torchrun tells them."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def _deepspeed(
    run: Run, policy: Policy, chat: Chat, sampling: Sampling, optimization: Optimization
) -> Any:
    from agents.engines.deepspeed import DeepSpeedEngine

    config = read_json(run.deepspeed) if run.deepspeed else None
    return DeepSpeedEngine(policy, chat, sampling, optimization, config)
