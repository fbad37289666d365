"""Inputs of a memory plan: the settings of a run, its model and its machine."""

import math
from dataclasses import dataclass
from typing import Any

import torch

from agents.cli.json_flags import json_object, lora_rank
from agents.cli.settings import Run
from agents.engines.deepspeed import checked
from agents.engines.process import computation_dtype, has_half_weights
from agents.errors import UsageError
from agents.planning.formulas import Sharding, adapter_weights, image_tokens
from agents.planning.shapes import Shape
from agents.storage.json_files import read_json

MOST_GPUS = 2**20
"""Of a run; more than any machine has."""
SERVER_MEMORY = 0.9
"""vLLM's own default of its share of a GPU."""


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
    gpus_per_node: int = 8
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
    def activation_size(self) -> int:
        """Mean bytes of a number that is kept until the backward pass.

        Autocast keeps half of them in float32, of the residual stream, norms and attention, and
        with checkpointing all, which are of the residual stream.
        """
        if self.autocasts:
            return 4 if self.run.gradient_checkpointing else 3
        return self.weight_size

    @property
    def weights_in_use(self) -> int:
        """Weights that a backward pass uses at a time: with checkpointing, a layer and the head."""
        shape = self.shape
        head = shape.vocabulary * shape.hidden
        if not self.run.gradient_checkpointing:
            return shape.num_weights + self.adapter_weights
        return head + (shape.num_weights - head) // shape.layers

    @property
    def adapter_weights(self) -> int:
        """Weights of LoRA adapters; 0 without."""
        return adapter_weights(self.shape, lora_rank(self.run.lora))

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
        image = image_tokens(tower, self.run.max_pixels) if tower else 0
        return self.num_words + self.num_images * image

    @property
    def length(self) -> int:
        """Tokens of the longest sequence."""
        return self.prompt_length + self.run.max_response_length

    @property
    def minibatch_size(self) -> int:
        """Responses of a minibatch on one rank, of which no microbatch has more."""
        return -(-self.run.minibatch_size // max(1, self.num_gpus))

    @property
    def num_prompts(self) -> int:
        """Prompts in a microbatch: packed rows hold the prompt of a group once."""
        rows = self.minibatch_size
        if not self.run.tokens_per_microbatch:
            return -(-min(rows, self.run.microbatch_size) // self.run.group_size)
        group = self.prompt_length + self.run.group_size * self.run.max_response_length
        fitting = max(1, -(-self.run.tokens_per_microbatch // group))
        return min(fitting, -(-rows // self.run.group_size))

    @property
    def microbatch_tokens(self) -> int:
        """Tokens of a forward pass over responses of the greatest length."""
        if self.run.tokens_per_microbatch:
            budget = max(self.run.tokens_per_microbatch, self.length)
            return min(budget, self._tokens(self.minibatch_size))
        return self._tokens(min(self.run.microbatch_size, self.minibatch_size))

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
    def sampler_batch_size(self) -> int:
        """Responses that transformers samples at a time on one rank."""
        responses = self.run.num_prompts * self.run.group_size // max(1, self.num_gpus)
        return min(self.run.sampler_batch_size, max(1, responses))

    @property
    def vllm(self) -> dict[str, Any]:
        """Options of vLLM, with defaults of those that matter here.

        Without `gpu_memory_utilization`, vLLM gets what the trainer leaves.
        """
        defaults = {"enable_sleep_mode": True, "tensor_parallel_size": 1}
        if self.sampler == "separate":
            defaults["gpu_memory_utilization"] = SERVER_MEMORY
        options = defaults | json_object("vllm", self.run.vllm)
        share, ranks = options.get("gpu_memory_utilization", 0), options["tensor_parallel_size"]
        if not (_is_number(share) and 0 <= share <= 1):
            raise UsageError(f"--vllm: gpu_memory_utilization is {share!r}: give a share in [0, 1]")
        if not (_is_number(ranks) and ranks == int(ranks) and 1 <= ranks <= MOST_GPUS):
            raise UsageError(f"--vllm: tensor_parallel_size is {ranks!r}: give a number of GPUs")
        return options


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def make_sharding(run: Run, num_gpus: int) -> Sharding:
    """Sharding and precision of the training engine.

    Defaults are those of `agents.engines.deepspeed`, stage 2 in bf16, on GPUs; plain PyTorch
    in fp32 on the CPU.

    Raises:
        RecordError: The configuration of DeepSpeed cannot be read.
        UsageError: It has a part that is no object, or a stage that is none.
    """
    if run.engine == "torch" or (run.engine == "auto" and not num_gpus and run.deepspeed is None):
        return Sharding(fused=True)
    config = checked(read_json(run.deepspeed)) if run.deepspeed else {}
    zero = config.get("zero_optimization", {})
    offloads = {
        name: zero.get(f"offload_{name}", {}).get("device", "none") != "none"
        for name in ("optimizer", "param")
    }
    return Sharding(
        num_ranks=max(1, num_gpus),
        stage=int(zero.get("stage", 2 if num_gpus else 0)),
        half=_is_half(run, config, num_gpus),
        offload_optimizer=offloads["optimizer"],
        offload_weights=offloads["param"],
    )


def _is_half(run: Run, config: dict[str, Any], num_gpus: int) -> bool:
    """True if DeepSpeed keeps the weights in bf16, by its configuration or else by `--dtype`."""
    default = has_half_weights(run.dtype, "cuda" if num_gpus else "cpu")
    return config.get("bf16", {}).get("enabled", default) is not False
