"""What gives the responses of an evaluation: a model, loaded onto this machine by either engine."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from agents.cli.settings import Run, json_object
from agents.engines import RolloutEngine
from agents.engines.build import uses_vllm
from agents.engines.load import check_size, load, place
from agents.engines.model import Policy, Sampling
from agents.engines.transformers import TransformersSampler
from agents.evaluation.settings import Evaluate
from agents.sft import cached_tiny_model, recipe


@contextmanager
def sampler(settings: Evaluate) -> Iterator[RolloutEngine]:
    """The sampler that an evaluation asks for, until it has sampled.

    Raises:
        ValueError: In one line, when the model or the engine cannot be had.
    """
    folder = settings.model
    if folder == "tiny":
        env = Run.env if Run.env in settings.env else settings.env[0]
        folder = str(cached_tiny_model(recipe(env, settings.env_options, settings.seed)))
    if uses_vllm(settings.sampler):
        yield from _vllm(settings, folder)
    else:
        yield _transformers(settings, folder)


def _transformers(settings: Evaluate, folder: str) -> RolloutEngine:
    device = place()
    check_size(folder, device, trains=False)
    model, chat = load(folder, device, _dtype(device), settings.max_pixels)
    length, batch_size = settings.max_response_length, settings.sampler_batch_size
    sampling = _sampling(settings, chat.banned)
    return TransformersSampler(Policy(model), chat, sampling, length, batch_size)


def _vllm(settings: Evaluate, folder: str) -> Iterator[RolloutEngine]:
    from agents.engines.vllm.sampler import VLLMSampler

    # Of this copy only the chat is wanted: vLLM reads the weights itself.
    _, chat = load(folder, torch.device("meta"), _dtype(place()), settings.max_pixels)
    made = VLLMSampler(
        folder,
        chat,
        _sampling(settings, chat.banned),
        settings.max_response_length,
        log_probs=False,
        options=json_object("vllm", settings.vllm),
    )
    try:
        yield made
    finally:
        made.close()


def _sampling(settings: Evaluate, banned: tuple[int, ...]) -> Sampling:
    return Sampling(settings.temperature, banned, settings.top_p, settings.top_k)


def _dtype(device: torch.device) -> torch.dtype:
    return torch.bfloat16 if device.type == "cuda" else torch.float32
