"""Models from a name or a folder, and back into a folder."""

from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoImageProcessor,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
)
from transformers.utils import logging

from agents.engines.chat import Chat

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load(name: str, device: torch.device, dtype: torch.dtype, max_pixels: int | None = None) -> tuple[Any, Chat]:
    """A model and its chat, from the hub or from a folder in Hugging Face format.

    Args:
        name: Hub name or folder.
        device: Where the weights go.
        dtype: Of the weights.
        max_pixels: Larger images are shrunk to this area; None keeps the model's own limit.

    Raises:
        ValueError: In one line, when there is no such model here.
    """
    logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(name)
        tokenizer = AutoTokenizer.from_pretrained(name)
        sees = hasattr(config, "vision_config")
        images = AutoImageProcessor.from_pretrained(name) if sees else None
        auto = AutoModelForImageTextToText if sees else AutoModelForCausalLM
        model = auto.from_pretrained(name, dtype=dtype).to(device)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(
            f"cannot load the model {name!r}: {reason} (give 'tiny', a folder in Hugging Face format, "
            "or a hub name that this machine can reach)"
        ) from error
    if images is not None and max_pixels is not None:
        images.size = {"shortest_edge": images.size["shortest_edge"], "longest_edge": max_pixels}
    return model, Chat(tokenizer, images, model.config, model.generation_config)


def load_weights(model: Any, folder: Path) -> None:
    """Replaces the weights of `model` by those in a folder in Hugging Face format.

    Raises:
        ValueError: In one line, when they are of another model.
    """
    saved = type(model).from_pretrained(folder, dtype=model.dtype).state_dict()
    try:
        model.load_state_dict(saved)
    except RuntimeError as error:
        reason = str(error).splitlines()[1].strip() if "\n" in str(error) else str(error)
        raise ValueError(f"the checkpoint {folder} does not fit this model: {reason}") from error


def save(folder: Path, model: Any, chat: Chat, weights: dict[str, torch.Tensor] | None = None) -> None:
    """Writes model, tokenizer and image processor so that `load`, vLLM and transformers can read the folder.

    Args:
        folder: Made if missing.
        model: Its configuration and, unless given, its weights.
        chat: Tokenizer and image processor.
        weights: Full tensors where the model holds only shards.
    """
    model.save_pretrained(folder, state_dict=weights)
    chat.tokenizer.save_pretrained(folder)
    if chat.image_processor is not None:
        chat.image_processor.save_pretrained(folder)
