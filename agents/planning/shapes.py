"""The shape of a model: what its configuration says of its size, without reading a weight."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    Qwen2_5_VLConfig,
    Qwen2Config,
    Qwen3Config,
)

from agents import tiny_model
from agents.engines import attention
from agents.engines.load import LOAD_ERRORS, unavailable_model
from agents.errors import ModelError

TOWERS = ("visual", "vision_tower", "vision_model")


@dataclass(frozen=True)
class Tower:
    """The part of a model that sees."""

    num_weights: int
    layers: int
    hidden: int
    intermediate: int
    heads: int
    patch_size: int
    """Side of a patch in pixels."""
    merge_size: int
    """merge_size² patches make one token of the language model."""


@dataclass(frozen=True)
class Shape:
    """A dense transformer: numbers from its configuration, and weights that were counted."""

    name: str
    num_weights: int
    """All of them; tied embeddings count once."""
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    norms_heads: bool
    """Whether queries and keys are normalised, head by head, as in Qwen3."""
    linear_sides: int
    """Inputs plus outputs of all linear maps in the layers: weights of adapters of rank 1."""
    packs: bool
    """Whether sequences lie in one row, each prompt once; else each is padded to the longest."""
    tower: Tower | None = None


def _text(hidden: int, intermediate: int, layers: int, heads: int, kv_heads: int) -> dict[str, Any]:
    return {
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
    }


def _qwen2_5_vl(text: dict[str, Any], vocabulary: int, tied: bool) -> Qwen2_5_VLConfig:
    vision = {
        **{"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16},
        **{"patch_size": 14, "spatial_merge_size": 2, "window_size": 112},
        **{"fullatt_block_indexes": [7, 15, 23, 31], "out_hidden_size": text["hidden_size"]},
    }
    return Qwen2_5_VLConfig(
        text_config={**text, "vocab_size": vocabulary, "tie_word_embeddings": tied},
        vision_config=vision,
        tie_word_embeddings=tied,
    )


def _qwen3(text: dict[str, Any], tied: bool) -> Qwen3Config:
    return Qwen3Config(**text, head_dim=128, vocab_size=151936, tie_word_embeddings=tied)


def _qwen2(text: dict[str, Any]) -> Qwen2Config:
    return Qwen2Config(**text, vocab_size=151936, tie_word_embeddings=True)


def known() -> dict[str, Any]:
    """Configurations of the default models and their siblings, by their names on the hub.

    So that a plan needs no network. Source: config.json of each on huggingface.co; that the
    weights which they count are the published ones, a test asserts.
    """
    small = _qwen2(_text(1536, 8960, 28, 12, 2))
    return {
        "Qwen/Qwen2.5-VL-7B-Instruct": _qwen2_5_vl(_text(3584, 18944, 28, 28, 4), 152064, False),
        "Qwen/Qwen2.5-VL-3B-Instruct": _qwen2_5_vl(_text(2048, 11008, 36, 16, 2), 151936, True),
        "Qwen/Qwen3-8B": _qwen3(_text(4096, 12288, 36, 32, 8), False),
        "Qwen/Qwen3-4B": _qwen3(_text(2560, 9728, 36, 32, 8), True),
        "Qwen/Qwen3-1.7B": _qwen3(_text(2048, 6144, 28, 16, 8), True),
        "Qwen/Qwen2.5-1.5B-Instruct": small,
        "Qwen/Qwen2.5-1.5B": small,
        "Qwen/Qwen2.5-Math-1.5B": small,
    }


class UnplannableError(ModelError):
    """Raised when a model is of a kind that cannot be planned; it may be trained all the same."""


def read(name: str) -> Shape:
    """The shape of 'tiny', of a model in a folder, or of one on the hub.

    Raises:
        ModelError: In one line, when its configuration cannot be had.
        UnplannableError: It is of another kind.
    """
    if name == "tiny":
        # Its tokenizer is made of the problems' words, which decide a few rows more or less.
        return measure(
            name, tiny_model.config(tiny_model.tokenizer(["How many letters are there?"]))
        )
    if not Path(name).is_dir() and name in known():
        return measure(name, known()[name])
    try:
        return measure(name, AutoConfig.from_pretrained(name))
    except UnplannableError:
        raise
    except LOAD_ERRORS as error:
        raise unavailable_model(name, error) from error


def measure(name: str, config: Any) -> Shape:
    """The shape that a configuration of transformers describes, its weights counted exactly.

    The model is built on torch's meta device, where a tensor has a shape and no storage.

    Raises:
        UnplannableError: It is no transformer of queries, keys, values and dense layers.
    """
    sees = hasattr(config, "vision_config")
    auto = AutoModelForImageTextToText if sees else AutoModelForCausalLM
    with torch.device("meta"):
        model: Any = auto.from_config(config)
    text = config.get_text_config()
    try:
        heads = text.num_attention_heads
        return Shape(
            name=name,
            num_weights=sum(weight.numel() for weight in model.parameters()),
            layers=text.num_hidden_layers,
            hidden=text.hidden_size,
            intermediate=text.intermediate_size,
            heads=heads,
            kv_heads=getattr(text, "num_key_value_heads", None) or heads,
            head_dim=getattr(text, "head_dim", None) or text.hidden_size // heads,
            vocabulary=text.vocab_size,
            norms_heads=any(part.endswith(".q_norm") for part, _ in model.named_modules()),
            linear_sides=_linear_sides(model),
            packs=attention.enable_packing(model),
            tower=_tower(model, config.vision_config) if sees else None,
        )
    except AttributeError as error:
        raise UnplannableError(f"{name} is not of a kind that can be planned: {error}") from error


def _of_tower(name: str) -> bool:
    return any(part in TOWERS for part in name.split("."))


def _linear_sides(model: nn.Module) -> int:
    found = [
        part.in_features + part.out_features
        for name, part in model.named_modules()
        if isinstance(part, nn.Linear) and ".layers." in name and not _of_tower(name)
    ]
    return sum(found)


def _tower(model: nn.Module, vision: Any) -> Tower:
    weights = (weight.numel() for name, weight in model.named_parameters() if _of_tower(name))
    return Tower(
        num_weights=sum(weights),
        layers=getattr(vision, "depth", None) or vision.num_hidden_layers,
        hidden=vision.hidden_size,
        intermediate=vision.intermediate_size,
        heads=getattr(vision, "num_heads", None) or vision.num_attention_heads,
        patch_size=vision.patch_size,
        merge_size=getattr(vision, "spatial_merge_size", 1),
    )
