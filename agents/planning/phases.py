"""The plan: what each part of a step holds on one GPU, and whether it fits."""

import math
from dataclasses import dataclass
from typing import Any

from agents.planning.formulas import (
    GIB,
    drawing,
    image_bytes,
    kept_activations,
    kv_bytes,
    logits,
    passing_activations,
    states,
)
from agents.planning.setting import Setting

CONTEXT = 1.0
"""GiB of a GPU that are gone before a tensor is there: CUDA's context, NCCL, libraries."""
PROCESS = 0.9
"""GiB of a process without a GPU that has imported what a run imports, and starts its graders."""
FRAGMENTS = 0.05
"""Part of what is held that the allocator loses between tensors."""
TIGHT = 0.9
"""Part of the memory above which a run that fits by arithmetic may still fail."""
GRAPHS = 3.0
"""GiB that vLLM needs beside weights and cache: activations and CUDA graphs."""
ASLEEP = 1.5
"""GiB that vLLM keeps while it sleeps."""


@dataclass(frozen=True)
class Phase:
    """What one part of a step holds on one GPU, in GiB, by name."""

    name: str
    parts: dict[str, float]

    @property
    def total(self) -> float:
        """GiB."""
        return sum(self.parts.values())


@dataclass(frozen=True)
class Plan:
    """What a run needs: a pure function of its setting."""

    setting: Setting
    phases: tuple[Phase, ...]
    host: float
    """GiB in the memory of each node."""
    kv_bytes: int
    """Of one token in the sampler's cache, on one GPU."""
    responses_at_a_time: int
    """Of the greatest length, that one sampler can hold."""

    @property
    def peak(self) -> Phase:
        """The part of a step that needs most."""
        return max(self.phases, key=lambda phase: phase.total)

    @property
    def fits(self) -> bool:
        """By arithmetic; see `verdict`."""
        return self.peak.total <= self.setting.memory and self.responses_at_a_time > 0

    @property
    def least(self) -> float:
        """GiB of weights, gradients and optimizer alone, which no smaller batch lowers."""
        fixed = ("weights", "masters", "gradients", "moments", "reference", "gathered")
        return max(sum(p.parts.get(name, 0.0) for name in fixed) for p in self.phases)

    @property
    def room(self) -> float:
        """Part of a GPU that the trainer leaves to vLLM beside it while it samples."""
        sampling = self.phases[-1].parts
        own = sum(value for name, value in sampling.items() if not _claimed(self.setting, name))
        return math.floor(max(0.0, TIGHT - own / self.setting.memory) * 100) / 100

    @property
    def verdict(self) -> str:
        """fits, tight, or does not fit."""
        if not self.fits:
            return "does not fit"
        return "tight" if self.peak.total > TIGHT * self.setting.memory else "fits"


def plan(setting: Setting) -> Plan:
    """What a run of this setting needs."""
    held = states(setting.num_weights, setting.num_trained, setting.sharing)
    always = {"weights": held.weights, "masters": held.masters, "moments": held.moments}
    if setting.reference:
        always["reference"] = setting.size * setting.shape.num_weights
    always = _gib(always)
    backward = _gib({"gradients": held.gradients, "buckets": held.buckets})
    between = _gib({"gradients": held.kept_gradients})
    beside = _beside(setting)
    sampling, responses = _sampling(setting, always)
    if setting.sampler == "transformers":
        sampling |= _gib({"gathered": held.gathered})
    phases = {
        "training": always | backward | _gib(_training(setting)) | beside,
        "step": always | _gib({"step": held.step}) | beside,
        "sampling": between | sampling,
    }
    return Plan(
        setting=setting,
        phases=tuple(Phase(name, _reserved(setting, parts)) for name, parts in phases.items()),
        host=held.host / GIB * min(setting.gpus_per_node, max(1, setting.num_gpus)),
        kv_bytes=kv_bytes(setting.shape, setting.size) // setting.tensor_parallel,
        responses_at_a_time=responses,
    )


def _gib(parts: dict[str, float]) -> dict[str, float]:
    return {name: value / GIB for name, value in parts.items()}


def _training(setting: Setting) -> dict[str, float]:
    """Bytes of a forward and a backward pass over one microbatch."""
    shape, size, tokens = setting.shape, setting.size, setting.microbatch_tokens
    padded = 0 if shape.packs else setting.length
    how: dict[str, Any] = {"checkpointing": setting.checkpointing, "padded_length": padded}
    answers = tokens - setting.num_prompts * setting.prompt_length * shape.packs
    at_a_time = min(answers, setting.logits_at_a_time / shape.vocabulary)
    # The head is done before the backward pass of the last layer begins.
    head = logits(shape.vocabulary, at_a_time, size)
    return {
        "activations": kept_activations(shape, tokens, size, **how),
        "passing": max(head, passing_activations(shape, tokens, size, **how)),
        "images": _images(setting),
    }


def _images(setting: Setting) -> float:
    tower = setting.shape.tower
    if tower is None:
        return 0.0
    return (
        setting.num_prompts
        * setting.num_images
        * image_bytes(
            tower,
            setting.max_pixels,
            setting.size,
            trained=not setting.freeze_vision and not setting.lora_rank,
            checkpointing=setting.checkpointing,
        )
    )


def _beside(setting: Setting) -> dict[str, float]:
    """GiB that a sampler on the same GPU keeps while the trainer works."""
    if setting.sampler != "vllm":
        return {}
    return {"vLLM": ASLEEP if setting.vllm_sleeps else setting.vllm_memory * setting.memory}


def _sampling(setting: Setting, always: dict[str, float]) -> tuple[dict[str, float], int]:
    """GiB of sampling, and how many responses of the greatest length the cache holds."""
    shape, size = setting.shape, setting.size
    one = setting.length * kv_bytes(shape, size) / GIB / setting.tensor_parallel
    if setting.sampler == "transformers":
        rows = setting.sampler_batch_size
        # The cache of one layer is there twice while it grows by a token.
        parts = {
            "KV cache": rows * one * (1 + 1 / shape.layers),
            "drawing": drawing(shape.vocabulary, rows, size) / GIB,
        }
        return always | parts, rows
    copy = size * shape.num_weights / GIB / setting.tensor_parallel
    graphs = GRAPHS if setting.num_gpus else 0.0
    # Without a GPU our sampler asks for a cache of one GiB, whatever the memory.
    room = setting.vllm_memory * setting.memory - copy - graphs if setting.num_gpus else 1.0
    room = max(0.0, room)
    parts = {"vLLM weights": copy, "vLLM graphs": graphs, "KV cache": room}
    return (always if setting.sampler == "vllm" else {}) | parts, int(room / one)


def _reserved(setting: Setting, parts: dict[str, float]) -> dict[str, float]:
    """The parts, and what is lost around them."""
    if not setting.num_gpus:
        return parts | {"context": PROCESS}
    # What vLLM takes is a part of the GPU as a whole, losses included.
    own = sum(value for name, value in parts.items() if not _claimed(setting, name))
    return parts | {"context": CONTEXT, "fragments": FRAGMENTS * own}


def _claimed(setting: Setting, name: str) -> bool:
    return name.startswith("vLLM") or (name == "KV cache" and setting.sampler != "transformers")
