"""The model of an evaluation, loaded for sampling."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import torch

from agents.engines import RolloutEngine
from agents.engines.chat import Chat
from agents.engines.chat_template import ChatOptions
from agents.engines.load import check_size, load_model, local_device
from agents.engines.model import Policy, Sampling
from agents.engines.pretrained import model_folder
from agents.engines.process import (
    computation_dtype,
    has_half_weights,
    keep_freed_memory,
    set_threads,
)
from agents.engines.transformers import TransformersSampler
from agents.engines.vllm import uses_vllm
from agents.evaluate.arguments import EvaluationArguments
from reasonenv.console import print_line

ALONE = {"gpu_memory_utilization": 0.9, "enable_sleep_mode": False}
"""Options of vLLM on a GPU that no trainer shares."""


@contextmanager
def loaded_sampler(options: EvaluationArguments) -> Iterator[RolloutEngine]:
    """The sampler of an evaluation with the model loaded, closed at the end.

    Raises:
        AgentsError: In one line, when the model or the engine cannot be loaded.
    """
    keep_freed_memory()
    if message := set_threads():
        print(message, file=sys.stderr)
    folder = model_folder(options.model)
    make = _vllm if uses_vllm(options.sampler) else _transformers
    with closing(make(options, folder)) as sampler:
        yield sampler


def _transformers(options: EvaluationArguments, folder: str) -> RolloutEngine:
    device = local_device()
    trust: Any = {"trust_remote_code": options.trust_remote_code}
    check_size(folder, device, trains=False, **trust)
    model, chat = _load(options, folder, device)
    length, batch_size = options.max_response_length, options.sampler_batch_size
    sampling, dtype = _sampling(options, chat.banned), model.dtype
    if dtype == torch.float32:
        dtype = computation_dtype(options.dtype, device, model.num_parameters())
    return TransformersSampler(Policy(model, dtype), chat, sampling, length, batch_size)


def _vllm(options: EvaluationArguments, folder: str) -> RolloutEngine:
    from agents.engines.vllm.sampler import VLLMSampler

    # Only the chat of this copy is used: vLLM reads the weights itself.
    _, chat = _load(options, folder, torch.device("meta"))
    defaults: Any = {"trust_remote_code": options.trust_remote_code}
    defaults |= {} if options.dtype == "auto" else {"dtype": options.dtype}
    defaults |= ALONE if torch.cuda.is_available() else {}
    sampling, length = _sampling(options, chat.banned), options.max_response_length
    given = defaults | options.vllm
    return VLLMSampler(folder, chat, sampling, length, log_probs=False, options=given)


def _load(options: EvaluationArguments, folder: str, device: torch.device) -> tuple[Any, Chat]:
    """The model, in bfloat16 on GPUs unless another is asked for, and its chat."""
    kind = local_device().type
    is_half = kind == "cuda" and has_half_weights(options.dtype, kind)
    model, chat = load_model(
        folder,
        device,
        torch.bfloat16 if is_half else torch.float32,
        options.max_pixels,
        trust_remote_code=options.trust_remote_code,
        chat_options=ChatOptions(options.chat_template, options.stop, options.chat_template_kwargs),
    )
    for line in chat.remarks():
        print_line(line, sys.stderr)
    return model, chat


def _sampling(options: EvaluationArguments, banned: tuple[int, ...]) -> Sampling:
    return Sampling(options.temperature, banned, options.top_p, options.top_k)
