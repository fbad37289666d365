"""Memory plan: GiB on one GPU in each phase of a training step, and whether they fit."""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from agents.cli.settings import Run
from agents.engines.deepspeed_config import complete
from agents.engines.optimizer import Optimization
from agents.engines.precision import computation_dtype, has_half_weights
from agents.engines.reference_policy import needs_reference_model
from agents.engines.token_log_probs import LOGITS_PER_CHUNK
from agents.engines.vllm import uses_vllm
from agents.errors import ModelError, UsageError
from agents.learner import Learner
from agents.plan import formulas
from agents.plan.formulas import GIB, Sharding
from agents.plan.shapes import Shape, read_shape
from agents.storage.json_files import read_json

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
SERVER_MEMORY = 0.9
"""vLLM's own default of its share of a GPU."""
MOST_GPUS = 2**20
"""Of a run; more than any machine has."""
PHASES = {"training": "forward, backward", "step": "optimizer step", "sampling": "sampling"}
FIXED = ("weights", "masters", "gradients", "moments", "reference", "gathered", "vLLM weights")
"""Parts that no smaller batch lowers."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """All inputs of a memory plan."""

    run: Run
    shape: Shape
    sharding: Sharding
    reference: bool = False
    """True if a reference model is kept besides the policy."""
    num_gpus: int
    """Over all nodes; 0 for one process on the CPU."""
    memory: float
    """GiB for each rank."""
    num_words: int = 512
    """Text tokens of the longest prompt."""
    num_images: int = 1
    """Images of a problem, for vision models."""

    @property
    def autocasts(self) -> bool:
        """True if plain PyTorch computes in bfloat16, from weights in float32."""
        device = torch.device("cuda" if self.num_gpus else "cpu")
        dtype = computation_dtype(self.run.dtype, device, self.shape.num_weights)
        return self.sharding.fused and dtype == torch.bfloat16

    @property
    def weight_size(self) -> int:
        """Bytes of a weight."""
        return 2 if self.sharding.half else 4

    @property
    def size(self) -> int:
        """Bytes of a number in computation."""
        return 2 if self.autocasts else self.weight_size

    @property
    def adapter_weights(self) -> int:
        """Weights of LoRA adapters; 0 without."""
        lora = self.run.lora
        return 0 if lora is None else formulas.adapter_weights(self.shape, lora.get("r", 8))

    @property
    def num_trained(self) -> int:
        """Weights that the optimizer updates."""
        frozen = self.shape.tower if self.run.freeze_vision else None
        full = self.shape.num_weights - (frozen.num_weights if frozen else 0)
        return self.adapter_weights or full

    @property
    def prompt_length(self) -> int:
        """Tokens of the longest prompt, including images."""
        tower = self.shape.tower
        image = formulas.image_tokens(tower, self.run.max_pixels) if tower else 0
        return self.num_words + self.num_images * image

    @property
    def length(self) -> int:
        """Tokens of the longest sequence."""
        return self.prompt_length + self.run.max_response_length

    @property
    def _rows(self) -> int:
        """Responses of a minibatch on one rank, of which no microbatch has more."""
        return -(-self.run.minibatch_size // max(1, self.num_gpus))

    @property
    def num_prompts(self) -> int:
        """Prompts in a microbatch: packed rows hold the prompt of a group once."""
        run, rows = self.run, self._rows
        if not run.tokens_per_microbatch:
            return -(-min(rows, run.microbatch_size) // run.group_size)
        group = self.prompt_length + run.group_size * run.max_response_length
        return min(max(1, -(-run.tokens_per_microbatch // group)), -(-rows // run.group_size))

    @property
    def microbatch_tokens(self) -> int:
        """Tokens of a forward pass over responses of the greatest length."""
        if self.run.tokens_per_microbatch:
            budget = max(self.run.tokens_per_microbatch, self.length)
            return min(budget, self._tokens(self._rows))
        return self._tokens(min(self.run.microbatch_size, self._rows))

    def _tokens(self, rows: int) -> int:
        """Tokens of whole groups of the greatest length with `rows` responses in all."""
        prompts = -(-rows // self.run.group_size) if self.shape.packs else rows
        return prompts * self.prompt_length + rows * self.run.max_response_length

    @property
    def sampler(self) -> str:
        """transformers, vllm, or separate for a server."""
        if self.run.vllm_server is not None:
            return "separate"
        default = "vllm" if self.num_gpus else "transformers"
        return default if self.run.sampler == "auto" else self.run.sampler

    @property
    def vllm(self) -> dict[str, Any]:
        """Options of vLLM, with defaults of those that matter here.

        Without `gpu_memory_utilization`, vLLM gets what the trainer leaves.
        """
        defaults = {"enable_sleep_mode": True, "tensor_parallel_size": 1}
        if self.sampler == "separate":
            defaults["gpu_memory_utilization"] = SERVER_MEMORY
        options = defaults | self.run.vllm
        share, ranks = options.get("gpu_memory_utilization", 0), options["tensor_parallel_size"]
        if type(share) not in (int, float) or not 0 <= share <= 1:
            raise UsageError(f"--vllm: gpu_memory_utilization is {share!r}: give a share in [0, 1]")
        if type(ranks) is not int or not 1 <= ranks <= MOST_GPUS:
            raise UsageError(f"--vllm: tensor_parallel_size is {ranks!r}: give a number of GPUs")
        return options


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


def short_text(plan: MemoryPlan) -> str:
    """A plan in two or three lines."""
    totals = ", ".join(f"{PHASES[name]} {total:.1f}" for name, total in plan.totals.items())
    unit = f"GiB {'per GPU' if plan.setting.num_gpus else 'in all'}"
    text = f"plan: {title(plan.setting)}\n      {totals} {unit}: {plan.verdict}"
    if plan.verdict != "fits":
        text += "\n      python -m agents.plan with the same flags shows what takes it"
    return text


def title(setting: Setting) -> str:
    """Model, precision, engine and machine in one line."""
    shape, sharding = setting.shape, setting.sharding
    trained = f", {_count(setting.num_trained)} trained" * (setting.num_trained < shape.num_weights)
    engine = "plain PyTorch" if sharding.fused else f"DeepSpeed, ZeRO {sharding.stage}"
    engine += ", optimizer on the CPU" * sharding.offload_optimizer
    dtype = "bf16" if setting.size == 2 else "fp32"
    weights = f"{shape.name}, {_count(shape.num_weights)} weights{trained}"
    return f"{weights}, {dtype}; {engine}, on {machine_text(setting)}"


def _count(number: float) -> str:
    if number < 1e6:
        return f"{number:,.0f}"
    return f"{number / 1e9:.2f} billion" if number >= 1e9 else f"{number / 1e6:.1f} million"


def machine_text(setting: Setting) -> str:
    """The machine in words."""
    if setting.num_gpus:
        return f"{setting.num_gpus} GPU{'s' * (setting.num_gpus > 1)} of {setting.memory:.0f} GiB"
    return f"one process on the CPU with {setting.memory:.0f} GiB"
