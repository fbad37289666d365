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
FIXED = ("weights", "masters", "gradients", "moments", "reference", "gathered")
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
        """GiB of weights, gradients and optimizer alone."""
        return max(sum(p.parts.get(name, 0.0) for name in FIXED) for p in self.phases)

    @property
    def vllm_share(self) -> float:
        """Share of a GPU that the trainer leaves to vLLM while it samples."""
        own = sum(
            v for name, v in self.phases[-1].parts.items() if not _of_vllm(self.setting, name)
        )
        return math.floor(max(0.0, TIGHT - own / self.setting.memory) * 100) / 100

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
    states = _gib(
        state_bytes(num_weights, setting.num_trained, setting.sharding, largest=largest)
    )
    constant = {name: states[name] for name in ("weights", "masters", "moments")}
    if setting.reference:
        constant["reference"] = setting.weight_size * setting.shape.num_weights / GIB
    training = constant | {name: states[name] for name in ("gradients", "buckets")}
    training |= _gib(_training(setting))
    if setting.autocasts:
        training["cast weights"] = 2 * setting.weights_in_use / GIB
    kept = {name: states[f"kept {name}"] for name in ("gradients", "buckets")}
    step = constant | {"step": states["step"], "buckets": kept["buckets"]}
    sampler, num_responses = _sampling(setting)
    # A server has GPUs of its own.
    sampling = sampler if setting.sampler == "separate" else constant | kept | sampler
    if setting.sampler == "transformers":
        sampling |= {"gathered": states["gathered"]}
        if setting.autocasts:
            sampling["cast weights"] = 2 * num_weights / GIB
    elif setting.sampler == "vllm":
        share = setting.vllm["gpu_memory_utilization"] * setting.memory
        training["vLLM"] = step["vLLM"] = ASLEEP if setting.vllm["enable_sleep_mode"] else share
    phases = {"training": training, "step": step, "sampling": sampling}
    return Plan(
        setting=setting,
        phases=tuple(
            Phase(name, parts | _overhead(setting, parts)) for name, parts in phases.items()
        ),
        host=states["host"] * min(setting.gpus_per_node, max(1, setting.num_gpus)),
        kv_bytes=kv_bytes(setting.shape, setting.size) // setting.vllm["tensor_parallel_size"],
        responses_at_a_time=num_responses,
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


def _sampling(setting: Setting) -> tuple[dict[str, float], int]:
    """GiB of sampling, and the number of responses of the greatest length in the KV cache."""
    shape, size, vllm = setting.shape, setting.size, setting.vllm
    parallel = vllm["tensor_parallel_size"]
    response = setting.length * kv_bytes(shape, size) / GIB / parallel
    if setting.sampler == "transformers":
        rows = setting.sampler_batch_size
        # The cache of one layer exists twice while it grows.
        cache = rows * response * (1 + 1 / shape.layers)
        drawing = sampling_bytes(shape.vocabulary, rows, size) / GIB
        return {"KV cache": cache, "drawing": drawing}, rows
    weights = size * shape.num_weights / GIB / parallel
    graphs = GRAPHS if setting.num_gpus else 0.0
    share = vllm["gpu_memory_utilization"] * setting.memory
    # Without a GPU our sampler configures a cache of one GiB.
    cache = max(0.0, share - weights - graphs) if setting.num_gpus else 1.0
    parts = {"vLLM weights": weights, "vLLM graphs": graphs, "KV cache": cache}
    return parts, int(cache / response)


def _overhead(setting: Setting, parts: dict[str, float]) -> dict[str, float]:
    """Memory without a tensor; vLLM's share of the GPU includes its own."""
    if not setting.num_gpus:
        return {"context": PROCESS}
    own = sum(value for name, value in parts.items() if not _of_vllm(setting, name))
    return {"context": CONTEXT, "fragments": FRAGMENTS * own}


def _of_vllm(setting: Setting, name: str) -> bool:
    return name.startswith("vLLM") or (name == "KV cache" and setting.sampler != "transformers")
