"""Memory plan: GiB on one GPU in each phase of a training step, and whether they fit."""

import math
from dataclasses import dataclass

from agents.engines.token_log_probs import LOGITS_PER_CHUNK
from agents.planning.formulas import (
    GIB,
    activation_bytes,
    image_bytes,
    kv_bytes,
    logit_bytes,
    sampling_bytes,
    state_bytes,
)
from agents.planning.setting import Setting

CONTEXT = 1.0
"""GiB of a GPU for CUDA's context, NCCL and libraries."""
PROCESS = 0.9
"""GiB of a process on the CPU for imported libraries and graders."""
FRAGMENTS = 0.05
"""Share of the memory lost to fragmentation by the allocator."""
TIGHT = 0.9
"""Share of the memory above which a run that fits by arithmetic may still fail."""
GRAPHS = 3.0
"""GiB of vLLM's activations and CUDA graphs."""
ASLEEP = 1.5
"""GiB of vLLM in sleep mode."""
FIXED = ("weights", "masters", "gradients", "moments", "reference", "gathered", "vLLM weights")
"""Parts that no smaller batch lowers."""


@dataclass(frozen=True)
class Phase:
    """Memory of one phase of a step on one GPU, in GiB by name of the part."""

    name: str
    parts: dict[str, float]

    @property
    def total(self) -> float:
        """GiB."""
        return sum(self.parts.values())


@dataclass(frozen=True)
class Plan:
    """Memory of a run."""

    setting: Setting
    phases: tuple[Phase, ...]
    """Training, optimizer step, sampling."""
    host: float
    """GiB of offloaded state in the memory of each node."""
    kv_bytes: int
    """Of one token in the KV cache, on one GPU."""
    responses_at_a_time: int
    """Of the greatest length, in the KV cache of one sampler."""
    vllm_share: float
    """Of a GPU for vLLM: as the run says, or what the trainer leaves."""

    @property
    def peak(self) -> Phase:
        """The phase with the largest total."""
        return max(self.phases, key=lambda phase: phase.total)

    @property
    def fits(self) -> bool:
        """True if the peak fits by arithmetic; see `verdict`."""
        return self.peak.total <= self.setting.memory and self.responses_at_a_time > 0

    @property
    def minimum(self) -> float:
        """GiB of weights, gradients and optimizer alone, and of one response where vLLM samples."""
        phases = self.phases[:-1] if self.setting.sampler == "separate" else self.phases
        totals = [sum(p.parts.get(name, 0.0) for name in FIXED) for p in phases]
        if self.setting.sampler == "vllm":
            totals[-1] += self.setting.length * self.kv_bytes / GIB
        return max(totals)

    @property
    def verdict(self) -> str:
        """fits, tight, or does not fit."""
        if not self.fits:
            return "does not fit"
        return "tight" if self.peak.total > TIGHT * self.setting.memory else "fits"


def make_plan(setting: Setting) -> Plan:
    """The memory plan of a setting.

    Raises:
        UsageError: A JSON text of the run is invalid.
    """
    num_weights = setting.shape.num_weights + setting.adapter_weights
    largest = 0 if setting.adapter_weights else setting.shape.vocabulary * setting.shape.hidden
    states = _gib(state_bytes(num_weights, setting.num_trained, setting.sharding, largest=largest))
    constant = {name: states[name] for name in ("weights", "masters", "moments")}
    if setting.reference:
        constant["reference"] = setting.weight_size * setting.shape.num_weights / GIB
    training = constant | {name: states[name] for name in ("gradients", "buckets")}
    training |= _gib(_training(setting))
    if setting.autocasts:
        training["cast weights"] = 2 * setting.weights_in_use / GIB
    kept = {name: states[f"kept {name}"] for name in ("gradients", "buckets")}
    step = constant | {"step": states["step"], "buckets": kept["buckets"]}
    # A server has GPUs of its own.
    sampling = {} if setting.sampler == "separate" else constant | kept
    options = setting.vllm
    awake = [sampling] if options["enable_sleep_mode"] else [training, step, sampling]
    share = options.get("gpu_memory_utilization", _share_of_vllm(setting, awake))
    sampler, num_responses = _sampling(setting, share)
    sampling = sampling | sampler
    if setting.sampler == "transformers":
        sampling |= {"gathered": states["gathered"]}
        if setting.autocasts:
            sampling["cast weights"] = 2 * num_weights / GIB
    elif setting.sampler == "vllm":
        idle = ASLEEP if options["enable_sleep_mode"] else share * setting.memory
        training["vLLM"] = step["vLLM"] = idle
    phases = {"training": training, "step": step, "sampling": sampling}
    return Plan(
        setting=setting,
        phases=tuple(
            Phase(name, parts | _overhead(setting, parts)) for name, parts in phases.items()
        ),
        host=states["host"] * min(setting.gpus_per_node, max(1, setting.num_gpus)),
        kv_bytes=kv_bytes(setting.shape, setting.size) // options["tensor_parallel_size"],
        responses_at_a_time=num_responses,
        vllm_share=share,
    )


def _gib(parts: dict[str, float]) -> dict[str, float]:
    return {name: value / GIB for name, value in parts.items()}


def _training(setting: Setting) -> dict[str, float]:
    """Bytes of a forward and a backward pass over one microbatch."""
    shape, run, size = setting.shape, setting.run, setting.size
    tokens, checkpointing = setting.microbatch_tokens, run.gradient_checkpointing
    padded_length = 0 if shape.packs else setting.length
    activations, transient = activation_bytes(
        shape,
        tokens,
        setting.activation_size,
        checkpointing=checkpointing,
        padded_length=padded_length,
    )
    num_answers = tokens - setting.num_prompts * setting.prompt_length * shape.packs
    device = "cuda" if setting.num_gpus else "cpu"
    chunk = min(num_answers, LOGITS_PER_CHUNK[device] / shape.vocabulary)
    # The head's backward pass ends before that of the last layer begins.
    transient = max(logit_bytes(shape.vocabulary, chunk, size), transient)
    images = 0.0
    if shape.tower:
        trained = not run.freeze_vision and not run.lora
        image = image_bytes(
            shape.tower, run.max_pixels, size, trained=trained, checkpointing=checkpointing
        )
        images = setting.num_prompts * setting.num_images * image
    return {"activations": activations, "passing": transient, "images": images}


def _share_of_vllm(setting: Setting, phases: list[dict[str, float]]) -> float:
    """Share of a GPU that the trainer leaves to vLLM in these phases, or what a response needs."""
    own = max(sum((parts | _overhead(setting, parts)).values()) for parts in phases)
    left = math.floor(100 * (TIGHT - own / setting.memory))
    needed = math.ceil(100 * sum(_vllm(setting).values()) / setting.memory)
    return min(100, max(left, needed)) / 100


def _vllm(setting: Setting) -> dict[str, float]:
    """GiB of vLLM with a KV cache for one response of the greatest length."""
    parallel = setting.vllm["tensor_parallel_size"]
    return {
        "vLLM weights": setting.size * setting.shape.num_weights / GIB / parallel,
        "vLLM graphs": GRAPHS if setting.num_gpus else 0.0,
        "KV cache": setting.length * kv_bytes(setting.shape, setting.size) / GIB / parallel,
    }


def _sampling(setting: Setting, share: float) -> tuple[dict[str, float], int]:
    """GiB of sampling, and the number of responses of the greatest length in the KV cache.

    Args:
        setting: Of the plan.
        share: Of a GPU for vLLM.
    """
    shape, size = setting.shape, setting.size
    parts = _vllm(setting)
    response = parts.pop("KV cache")
    if setting.sampler == "transformers":
        rows = setting.sampler_batch_size
        # The cache of one layer exists twice while it grows.
        cache = rows * response * (1 + 1 / shape.layers)
        drawing = sampling_bytes(shape.vocabulary, rows, size) / GIB
        return {"KV cache": cache, "drawing": drawing}, rows
    # Without a GPU our sampler configures a cache of one GiB.
    left = share * setting.memory - sum(parts.values())
    cache = max(0.0, left) if setting.num_gpus else 1.0
    return parts | {"KV cache": cache}, int(cache / response)


def _overhead(setting: Setting, parts: dict[str, float]) -> dict[str, float]:
    """Memory without a tensor; vLLM's share of the GPU includes its own."""
    if not setting.num_gpus:
        return {"context": PROCESS}
    own = sum(value for name, value in parts.items() if not _of_vllm(setting, name))
    return {"context": CONTEXT, "fragments": FRAGMENTS * own}


def _of_vllm(setting: Setting, name: str) -> bool:
    return name.startswith("vLLM") or (name == "KV cache" and setting.sampler != "transformers")
