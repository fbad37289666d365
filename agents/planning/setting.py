"""What decides a run's memory, in one value, and how it follows from the settings of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agents.cli.settings import Run, json_object
from agents.engines.token_log_probs import LOGITS_PER_CHUNK
from agents.planning.formulas import Sharing, adapter_weights, image_tokens
from agents.planning.shapes import Shape
from agents.storage.json_files import read_json

VLLM_MEMORY = {"vllm": 0.45, "separate": 0.9}
"""Part of a GPU that vLLM takes unless told: beside the trainer as our sampler says, else its own
default of `gpu_memory_utilization`."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A model, a machine, and what is done with both."""

    shape: Shape
    num_gpus: int
    """Over all nodes; 0 where ranks are processes on the CPU."""
    memory: float
    """GiB of one rank: its GPU, or its share of the machine where there is none."""
    gpus_per_node: int = 8
    prompt_length: int
    """Tokens of the longest prompt, images included."""
    response_length: int
    microbatch_size: int
    tokens_per_microbatch: int = 0
    """0 for `microbatch_size` responses."""
    group_size: int = 1
    """Responses to a prompt, which is read once for those in a microbatch."""
    logits_at_a_time: float = LOGITS_PER_CHUNK
    max_pixels: int = 0
    """Of an image; 0 without images."""
    num_images: int = 0
    """Of a problem."""
    sharing: Sharing
    freeze_vision: bool = False
    lora_rank: int = 0
    checkpointing: bool = False
    reference: bool = False
    """Whether a second model stays beside the policy."""
    sampler: Literal["transformers", "vllm", "separate"] = "transformers"
    sampler_batch_size: int = 1
    """Responses that transformers samples at a time."""
    vllm_memory: float = 0.0
    """Part of a GPU that vLLM may take."""
    vllm_sleeps: bool = True
    tensor_parallel: int = 1

    @property
    def size(self) -> int:
        """Bytes of a number where it is computed with."""
        return 2 if self.sharing.half else 4

    @property
    def num_weights(self) -> int:
        """Of the policy, adapters included."""
        return self.shape.num_weights + adapter_weights(self.shape, self.lora_rank)

    @property
    def num_trained(self) -> int:
        """Weights that an optimizer step moves."""
        if self.lora_rank:
            return adapter_weights(self.shape, self.lora_rank)
        tower = self.shape.tower
        frozen = tower.num_weights if tower is not None and self.freeze_vision else 0
        return self.shape.num_weights - frozen

    @property
    def length(self) -> int:
        """Tokens of the longest sequence."""
        return self.prompt_length + self.response_length

    @property
    def microbatch_tokens(self) -> int:
        """Tokens of a forward pass when all responses are as long as can be."""
        if self.tokens_per_microbatch:
            return max(self.tokens_per_microbatch, self.length)
        prompts = self.num_prompts if self.shape.packs else self.microbatch_size
        return prompts * self.prompt_length + self.microbatch_size * self.response_length

    @property
    def num_prompts(self) -> int:
        """Prompts in a microbatch."""
        rows = self.microbatch_size
        if self.tokens_per_microbatch:
            group = self.prompt_length + self.group_size * self.response_length
            return max(1, -(-self.tokens_per_microbatch // group))
        return -(-rows // self.group_size)

    @property
    def where(self) -> str:
        """The machine in words."""
        if not self.num_gpus and self.sharing.num_ranks > 1:
            return f"{self.sharing.num_ranks} processes on the CPU, {self.memory:.0f} GiB for each"
        if not self.num_gpus:
            return f"one process on the CPU with {self.memory:.0f} GiB"
        plural = "s" if self.num_gpus > 1 else ""
        return f"{self.num_gpus} GPU{plural} of {self.memory:.0f} GiB"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where the run is planned for, and what a run does not say."""

    num_gpus: int
    """Ranks, over all nodes; 0 to train on the CPU."""
    memory: float
    """GiB of one rank, see `Setting.memory`."""
    gpus_per_node: int = 8
    num_processes: int = 1
    """Ranks where there is no GPU."""
    num_words: int = 512
    """Tokens of the longest prompt beside its images."""
    num_images: int = 1
    """Images of a problem."""

    @property
    def num_ranks(self) -> int:
        """One for each GPU, or the processes on the CPU."""
        return self.num_gpus or self.num_processes


def setting(run: Run, shape: Shape, machine: Machine, *, reference: bool) -> Setting:
    """The setting of a run on a machine.

    Args:
        run: Resolved settings.
        shape: Of its model.
        machine: Where.
        reference: Whether the learner keeps a second model beside the policy.

    Raises:
        ValueError: In one line, when a file or a JSON text of the run cannot be read.
    """
    tower = shape.tower
    seen = run.max_pixels if tower is not None else 0
    per_problem = machine.num_images * image_tokens(tower, seen) if tower is not None else 0
    vllm = json_object("vllm", run.vllm)
    sampler = _sampler(run, machine.num_gpus)
    return Setting(
        shape=shape,
        num_gpus=machine.num_gpus,
        memory=machine.memory,
        gpus_per_node=machine.gpus_per_node,
        prompt_length=machine.num_words + per_problem,
        response_length=run.max_response_length,
        microbatch_size=run.microbatch_size,
        tokens_per_microbatch=run.tokens_per_microbatch or 0,
        group_size=run.group_size,
        max_pixels=seen,
        num_images=machine.num_images if seen else 0,
        sharing=sharing(run, machine),
        freeze_vision=run.freeze_vision,
        lora_rank=json_object("lora", run.lora).get("r", 8) if run.lora else 0,
        checkpointing=run.gradient_checkpointing,
        reference=reference,
        sampler=sampler,
        sampler_batch_size=min(run.sampler_batch_size, _responses(run, machine.num_ranks)),
        vllm_memory=vllm.get("gpu_memory_utilization", VLLM_MEMORY.get(sampler, 0.0)),
        vllm_sleeps=bool(vllm.get("enable_sleep_mode", True)),
        tensor_parallel=int(vllm.get("tensor_parallel_size", 1)),
    )


def sharing(run: Run, machine: Machine) -> Sharing:
    """How the training engine of a run keeps and shares out its state.

    The defaults are those of `agents.engines.deepspeed.complete`: stage 1 in bf16 on GPUs, fp32
    without ZeRO in several processes on the CPU; plain PyTorch in fp32 in one process.

    Raises:
        RecordError: In one line, when the configuration of DeepSpeed cannot be read.
    """
    alone = machine.num_gpus == 0 and machine.num_ranks == 1
    if run.engine == "torch" or (run.engine == "auto" and alone and run.deepspeed is None):
        return Sharing(fused=True)
    config = read_json(run.deepspeed) if run.deepspeed else {}
    zero = {k: v for k, v in config.get("zero_optimization", {}).items() if v != "auto"}
    half = machine.num_gpus > 0 and config.get("bf16", {}).get("enabled", True) is not False
    return Sharing(
        num_ranks=machine.num_ranks,
        stage=int(zero.get("stage", 1 if machine.num_gpus else 0)),
        half=half,
        offload_optimizer=_offloads(zero, "offload_optimizer"),
        offload_weights=_offloads(zero, "offload_param"),
        bucket=float(zero.get("reduce_bucket_size", Sharing.bucket)),
        live=float(zero.get("stage3_max_live_parameters", Sharing.live)),
    )


def _offloads(zero: Mapping[str, Any], name: str) -> bool:
    return (zero.get(name) or {}).get("device", "none") != "none"


def _sampler(run: Run, num_gpus: int) -> Any:
    if run.vllm_server is not None:
        return "separate"
    if run.sampler == "auto":
        return "vllm" if num_gpus else "transformers"
    return run.sampler


def _responses(run: Run, num_ranks: int) -> int:
    """Responses of a rollout on one rank."""
    return max(1, run.num_prompts * run.group_size // num_ranks)
