"""vLLM as a guest: whether and how it starts, what it may touch, how it fails and recovers."""

import importlib.util
import os
import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents.errors import AgentsError, MissingPackageError, SamplerError

DEFAULTS: dict[str, Any] = {
    "logprobs_mode": "processed_logprobs",
    # Only the folder's weights and tokenizer count, not its habits of sampling.
    "generation_config": "vllm",
    # A response is reported when it is done, not token by token.
    "stream_interval": 2**30,
}
"""Arguments of vLLM, in the trainer's process and in a server."""
ON_CPU: dict[str, Any] = {
    "dtype": "float32",
    "enforce_eager": True,
    "kv_cache_memory_bytes": 2**30,
    # A seeded request whose prompt is read in parts fails on CPUs in vLLM 0.32.
    "enable_chunked_prefill": False,
}
"""More of them, where there is no GPU."""
INHERITED = ("LD_PRELOAD", "LOCAL_WORLD_SIZE")
"""What vLLM sets for processes of its own, and those of others would inherit."""


def check_installed(*, sees: bool) -> None:
    """Refuses where vLLM cannot run.

    Args:
        sees: Whether the model reads images.

    Raises:
        MissingPackageError: In one line, with what to install.
    """
    if importlib.util.find_spec("vllm") is None:
        raise MissingPackageError(
            "vLLM is not installed: pip install 'reasonenv[vllm]' where there is a GPU, or use "
            "--sampler transformers"
        )
    if sees and importlib.util.find_spec("torchvision") is None:
        version = torch.__version__.split("+")[0]
        raise MissingPackageError(
            "vLLM reads images with torchvision, which is not installed: install the build of it "
            f"that matches torch {version}, or use --sampler transformers"
        )


def ban(banned: tuple[int, ...]) -> type:
    """A logits processor for vLLM, under which these tokens have no probability.

    One for all requests: a `logit_bias` in each is laid out anew, token by token, whenever one of
    them ends. The two model runners of vLLM call it in two ways, and it answers to both.
    """
    places = ("vllm.v1.sample.logits_processor", "vllm.v1.worker.gpu.sample.logits_processor")
    there = [importlib.import_module(place) for place in places if importlib.util.find_spec(place)]
    kinds: tuple[Any, ...] = tuple(module.LogitsProcessor for module in there)

    class Ban(*kinds):
        def __init__(self, config: Any, place: Any, *_: Any) -> None:
            device = getattr(place, "device", place)
            self.banned = torch.tensor(banned, dtype=torch.long, device=device)

        def apply(self, logits: Tensor, *_: Any) -> Tensor:
            return logits.index_fill_(-1, self.banned, -torch.inf)

        def is_argmax_invariant(self) -> bool:
            return False

        def update_state(self, batch_update: Any) -> None:
            """Nothing to do: all requests are alike."""

    return Ban


def end_half_a_load(worker: Any) -> None:
    """Has a worker of vLLM forget the layers of which only a part came, and keep their old weights.

    vLLM else takes that part for one of the next load.
    """
    reload = importlib.import_module("vllm.model_executor.model_loader.reload.layerwise")
    model = worker.model_runner.get_model()
    for layer in model.modules():
        found = reload.get_layerwise_info(layer)
        if found.can_load():
            found.loaded_weights.clear()
            found.load_numel = 0
    reload.finalize_layerwise_reload(model, worker.vllm_config.model_config)


@contextmanager
def as_before() -> Iterator[None]:
    """Leaves the process as it was: random generators, what children inherit, threads; silently."""
    kept = {name: os.environ.get(name) for name in INHERITED}
    numbers, more_numbers, threads = random.getstate(), np.random.get_state(), torch.set_num_threads
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            random.setstate(numbers)
            np.random.set_state(more_numbers)
            torch.set_num_threads = threads
            for name, value in kept.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


@contextmanager
def keeping_group() -> Iterator[None]:
    """Keeps the trainer's process group, which vLLM would end together with its own."""
    end = torch.distributed.destroy_process_group
    torch.distributed.destroy_process_group = lambda group=None: end(group) if group else None
    try:
        yield
    finally:
        torch.distributed.destroy_process_group = end


@contextmanager
def one_line(what: str) -> Iterator[None]:
    """Says in one line what vLLM could not do, and why.

    Args:
        what: The first half of the line.

    Raises:
        SamplerError: In place of what vLLM raised; when memory ran out, with what to lower.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise SamplerError(
            f"{what}: the GPU is out of memory; lower max_num_seqs, max_num_batched_tokens or "
            "gpu_memory_utilization of vLLM, or --max-response-length"
        ) from error
    except AgentsError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SamplerError(f"{what}: {reason[:400]}") from error
