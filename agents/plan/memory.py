"""Memory plan: GiB on one GPU in each phase of a training step, and whether they fit."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch

from agents.cli.settings import Run
from agents.engines.process import computation_dtype
from agents.engines.sampling import LOGITS_PER_CHUNK
from agents.plan import formulas
from agents.plan.formulas import GIB, Sharding
from agents.plan.shapes import Shape

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
SERVER_SHARE = 0.9
"""vLLM's own default of its share of a GPU."""
FIXED = (
    "weights",
    "masters",
    "gradients",
    "moments",
    "reference",
    "teacher",
    "gathered",
    "vLLM weights",
    "sampler weights",
)
"""Parts that no smaller batch lowers."""


@dataclass(frozen=True, kw_only=True)
class MemoryPlan:
    """Memory of a run, from its settings, its model and its machine."""

    run: Run
    shape: Shape
    sharding: Sharding
    reference: bool = False
    """True if a reference model is kept besides the policy."""
    num_teacher: int = 0
    """Weights of another model that teaches, which each GPU holds whole."""
    distils: bool = False
    """True for a divergence over the vocabulary."""
    num_gpus: int
    """Over all nodes; 0 for one process on the CPU."""
    memory: float
    """GiB for each rank."""
    num_words: int = 512
    """Text tokens of the longest prompt."""
    num_images: int = 1
    """Images of a problem, for vision models."""
    num_reply_images: int = 0
    """Images of all replies of tools in an episode; their tokens count to the response's."""

    @property
    def _autocasts(self) -> bool:
        """True if plain PyTorch computes in bfloat16, from weights in float32."""
        device = torch.device("cuda" if self.num_gpus else "cpu")
        dtype = computation_dtype(self.run.dtype, device, self.shape.num_weights)
        return self.sharding.fused and dtype == torch.bfloat16

    @property
    def _weight_size(self) -> int:
        return 2 if self.sharding.half else 4

    @property
    def size(self) -> int:
        """Bytes of a number in computation."""
        return 2 if self._autocasts else self._weight_size

    @property
    def _adapter_weights(self) -> int:
        lora = self.run.lora
        return 0 if lora is None else formulas.adapter_weights(self.shape, lora.get("r", 8))

    @property
    def num_trained(self) -> int:
        """Weights that the optimizer updates."""
        frozen = self.shape.tower.num_weights * self.run.freeze_vision if self.shape.tower else 0
        return self._adapter_weights or self.shape.num_weights - frozen

    @property
    def prompt_length(self) -> int:
        """Tokens of the longest prompt, including images."""
        tower = self.shape.tower
        side = tower.patch_size * tower.merge_size if tower else 0
        tokens_of_image = self.run.max_pixels // side**2 if side else 0
        return self.num_words + self.num_images * tokens_of_image

    @property
    def length(self) -> int:
        """Tokens of the longest sequence."""
        return self.prompt_length + self.run.max_response_length

    @cached_property
    def _microbatch(self) -> tuple[int, int]:
        """Tokens and prompts of a forward pass over responses of the greatest length.

        Packed rows hold the prompt of a group once. No microbatch has more responses than a
        minibatch has on one rank.
        """
        run, packs, budget = self.run, self.shape.packs, self.run.tokens_per_microbatch
        rows = math.ceil(run.minibatch_size / max(1, self.num_gpus))
        rows = rows if budget else min(rows, run.microbatch_size)
        prompts = math.ceil(rows / run.group_size)
        answers = rows * run.max_response_length
        tokens = (prompts if packs else rows) * self.prompt_length + answers
        if not budget:
            return tokens, prompts
        group = self.prompt_length + run.group_size * run.max_response_length
        prompts = min(max(1, math.ceil(budget / group)), prompts)
        return min(max(budget, self.length), tokens), prompts

    @property
    def microbatch_tokens(self) -> int:
        """Tokens of a forward pass over responses of the greatest length."""
        return self._microbatch[0]

    @property
    def sampler(self) -> str:
        """transformers, vllm, or separate for a server."""
        if self.run.vllm_server is not None:
            return "separate"
        default = "vllm" if self.num_gpus else "transformers"
        return default if self.run.sampler == "auto" else self.run.sampler

    @property
    def _sleeps(self) -> bool:
        return self.run.vllm.get("enable_sleep_mode", True)

    @property
    def _num_shards(self) -> int:
        return self.run.vllm.get("tensor_parallel_size", 1)

    @property
    def kv_bytes(self) -> int:
        """Of one token in the KV cache, on one GPU."""
        return formulas.kv_bytes(self.shape, self.size) // self._num_shards

    @cached_property
    def vllm_share(self) -> float:
        """Of a GPU for vLLM: as the run says, or what the trainer leaves to one response or more.

        A vLLM that does not sleep shares the GPU with training too.
        """
        default = SERVER_SHARE if self.sampler == "separate" else None
        share = self.run.vllm.get("gpu_memory_utilization", default)
        if share is not None:
            return share
        training, step, sampling = self._trainer.values()
        phases = [sampling] if self._sleeps else [training, step, sampling]
        own = max(sum((parts | self._overhead(parts)).values()) for parts in phases)
        left = math.floor(100 * (TIGHT - own / self.memory))
        least = sum(self._vllm.values()) + self._response_cache
        needed = math.ceil(100 * least / self.memory)
        return min(100, max(left, needed)) / 100

    @property
    def responses_at_a_time(self) -> int:
        """Of the greatest length, in the KV cache of one sampler."""
        if self.sampler != "transformers":
            return int(self._vllm_cache / self._response_cache)
        responses = self.run.num_prompts * self.run.group_size // max(1, self.num_gpus)
        return min(self.run.sampler_batch_size, max(1, responses))

    @cached_property
    def phases(self) -> dict[str, dict[str, float]]:
        """GiB of each part, by name, of each phase: training, optimizer step, sampling."""
        training, step, sampling = (parts | self._ahead for parts in self._trainer.values())
        if self.sampler == "transformers":
            sampling |= self._sampling_here()
        else:
            sampling |= self._vllm | {"KV cache": self._vllm_cache}
        if self.sampler == "vllm":
            beside = ASLEEP if self._sleeps else self.vllm_share * self.memory
            training["vLLM"] = step["vLLM"] = beside
        phases = {"training": training, "step": step, "sampling": sampling}
        return {name: parts | self._overhead(parts) for name, parts in phases.items()}

    @property
    def _states(self) -> dict[str, float]:
        weights, trained = self.shape.num_weights + self._adapter_weights, self.num_trained
        largest = 0 if self._adapter_weights else self.shape.vocabulary * self.shape.hidden
        states = formulas.state_bytes(weights, trained, self.sharding, largest=largest)
        return {name: value / GIB for name, value in states.items()}

    @property
    def _trainer(self) -> dict[str, dict[str, float]]:
        """GiB of the trainer alone in each phase."""
        states = self._states
        constant = {name: states[name] for name in ("weights", "masters", "moments")}
        if self.reference:
            constant["reference"] = self._weight_size * self.shape.num_weights / GIB
        constant["teacher"] = self._weight_size * self.num_teacher / GIB
        kept = {name: states[f"kept {name}"] for name in ("gradients", "buckets")}
        training = constant | {name: states[name] for name in kept} | self._activations()
        step = constant | {"step": states["step"], "buckets": kept["buckets"]}
        # A server has GPUs of its own.
        sampling = {} if self.sampler == "separate" else constant | kept
        return {"training": training, "step": step, "sampling": sampling}

    def _activations(self) -> dict[str, float]:
        """GiB of a forward and a backward pass over one microbatch."""
        shape, run, tokens = self.shape, self.run, self.microbatch_tokens
        checkpointing = run.gradient_checkpointing
        # Autocast keeps half of the numbers in float32, of the residual stream, norms and
        # attention, and with checkpointing all, which are of the residual stream.
        size = (4 if checkpointing else 3) if self._autocasts else self._weight_size
        padded = 0 if shape.packs else self.length
        activations, transient = formulas.activation_bytes(
            shape, tokens, size, checkpointing=checkpointing, padded_length=padded
        )
        num_prompts = self._microbatch[1]
        num_answers = tokens - num_prompts * self.prompt_length * shape.packs
        most = LOGITS_PER_CHUNK["cuda" if self.num_gpus else "cpu"] / shape.vocabulary
        chunk = min(num_answers, most)
        logits = formulas.logit_bytes(shape.vocabulary, chunk, self.size, distils=self.distils)
        # The head's backward pass ends before that of the last layer begins.
        parts = {"activations": activations, "passing": max(logits, transient)}
        if self._autocasts:
            # With checkpointing, the backward pass uses a layer and the head at a time.
            head = shape.vocabulary * shape.hidden
            layer = head + (shape.num_weights - head) // shape.layers
            whole = shape.num_weights + self._adapter_weights
            parts["cast weights"] = 2 * (layer if checkpointing else whole)
        if shape.tower:
            trained = not run.freeze_vision and not run.lora
            image = formulas.image_bytes(
                shape.tower, run.max_pixels, self.size, trained=trained, checkpointing=checkpointing
            )
            rows = num_answers / (run.max_response_length if shape.packs else self.length)
            num_images = num_prompts * self.num_images + rows * self.num_reply_images
            parts["images"] = num_images * image
        return {name: value / GIB for name, value in parts.items()}

    @property
    def _ahead(self) -> dict[str, float]:
        """GiB of a sampler in a process of its own, beside the trainer: none without staleness.

        It has the weights in its model and in shared memory, and the trainer keeps copies of those
        with which rollouts under way are sampled.
        """
        run, whole = self.run, self.shape.num_weights + self._adapter_weights
        if not run.staleness or self.sampler == "separate":
            return {}
        copies = whole + (run.staleness + 2) * self.num_trained
        process = PROCESS + sum(self._sampling_here().values())
        return {"sampler weights": self._weight_size * copies / GIB, "sampler": process}

    @property
    def host_copies(self) -> float:
        """GiB on the host of rank 0 for weights with which a server samples rollouts ahead."""
        num_copies = self.run.staleness and self.run.staleness + 1
        return num_copies * self._weight_size * self.shape.num_weights / GIB

    def _sampling_here(self) -> dict[str, float]:
        """GiB of sampling by transformers."""
        shape, rows = self.shape, self.responses_at_a_time
        # The cache of one layer exists twice while it grows.
        cache = rows * self.length * formulas.kv_bytes(shape, self.size) * (1 + 1 / shape.layers)
        # Logits, log-probabilities, probabilities, and sums in fp64.
        drawing = rows * shape.vocabulary * (self.size + 4 + 4 + 4 + 8 + 8)
        parts = {"KV cache": cache / GIB, "drawing": drawing / GIB}
        parts["gathered"] = self._states["gathered"]
        if self._autocasts:
            parts["cast weights"] = 2 * (shape.num_weights + self._adapter_weights) / GIB
        return parts

    @property
    def _vllm(self) -> dict[str, float]:
        """GiB of vLLM without its KV cache."""
        weights = self.size * self.shape.num_weights / GIB
        graphs = GRAPHS if self.num_gpus else 0.0
        return {"vLLM weights": weights / self._num_shards, "vLLM graphs": graphs}

    @property
    def _vllm_cache(self) -> float:
        """GiB of vLLM's KV cache; without a GPU our sampler configures one."""
        left = self.vllm_share * self.memory - sum(self._vllm.values())
        return max(0.0, left) if self.num_gpus else 1.0

    @property
    def _response_cache(self) -> float:
        """GiB of the KV cache of one response of the greatest length."""
        return self.length * self.kv_bytes / GIB

    def _overhead(self, parts: dict[str, float]) -> dict[str, float]:
        """Memory without a tensor; vLLM's share of the GPU includes its own."""
        if not self.num_gpus:
            return {"context": PROCESS}
        vllms = {"vLLM", "vLLM weights", "vLLM graphs"}
        vllms |= {"KV cache"} if self.sampler != "transformers" else set()
        own = sum(value for name, value in parts.items() if name not in vllms)
        return {"context": CONTEXT, "fragments": FRAGMENTS * own}

    @property
    def totals(self) -> dict[str, float]:
        """GiB of each phase."""
        return {name: sum(parts.values()) for name, parts in self.phases.items()}

    @property
    def minimum(self) -> float:
        """GiB of weights, gradients and optimizer alone, and of one response where vLLM samples."""
        totals = {
            name: sum(parts.get(part, 0.0) for part in FIXED) for name, parts in self.phases.items()
        }
        if self.sampler == "vllm":
            totals["sampling"] += self._response_cache
        elif self.sampler == "separate":
            del totals["sampling"]
        return max(totals.values())

    @property
    def verdict(self) -> str:
        """fits, tight, or does not fit."""
        peak = max(self.totals.values())
        if peak > self.memory or not self.responses_at_a_time:
            return "does not fit"
        return "tight" if peak > TIGHT * self.memory else "fits"
