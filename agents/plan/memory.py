"""Memory plan: GiB on one GPU in each phase of a training step, and whether they fit."""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from agents.cli.settings import Run
from agents.engines.reference_policy import needs_reference_model
from agents.engines.sampling import LOGITS_PER_CHUNK
from agents.engines.vllm import uses_vllm
from agents.errors import ModelError
from agents.learner import Learner
from agents.plan import formulas
from agents.plan.formulas import GIB
from agents.plan.setting import Setting, machine_text, make_sharding
from agents.plan.shapes import read_shape

CONTEXT = 1.0
"""GiB of a GPU for CUDA's context, NCCL and libraries."""
PROCESS = 0.9
"""GiB of a process on the CPU for imported libraries and graders."""
FRAGMENTS = 0.05
"""Share of the memory lost to fragmentation by the allocator."""
TIGHT = 0.9
"""Share of the memory above which a run that fits by arithmetic may still fail."""
GRAPHS, ASLEEP = 3.0, 1.5
"""GiB of vLLM's activations and CUDA graphs, and of vLLM in sleep mode."""
FIXED = ("weights", "masters", "gradients", "moments", "reference", "gathered", "vLLM weights")
"""Parts that no smaller batch lowers."""


@dataclass(frozen=True)
class MemoryPlan:
    """Memory of a run."""

    setting: Setting
    phases: dict[str, dict[str, float]]
    """GiB of each part, by name, of each phase: training, optimizer step, sampling."""
    kv_bytes: int
    """Of one token in the KV cache, on one GPU."""
    responses_at_a_time: int
    """Of the greatest length, in the KV cache of one sampler."""
    vllm_share: float
    """Of a GPU for vLLM: as the run says, or what the trainer leaves."""

    @property
    def totals(self) -> dict[str, float]:
        """GiB of each phase."""
        return {name: sum(parts.values()) for name, parts in self.phases.items()}

    @property
    def peak(self) -> str:
        """Name of the phase with the largest total."""
        return max(self.totals, key=self.totals.__getitem__)

    @property
    def minimum(self) -> float:
        """GiB of weights, gradients and optimizer alone, and of one response where vLLM samples."""
        setting = self.setting
        totals = {
            name: sum(parts.get(part, 0.0) for part in FIXED) for name, parts in self.phases.items()
        }
        if setting.sampler == "separate":
            del totals["sampling"]
        elif setting.sampler == "vllm":
            totals["sampling"] += setting.length * self.kv_bytes / GIB
        return max(totals.values())

    @property
    def verdict(self) -> str:
        """fits, tight, or does not fit."""
        peak, memory = self.totals[self.peak], self.setting.memory
        if peak > memory or not self.responses_at_a_time:
            return "does not fit"
        return "tight" if peak > TIGHT * memory else "fits"


def make_plan(setting: Setting) -> MemoryPlan:
    """The memory plan of a setting.

    Raises:
        UsageError: An option of vLLM is out of range.
    """
    shape, options = setting.shape, setting.vllm
    num_weights = shape.num_weights + setting.adapter_weights
    largest = 0 if setting.adapter_weights else shape.vocabulary * shape.hidden
    states = _gib(
        formulas.state_bytes(num_weights, setting.num_trained, setting.sharding, largest=largest)
    )
    constant = {name: states[name] for name in ("weights", "masters", "moments")}
    if setting.reference:
        constant["reference"] = setting.weight_size * shape.num_weights / GIB
    training = constant | {name: states[name] for name in ("gradients", "buckets")}
    training |= _gib(dict(_training(setting)))
    kept = {name: states[f"kept {name}"] for name in ("gradients", "buckets")}
    step = constant | {"step": states["step"], "buckets": kept["buckets"]}
    # A server has GPUs of its own.
    sampling = {} if setting.sampler == "separate" else constant | kept
    asleep = options["enable_sleep_mode"]
    awake = [sampling] if asleep else [training, step, sampling]
    share = options.get("gpu_memory_utilization", _share_of_vllm(setting, awake))
    parts, num_responses = _sampling(setting, share)
    sampling = sampling | parts
    if setting.sampler == "transformers":
        sampling["gathered"] = states["gathered"]
        if setting.autocasts:
            sampling["cast weights"] = 2 * num_weights / GIB
    elif setting.sampler == "vllm":
        training["vLLM"] = step["vLLM"] = ASLEEP if asleep else share * setting.memory
    phases = {"training": training, "step": step, "sampling": sampling}
    return MemoryPlan(
        setting=setting,
        phases={name: parts | _overhead(setting, parts) for name, parts in phases.items()},
        kv_bytes=formulas.kv_bytes(shape, setting.size) // options["tensor_parallel_size"],
        responses_at_a_time=num_responses,
        vllm_share=share,
    )


def _gib(parts: dict[str, float]) -> dict[str, float]:
    return {name: value / GIB for name, value in parts.items()}


def _training(setting: Setting) -> Iterator[tuple[str, float]]:
    """Bytes of a forward and a backward pass over one microbatch."""
    shape, run, size = setting.shape, setting.run, setting.size
    tokens, checkpointing = setting.microbatch_tokens, run.gradient_checkpointing
    # Autocast keeps half of the numbers in float32, of the residual stream, norms and attention,
    # and with checkpointing all, which are of the residual stream.
    kept_size = (4 if checkpointing else 3) if setting.autocasts else setting.weight_size
    activations, transient = formulas.activation_bytes(
        shape,
        tokens,
        kept_size,
        checkpointing=checkpointing,
        padded_length=0 if shape.packs else setting.length,
    )
    num_answers = tokens - setting.num_prompts * setting.prompt_length * shape.packs
    device = "cuda" if setting.num_gpus else "cpu"
    chunk = min(num_answers, LOGITS_PER_CHUNK[device] / shape.vocabulary)
    yield "activations", activations
    # The head's backward pass ends before that of the last layer begins.
    yield "passing", max(formulas.logit_bytes(shape.vocabulary, chunk, size), transient)
    if setting.autocasts:
        # With checkpointing, the backward pass uses a layer and the head at a time.
        head = shape.vocabulary * shape.hidden
        layer = head + (shape.num_weights - head) // shape.layers
        yield (
            "cast weights",
            2 * (layer if checkpointing else shape.num_weights + setting.adapter_weights),
        )
    if shape.tower:
        trained = not run.freeze_vision and not run.lora
        image = formulas.image_bytes(
            shape.tower, run.max_pixels, size, trained=trained, checkpointing=checkpointing
        )
        yield "images", setting.num_prompts * setting.num_images * image


def _share_of_vllm(setting: Setting, phases: list[dict[str, float]]) -> float:
    """Share of a GPU that the trainer leaves to vLLM in these phases, or what a response needs."""
    own = max(sum((parts | _overhead(setting, parts)).values()) for parts in phases)
    left = math.floor(100 * (TIGHT - own / setting.memory))
    needed = math.ceil(100 * sum(_vllm(setting).values()) / setting.memory)
    return min(100, max(left, needed)) / 100


def _vllm(setting: Setting) -> dict[str, float]:
    """GiB of vLLM with a KV cache for one response of the greatest length."""
    parallel, shape, size = setting.vllm["tensor_parallel_size"], setting.shape, setting.size
    return {
        "vLLM weights": size * shape.num_weights / GIB / parallel,
        "vLLM graphs": GRAPHS if setting.num_gpus else 0.0,
        "KV cache": setting.length * formulas.kv_bytes(shape, size) / GIB / parallel,
    }


def _sampling(setting: Setting, share: float) -> tuple[dict[str, float], int]:
    """GiB of sampling, and the number of responses of the greatest length in the KV cache.

    Args:
        setting: Of the plan.
        share: Of a GPU for vLLM.
    """
    shape, run, parts = setting.shape, setting.run, _vllm(setting)
    response = parts.pop("KV cache")
    if setting.sampler == "transformers":
        responses = run.num_prompts * run.group_size // max(1, setting.num_gpus)
        rows = min(run.sampler_batch_size, max(1, responses))
        # The cache of one layer exists twice while it grows.
        cache = rows * response * (1 + 1 / shape.layers)
        drawing = formulas.sampling_bytes(shape.vocabulary, rows, setting.size) / GIB
        return {"KV cache": cache, "drawing": drawing}, rows
    # Without a GPU our sampler configures a cache of one GiB.
    left = share * setting.memory - sum(parts.values())
    cache = max(0.0, left) if setting.num_gpus else 1.0
    return parts | {"KV cache": cache}, int(cache / response)


def _overhead(setting: Setting, parts: dict[str, float]) -> dict[str, float]:
    """Memory without a tensor; vLLM's share of the GPU includes its own."""
    if not setting.num_gpus:
        return {"context": PROCESS}
    of_vllm = ("KV cache",) if setting.sampler != "transformers" else ()
    own = (v for name, v in parts.items() if not name.startswith("vLLM") and name not in of_vllm)
    return {"context": CONTEXT, "fragments": FRAGMENTS * sum(own)}


def plan_run(run: Run, learner: Learner, *, num_gpus: int, **machine: Any) -> MemoryPlan:
    """The plan of a run; `machine` has the other fields of `Setting`."""
    setting = Setting(
        run=run,
        shape=read_shape(run.model, trust_remote_code=run.trust_remote_code),
        sharding=make_sharding(run, num_gpus),
        reference=needs_reference_model(learner.reference_schedule, run.lora),
        num_gpus=num_gpus,
        **machine,
    )
    return make_plan(setting)


def local_plan(run: Run, learner: Learner, num_ranks: int = 1) -> MemoryPlan:
    """The plan of a run on `num_ranks` GPUs of this machine, or on its CPU in one process.

    Raises:
        ModelError: Weights, gradients, optimizer and one response alone exceed the memory, or the
            model's configuration cannot be read.
    """
    num_gpus = num_ranks if torch.cuda.is_available() else 0
    run = replace(run, sampler="vllm" if uses_vllm(run.sampler) else "transformers")
    plan = plan_run(run, learner, num_gpus=num_gpus, memory=local_memory(num_gpus))
    setting = plan.setting
    if plan.minimum > setting.memory:
        work = "train and sample" if setting.sampler == "vllm" else "train"
        raise ModelError(
            f"{setting.shape.name} has {setting.shape.num_weights / 1e9:.1f} billion weights, "
            f"which need about {plan.minimum:.0f} GiB to {work} before the first token, and the "
            f"run has {machine_text(setting)}; give a higher ZeRO stage or an offloaded optimizer "
            "by --deepspeed, --lora, more GPUs, or --model tiny"
        )
    return plan


def local_memory(num_gpus: int) -> float:
    """GiB of this machine's first GPU, or of its memory for a run on the CPU."""
    if num_gpus and torch.cuda.is_available():
        return torch.cuda.get_device_properties(0).total_memory / GIB
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
