"""Loading and saving of models and checkpoints in Hugging Face format."""

import os
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers.utils import logging

from agents.engines import attention, lora
from agents.engines.chat import Chat
from agents.engines.chat_template import ChatOptions, save_stop_strings
from agents.engines.model import Policy
from agents.engines.pretrained import (
    empty_model,
    load_config,
    load_parts,
    load_pretrained,
    model_errors,
)
from agents.engines.sampling import Row, Sampling, collate
from agents.errors import ModelError, UsageError
from agents.rollout import Prompt
from agents.storage.digests import check_model

_TOLERANCE = 1e-3
"""Largest mean difference of a response in nats, or `_ROUNDING` times the precision if more."""
_ROUNDING = 64
"""So .5 nats in bfloat16, where SmolLM2-135M differs by .07, and .06 in float16, where by .009."""


def local_device() -> torch.device:
    """Device of this process: the one with its local rank, or the only one that it was given."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if count == 1 and "CUDA_VISIBLE_DEVICES" in os.environ and "LOCAL_RANK" in os.environ:
        # A launcher gave each rank a GPU of its own; DeepSpeed and vLLM ask the environment.
        os.environ["LOCAL_RANK"] = "0"
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    if rank >= count:
        raise UsageError(
            f"local rank {rank} has no device: this machine has {count}; "
            f"start torchrun with --nproc-per-node {count}"
        )
    torch.cuda.set_device(rank)
    return torch.device("cuda", rank)


def load_model(
    name: str,
    device: torch.device,
    dtype: torch.dtype,
    max_pixels: int | None = None,
    *,
    trust_remote_code: bool = False,
    chat_options: ChatOptions | None = None,
) -> tuple[Any, Chat]:
    """Loads a model and its chat from the hub or from a folder in Hugging Face format.

    Images of an area above `max_pixels`, by default the model's own limit, are resized to it.

    Raises:
        ModelError: The model cannot be loaded, or its parts do not fit each other.
        UsageError: The user's chat template cannot be read.
    """
    logging.disable_progress_bar()
    check_model(Path(name))
    config, tokenizer, images = load_parts(name, trust_remote_code=trust_remote_code)
    model = load_pretrained(name, config, dtype, trust_remote_code=trust_remote_code).to(device)
    fit_images(name, images, config, max_pixels)
    chat = Chat(tokenizer, images, model.config, model.generation_config, chat_options)
    _check_forward(name, model, chat)
    return model, chat


def fit_images(name: str, images: Any | None, config: Any, max_pixels: int | None) -> None:
    """Sets the largest size of images; None for the limit of the image processor.

    ModelError if that is of another kind than Qwen2-VL's, or does not fit the vision tower.
    """
    if images is None:
        return
    vision = config.vision_config
    if not hasattr(vision, "spatial_merge_size"):
        raise ModelError(
            f"{name}, a {config.model_type}, reads images in a way that is not known here: choose "
            "one of Qwen2-VL's kind, such as Qwen3-VL"
        )
    expected = {"patch_size": vision.patch_size, "merge_size": vision.spatial_merge_size}
    values = {key: getattr(images, key, None) for key in expected}
    if values != expected or "shortest_edge" not in images.size:
        raise ModelError(
            f"the image processor of {name}, a {type(images).__name__} with {values}, does not fit "
            f"its vision tower with {expected}"
        )
    if max_pixels is not None:
        least = images.size["shortest_edge"]
        images.size = {"shortest_edge": least, "longest_edge": max_pixels}


def _check_forward(name: str, model: Any, chat: Chat) -> None:
    """Compares `Policy` with a model's own forward pass, with `eager` attention.

    Sampler and trainer share its code, so their parity does not show what it leaves out.
    """
    tokens = chat.check()
    if model.device.type == "meta":
        return
    prompts = [Prompt(tokens)]
    if chat.image_processor is not None:
        prompts.append(_with_image(model, chat, tokens))
    with torch.no_grad(), model_errors(name):
        with attention.eager(model):
            expected = torch.stack([_log_prob(model, prompt, tokens) for prompt in prompts])
        if not expected.isfinite().all():
            raise ModelError(
                f"{name} gives values that are not finite: a file of it is damaged, or its "
                "training has diverged"
            )
        # Two to each prompt, of which one is the start of the other.
        rows = [Row(list(tokens)), Row(list(tokens[: 1 + len(tokens) // 2]))] * len(prompts)
        pairs = tuple(prompt for prompt in prompts for _ in range(2))
        responses = collate(pairs, rows, chat.ended, log_probs=False)
        actual = Policy(model)(responses, Sampling())[0]
    error = (actual - expected.repeat_interleave(2, 0)).abs().cpu() * responses.mask
    largest, row = (error.sum(1) / responses.lengths).max(0)
    if not largest <= max(_TOLERANCE, _ROUNDING * torch.finfo(model.dtype).eps):
        raise ModelError(
            f"{name}, a {model.config.model_type}, computes log-probabilities after "
            f"{'an image' if row >= 2 else 'text'} in a way that is not known here "
            f"({largest:.2g} nats apart): choose another model"
        )


def _with_image(model: Any, chat: Chat, tokens: tuple[int, ...]) -> Prompt:
    """A prompt that begins with an image, without the chat template, which may know none."""
    image = np.random.default_rng(0).integers(0, 256, (56, 56, 3), np.uint8)
    pixels, grid = chat.patches([image])
    size = int(grid.prod()) // chat.image_processor.merge_size**2
    return Prompt((model.config.image_token_id,) * size + tokens, pixels, grid)


def _log_prob(model: Any, prompt: Prompt, response: tuple[int, ...]) -> Tensor:
    """Log-probability of each token of a response, by the model itself."""
    tokens = torch.tensor([prompt.token_ids + response], device=model.device)
    images: dict[str, Tensor] = {}
    if prompt.pixel_values is not None and prompt.image_grid_thw is not None:
        images = {"pixel_values": prompt.pixel_values, "image_grid_thw": prompt.image_grid_thw}
        images = {key: part.to(model.device) for key, part in images.items()}
        images["mm_token_type_ids"] = (tokens == model.config.image_token_id).int()
    logits = model(tokens, use_cache=False, **images).logits[0, len(prompt.token_ids) - 1 : -1]
    return logits.float().log_softmax(-1).gather(-1, tokens[0, -len(response) :, None])[:, 0]


def save_model(
    folder: Path, model: Any, chat: Chat, weights: dict[str, Tensor] | None = None
) -> None:
    """Writes model, tokenizer and image processor in Hugging Face format to a folder.

    Adapters are merged into the model, and also written to a folder of their own. `weights` are the
    full tensors of a sharded model; None for those of the model.
    """
    if lora.is_adapted(model):
        lora.save_adapters(folder / lora.ADAPTER, model)
        weights = weights or dict(lora.merged_weights(model))
    save_stop_strings(model.generation_config, chat.stop)
    model.save_pretrained(folder, state_dict=weights and _with_ties(model, weights))
    chat.tokenizer.save_pretrained(folder)
    if chat.image_processor is not None:
        chat.image_processor.save_pretrained(folder)


def _with_ties(model: Any, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights of a model with one tensor for those that are tied, which is then saved once."""
    first: dict[int, str] = {}
    own = model.state_dict(keep_vars=True).items()
    names = {name: first.setdefault(id(weight), name) for name, weight in own}
    return {name: weights[names.get(name, name)] for name in weights}


def apply_liger(model: Any) -> bool:
    """Patches a model with Liger's fused kernels: normalisation, gated MLP, rotary embedding.

    False, with the model unchanged, if it is not on a GPU, or Liger is not installed or does not
    support its type. The fused cross-entropy, which changes outputs, stays off.
    """
    if model.device.type != "cuda" or find_spec("liger_kernel") is None:
        return False
    patches = import_module("liger_kernel.transformers.monkey_patch").MODEL_TYPE_TO_APPLY_LIGER_FN
    patch = patches.get(model.config.model_type)
    if patch is None:
        return False
    losses = {"cross_entropy", "fused_linear_cross_entropy"} & signature(patch).parameters.keys()
    patch(model=model, **dict.fromkeys(losses, False))
    modeling = import_module(type(model).__module__)
    is_multimodal = model.config.model_type in ("qwen2_vl", "qwen2_5_vl")
    if is_multimodal and hasattr(modeling, "apply_rotary_pos_emb"):
        # Liger 0.8 patches its multimodal variant, which transformers 5.17 does not have.
        rope = import_module("liger_kernel.transformers.rope")
        modeling.apply_rotary_pos_emb = rope.liger_rotary_pos_emb  # pyright: ignore
    return True


def check_size(
    name: str, device: torch.device, *, trains: bool, trust_remote_code: bool = False
) -> None:
    """Raises ModelError for a model that does not fit in the memory of a machine without a GPU.

    It takes float32 weights and, if it `trains` with AdamW, a gradient and two moments per weight.
    """
    if device.type != "cpu":
        return
    config = load_config(name, trust_remote_code=trust_remote_code)
    model = empty_model(name, config, trust_remote_code=trust_remote_code)
    count = sum(parameter.numel() for parameter in model.parameters())
    size = (16 if trains else 4) * count / 2**30
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    if size > memory:
        raise ModelError(
            f"{name} has {count / 1e9:.1f} billion weights, which need about {size:.0f} GiB: "
            f"this machine has {memory:.0f} GiB and no GPU; use a machine with a GPU, or "
            "--model tiny"
        )
