"""Inputs of a memory plan, derived from the settings of a run."""

from dataclasses import dataclass
from typing import Any

from agents.cli.settings import Run, json_object
from agents.engines.token_log_probs import LOGITS_PER_CHUNK
from agents.planning.formulas import Sharding, adapter_weights, image_tokens
from agents.planning.shapes import Shape
from agents.storage.json_files import read_json

VLLM_MEMORY = {"vllm": 0.45, "separate": 0.9}
"""Default share of a GPU for vLLM, in the trainer's processes and on a server."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Machine of a run, and lengths of its prompts."""

    num_gpus: int
    """Over all nodes; 0 for the CPU."""
    memory: float
    """GiB for each rank."""
    gpus_per_node: int = 8
    num_processes: int = 1
    """Ranks on the CPU."""
    num_words: int = 512
    """Text tokens of the longest prompt."""
    num_images: int = 1
    """Images of a problem."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """All inputs of a memory plan: model, machine, batch, sharding and sampler."""

    shape: Shape
    num_gpus: int
    memory: float
    """GiB for each rank."""
    gpus_per_node: int = 8
    prompt_length: int
    """Tokens of the longest prompt, including images."""
    response_length: int
    microbatch_size: int
    tokens_per_microbatch: int = 0
    """0 for `microbatch_size` responses."""
    group_size: int = 1
    logits_at_a_time: float = LOGITS_PER_CHUNK
    max_pixels: int = 0
    num_images: int = 0
    sharing: Sharding
    freeze_vision: bool = False
    lora_rank: int = 0
    checkpointing: bool = False
    reference: bool = False
    """True if a reference model is kept besides the policy."""
    sampler: str = "transformers"
    """transformers, vllm, or separate for a server."""
    sampler_batch_size: int = 1
    vllm_memory: float = 0.0
    """Share of a GPU for vLLM."""
    vllm_sleeps: bool = True
    tensor_parallel: int = 1

    @property
    def size(self) -> int:
        """Bytes of a number in computation."""
        return 2 if self.sharing.half else 4

    @property
    def num_weights(self) -> int:
        """Of the policy, including adapters."""
        return self.shape.num_weights + adapter_weights(self.shape, self.lora_rank)

    @property
    def num_trained(self) -> int:
        """Weights that the optimizer updates."""
        if self.lora_rank:
            return adapter_weights(self.shape, self.lora_rank)
        tower = self.shape.tower if self.freeze_vision else None
        return self.shape.num_weights - (tower.num_weights if tower else 0)

    @property
    def length(self) -> int:
        """Tokens of the longest sequence."""
        return self.prompt_length + self.response_length

    @property
    def num_prompts(self) -> int:
        """Prompts in a microbatch: packed rows hold the prompt of a group once."""
        if self.tokens_per_microbatch:
            group = self.prompt_length + self.group_size * self.response_length
            return max(1, -(-self.tokens_per_microbatch // group))
        return -(-self.microbatch_size // self.group_size)

    @property
    def microbatch_tokens(self) -> int:
        """Tokens of a forward pass over responses of the greatest length."""
        if self.tokens_per_microbatch:
            return max(self.tokens_per_microbatch, self.length)
        prompts = self.num_prompts if self.shape.packs else self.microbatch_size
        return prompts * self.prompt_length + self.microbatch_size * self.response_length


def make_setting(run: Run, shape: Shape, machine: Machine, *, reference: bool) -> Setting:
    """The inputs of a plan.

    Args:
        run: Resolved settings.
        shape: Of its model.
        machine: Of the run.
        reference: True if a reference model is kept besides the policy.

    Raises:
        UsageError: A JSON text of the run is invalid.
        RecordError: The configuration of DeepSpeed cannot be read.
    """
    pixels = run.max_pixels if shape.tower else 0
    tokens = image_tokens(shape.tower, pixels) if shape.tower else 0
    vllm = json_object("vllm", run.vllm)
    sampler = "separate" if run.vllm_server is not None else run.sampler
    if sampler == "auto":
        sampler = "vllm" if machine.num_gpus else "transformers"
    num_ranks = machine.num_gpus or machine.num_processes
    return Setting(
        shape=shape,
        num_gpus=machine.num_gpus,
        memory=machine.memory,
        gpus_per_node=machine.gpus_per_node,
        prompt_length=machine.num_words + machine.num_images * tokens,
        response_length=run.max_response_length,
        microbatch_size=run.microbatch_size,
        tokens_per_microbatch=run.tokens_per_microbatch or 0,
        group_size=run.group_size,
        max_pixels=pixels,
        num_images=machine.num_images if pixels else 0,
        sharing=make_sharding(run, machine),
        freeze_vision=run.freeze_vision,
        lora_rank=json_object("lora", run.lora).get("r", 8) if run.lora else 0,
        checkpointing=run.gradient_checkpointing,
        reference=reference,
        sampler=sampler,
        sampler_batch_size=min(
            run.sampler_batch_size, max(1, run.num_prompts * run.group_size // num_ranks)
        ),
        vllm_memory=vllm.get("gpu_memory_utilization", VLLM_MEMORY.get(sampler, 0.0)),
        vllm_sleeps=bool(vllm.get("enable_sleep_mode", True)),
        tensor_parallel=int(vllm.get("tensor_parallel_size", 1)),
    )


def make_sharding(run: Run, machine: Machine) -> Sharding:
    """Sharding and precision of the training engine.

    Defaults are those of `agents.engines.deepspeed.complete`: stage 1 in bf16 on GPUs, fp32 without
    ZeRO in several processes on the CPU; plain PyTorch in fp32 in one process.

    Raises:
        RecordError: The configuration of DeepSpeed cannot be read.
    """
    num_ranks = machine.num_gpus or machine.num_processes
    single = num_ranks == 1 and not machine.num_gpus
    if run.engine == "torch" or (run.engine == "auto" and single and run.deepspeed is None):
        return Sharding(fused=True)
    config = read_json(run.deepspeed) if run.deepspeed else {}
    zero: dict[str, Any] = config.get("zero_optimization", {})
    zero = {name: value for name, value in zero.items() if value != "auto"}
    devices = [
        (zero.get(f"offload_{name}") or {}).get("device", "none") for name in ("optimizer", "param")
    ]
    return Sharding(
        num_ranks=num_ranks,
        stage=int(zero.get("stage", 1 if machine.num_gpus else 0)),
        half=machine.num_gpus > 0 and config.get("bf16", {}).get("enabled", True) is not False,
        offload_optimizer=devices[0] != "none",
        offload_weights=devices[1] != "none",
        bucket=float(zero.get("reduce_bucket_size", Sharding.bucket)),
        live=float(zero.get("stage3_max_live_parameters", Sharding.live)),
    )
