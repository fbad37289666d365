"""Construction of a run's engines from its settings and this machine."""

import copy
import math
import os
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from transformers import DynamicCache

from agents.cli.settings import Run
from agents.distillation import SecondContext
from agents.engines import RolloutEngine, TrainEngine, lora, ranks
from agents.engines.chat import Chat
from agents.engines.chat_template import ChatOptions
from agents.engines.frozen_models import ReferencePolicy, Teacher, needs_reference_model
from agents.engines.load import apply_liger, load_model, local_device
from agents.engines.model import Policy, set_float32_head
from agents.engines.optimizer import Optimization
from agents.engines.pretrained import check_names, model_folder
from agents.engines.process import (
    computation_dtype,
    has_half_weights,
    keep_freed_memory,
    use_deterministic_kernels,
)
from agents.engines.sampling import Sampling
from agents.engines.torch import TorchEngine
from agents.engines.transformers import TransformersSampler
from agents.engines.vllm import uses_vllm
from agents.errors import ModelError, UsageError
from agents.references import Refresh
from agents.rollout import PerToken, Responses
from agents.storage.json_files import read_json


@dataclass(frozen=True)
class Engines:
    """Training engine, sampler, and the models that they share."""

    train: TrainEngine
    sampler: RolloutEngine
    policy: Policy
    chat: Chat
    reference: ReferencePolicy | None
    """Initially the base model; None for a learner without a reference constraint."""
    teacher: Teacher | None = None
    """None for a learner without one, or whose teacher is the policy as it is trained."""


def build(
    run: Run, folder: str, refresh: Refresh | None, context: SecondContext | None = None
) -> Engines:
    """Builds the engines of a run around the model in `folder`.

    Args:
        run: Resolved settings.
        folder: Folder or hub name of the base model.
        refresh: Schedule of the reference's copies; None for a learner without a reference.
        context: The second context of the learner, if it has one.

    Raises:
        AgentsError: The model, the device or an engine is not available.
    """
    deepspeed, device, adapters = uses_deepspeed(run), local_device(), run.lora
    # DeepSpeed keeps float32 masters of what it trains in bfloat16; plain PyTorch does not.
    is_half = deepspeed and has_half_weights(run.dtype, device.type)
    dtype = torch.bfloat16 if is_half else torch.float32
    model, chat = _model(run, folder, device, dtype)
    # Copied before adapters are attached and DeepSpeed shards the weights.
    base = copy.deepcopy(model) if needs_reference_model(refresh, adapters) else None
    # DeepSpeed may convert the weights, as its configuration says, and computes in their dtype.
    size = model.num_parameters()
    computed = None if deepspeed else computation_dtype(run.dtype, device, size)
    policy, sampling = _policy(run, model, computed), _sampling(run, chat)
    optimization = Optimization(
        run.learning_rate,
        run.optimizer_steps(),
        warmup_steps=run.warmup_steps,
        **run.optimizer_options,
        max_grad_norm=math.inf if run.max_grad_norm is None else run.max_grad_norm,
        learning_rate_schedule=run.learning_rate_schedule,
    )
    parts = policy, chat, sampling, optimization
    if deepspeed:
        from agents.engines.deepspeed import DeepSpeedEngine

        config = read_json(run.deepspeed) if run.deepspeed else None
        engine = DeepSpeedEngine(*parts, config=config)
    else:
        engine = TorchEngine(*parts)
    reference = None
    if refresh:
        reference = _reference(base and Policy(base, computed), engine, sampling, refresh)
        reference.is_policy = adapters is None or lora.keeps_base_model(adapters)
    teacher = None
    if run.teacher is not None:
        teacher = _teacher(run, chat, dtype, computed, sampling)
    elif context is not None and context.weights == "initial":
        own = base and Policy(base, computed)
        without = nullcontext if own else partial(lora.adapters_disabled, engine.policy.model)
        teacher = Teacher(own, sampling, without)
    sampler = _sampler(run, folder, sampling, engine)
    return Engines(engine, sampler, policy, chat, reference, teacher)


def sampler_copy(run: Run, folder: str) -> TransformersSampler:
    """The transformers sampler of a run, on a model of its own, for another process.

    Args:
        run: Resolved settings.
        folder: Folder or hub name of the base model.
    """
    keep_freed_memory()
    if run.deterministic:
        use_deterministic_kernels(vllm=False)
    device = local_device()
    model, chat = _model(run, folder, device, torch.float32)
    policy = _policy(run, model, computation_dtype(run.dtype, device, model.num_parameters()))
    parts = policy, chat, _sampling(run, chat), run.max_response_length
    return TransformersSampler(*parts, run.sampler_batch_size)


def _model(run: Run, folder: str, device: torch.device, dtype: torch.dtype) -> tuple[Any, Chat]:
    """The base model of a run, before adapters, and its chat."""
    options: Any = {"trust_remote_code": run.trust_remote_code}
    options["chat_options"] = ChatOptions(run.chat_template, run.stop, run.chat_template_kwargs)
    model, chat = load_model(folder, device, dtype, run.max_pixels, **options)
    if run.vllm_server is not None or uses_vllm(run.sampler):
        check_names(folder, model)
    apply_liger(model)
    if run.float32_head:
        set_float32_head(model)
    return model, chat


def _sampling(run: Run, chat: Chat) -> Sampling:
    return Sampling(run.temperature, chat.banned, run.top_p, run.top_k)


def _policy(run: Run, model: Any, dtype: torch.dtype | None) -> Policy:
    """Policy with the run's frozen parts, adapters and gradient checkpointing."""
    policy = Policy(model, dtype)
    if run.freeze_vision:
        policy.freeze_vision()
    if run.lora is not None:
        lora.attach(model, run.lora, run.seed)
    if run.gradient_checkpointing:
        policy.checkpoint_activations()
    return policy


def _reference(
    policy: Policy | None, engine: TorchEngine, sampling: Sampling, refresh: Refresh
) -> ReferencePolicy:
    """Reference with a model of its own, or with the policy's adapters disabled."""
    if policy is not None:
        own = policy.model
        return ReferencePolicy(own, lambda responses: policy(responses, sampling)[0], refresh)

    def log_prob(responses: Responses) -> PerToken:
        with lora.adapters_disabled(engine.policy.model):
            return engine.forward(responses)[0]

    return ReferencePolicy(None, log_prob, refresh)


def _teacher(
    run: Run, chat: Chat, dtype: torch.dtype, computed: torch.dtype | None, sampling: Sampling
) -> Teacher:
    """The model of `--teacher`; UsageError if it does not read the policy's tokens."""
    parts: Any = model_folder(str(run.teacher)), local_device(), dtype, run.max_pixels
    model, own = load_model(*parts, trust_remote_code=run.trust_remote_code)
    vocabularies = [part.tokenizer.get_vocab() for part in (own, chat)]
    processors = [part.image_processor for part in (own, chat)]
    patches = [processor and processor.to_dict() for processor in processors]
    if vocabularies[0] != vocabularies[1] or patches[0] != patches[1]:
        raise UsageError(
            f"--teacher {run.teacher} has another tokenizer than --model {run.model}, or reads "
            "images in other patches: take a model of the same family"
        )
    return Teacher(Policy(model.requires_grad_(False).eval(), computed), sampling)


def _sampler(run: Run, folder: str, sampling: Sampling, engine: Any) -> RolloutEngine:
    """The sampler: vLLM on a server or in this process, or the trainer's own model."""
    length, log_probs = run.max_response_length, run.sampler_log_probs
    if run.vllm_server is not None:
        from agents.engines.vllm.remote_sampler import RemoteSampler

        return RemoteSampler(run.vllm_server, engine.chat, sampling, length, log_probs=log_probs)
    if uses_vllm(run.sampler):
        from agents.engines.vllm.sampler import VLLMSampler

        # The trainer's weights are loaded before the first response.
        defaults = {"load_format": "dummy", "trust_remote_code": run.trust_remote_code}
        defaults |= {} if run.dtype == "auto" else {"dtype": run.dtype}
        options = defaults | run.vllm
        overrides = options.get("hf_overrides", {})
        if run.float32_head and isinstance(overrides, dict):
            options["hf_overrides"] = {"head_dtype": "float32"} | overrides
        parts = folder, engine.chat, sampling, length
        return VLLMSampler(*parts, log_probs=log_probs, options=options)
    _check_cache(run.model, engine.policy.model)
    parts = engine.policy, engine.chat, engine.sampling, length
    return TransformersSampler(*parts, run.sampler_batch_size, engine.unsharded)


def _check_cache(name: str, model: Any) -> None:
    """Rejects a model with a cache that the responses of a group cannot share."""
    cache = DynamicCache(config=model.config.get_text_config())
    if not all(hasattr(layer, "batch_select_indices") for layer in cache.layers):
        raise ModelError(
            f"--sampler transformers prefills each prompt once for its group, and layers of {name} "
            "have a state that cannot be shared: use --sampler vllm"
        )


def uses_deepspeed(run: Run) -> bool:
    """True if DeepSpeed trains: by setting, or by default on GPUs and with several ranks."""
    several = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if run.engine == "torch" and several:
        raise UsageError(
            "--engine torch runs in one process: use --engine auto, or start without torchrun"
        )
    if run.engine == "torch" and run.deepspeed:
        raise UsageError(
            f"--deepspeed {run.deepspeed} does not go with --engine torch: drop one of them"
        )
    if run.engine == "auto":
        return several or run.deepspeed is not None or torch.cuda.is_available()
    return run.engine == "deepspeed"


def describe_engines(run: Run) -> str:
    """One line that names the training engine, the sampler and the devices."""
    trainer = "DeepSpeed" if uses_deepspeed(run) else "PyTorch"
    sampler = "vLLM" if uses_vllm(run.sampler) else "transformers"
    sampler = f"vLLM at {run.vllm_server}" if run.vllm_server is not None else sampler
    device, num_ranks = local_device().type, ranks()[1]
    devices = f"{num_ranks} ranks, each on {device}" if num_ranks > 1 else device
    return f"{trainer} trains and {sampler} samples, on {devices}"
