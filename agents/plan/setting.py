"""Inputs of a memory plan: the settings of a run, its model and its machine."""

from dataclasses import dataclass
from typing import Any

import torch

from agents.cli.settings import Run
from agents.engines.deepspeed import complete
from agents.engines.optimizer import Optimization
from agents.engines.process import computation_dtype, has_half_weights
from agents.errors import UsageError
from agents.plan import formulas
from agents.plan.formulas import Sharding
from agents.plan.shapes import Shape
from agents.storage.json_files import read_json

SERVER_MEMORY = 0.9
"""vLLM's own default of its share of a GPU."""
MOST_GPUS = 2**20
"""Of a run; more than any machine has."""


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


def machine_text(setting: Setting) -> str:
    """The machine in words."""
    if setting.num_gpus:
        return f"{setting.num_gpus} GPU{'s' * (setting.num_gpus > 1)} of {setting.memory:.0f} GiB"
    return f"one process on the CPU with {setting.memory:.0f} GiB"
