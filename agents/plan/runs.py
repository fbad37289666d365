"""Memory plan of a run: from its settings, its learner and a machine."""

import os
from dataclasses import replace
from typing import Any

import torch

from agents.cli.settings import Run, environment_options
from agents.engines.deepspeed import complete
from agents.engines.frozen_models import needs_reference_model
from agents.engines.optimizer import Optimization
from agents.engines.process import has_half_weights
from agents.engines.vllm import uses_vllm
from agents.errors import ModelError, UsageError
from agents.learner import Learner
from agents.plan.formulas import GIB, Sharding
from agents.plan.memory import MemoryPlan
from agents.plan.shapes import read_shape
from agents.plan.text import machine_text
from agents.storage.json_files import read_json
from reasonenv.console import short
from reasonenv.registration import find


def plan_run(run: Run, learner: Learner, *, num_gpus: int, **machine: Any) -> MemoryPlan:
    """The plan of a run; `machine` has the other fields of `MemoryPlan`.

    Raises:
        UsageError: An option of vLLM or of DeepSpeed is out of range.
        RecordError: The configuration of DeepSpeed cannot be read.
    """
    share, shards = (
        run.vllm.get(name, 1) for name in ("gpu_memory_utilization", "tensor_parallel_size")
    )
    valid = type(share) in (int, float) and 0 <= share <= 1
    if not valid or type(shards) is not int or not 1 <= shards <= 2**20:
        raise UsageError(
            f"--vllm {short(str(run.vllm))}: give gpu_memory_utilization a share in [0, 1] and "
            "tensor_parallel_size a number of GPUs"
        )
    context, trust = learner.second_context, {"trust_remote_code": run.trust_remote_code}
    tools = find(run.env).toolbox(environment_options(run.env_options, run.data))
    return MemoryPlan(
        run=run,
        shape=read_shape(run.model, **trust),
        sharding=make_sharding(run, num_gpus),
        reference=needs_reference_model(learner.reference_schedule, run.lora),
        num_teacher=read_shape(run.teacher, **trust).num_weights if run.teacher else 0,
        distils=context is not None and context.divergence is not None,
        num_gpus=num_gpus,
        num_reply_images=tools.max_calls * tools.max_images if tools else 0,
        **machine,
    )


def make_sharding(run: Run, num_gpus: int) -> Sharding:
    """Sharding and precision of the training engine: those of DeepSpeed's resolved configuration.

    Raises:
        RecordError: The configuration of DeepSpeed cannot be read.
        UsageError: It has a part that is no object, or a stage that is none.
    """
    if run.engine == "torch" or (run.engine == "auto" and not num_gpus and run.deepspeed is None):
        return Sharding(fused=True)
    config = read_json(run.deepspeed) if run.deepspeed else {}
    half = has_half_weights(run.dtype, "cuda" if num_gpus else "cpu")
    options = complete(config, Optimization(1.0, 1), cuda=num_gpus > 0, half=half)
    zero = options["zero_optimization"]
    offloads = [
        zero.get(f"offload_{name}", {}).get("device", "none") != "none"
        for name in ("optimizer", "param")
    ]
    half = any(options.get(kind, {}).get("enabled") for kind in ("bf16", "fp16"))
    return Sharding(max(1, num_gpus), int(zero["stage"]), half, *offloads)


def local_plan(run: Run, learner: Learner, num_ranks: int = 1) -> MemoryPlan:
    """The plan of a run on `num_ranks` GPUs of this machine, or on its CPU in one process.

    Raises:
        ModelError: Weights, gradients, optimizer and one response alone exceed the memory, or the
            model's configuration cannot be read.
    """
    num_gpus = num_ranks if torch.cuda.is_available() else 0
    run = replace(run, sampler="vllm" if uses_vllm(run.sampler) else "transformers")
    plan = plan_run(run, learner, num_gpus=num_gpus, memory=local_memory(num_gpus))
    if plan.minimum > plan.memory:
        work = "train and sample" if plan.sampler == "vllm" else "train"
        raise ModelError(
            f"{plan.shape.name} has {plan.shape.num_weights / 1e9:.1f} billion weights, which need "
            f"about {plan.minimum:.0f} GiB to {work} before the first token, and the run has "
            f"{machine_text(plan)}; give a higher ZeRO stage or an offloaded optimizer by "
            "--deepspeed, --lora, more GPUs, or --model tiny"
        )
    return plan


def local_memory(num_gpus: int) -> float:
    """GiB of this machine's first GPU, or of its memory for a run on the CPU."""
    if num_gpus and torch.cuda.is_available():
        return torch.cuda.get_device_properties(0).total_memory / GIB
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
