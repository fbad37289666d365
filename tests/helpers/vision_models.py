"""Small models with a vision tower, one of each of Qwen's kinds."""

from pathlib import Path
from typing import Any

import torch
from transformers import (
    GenerationConfig,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLMoeConfig,
    Qwen3VLMoeForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from benchmarks.tiny import model as tiny_model

TEXT = {
    **{"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "vocab_size": 64},
    **{"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32},
    **{"bos_token_id": None, "eos_token_id": None, "pad_token_id": None},
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 6, 6]},
    **{"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
}
EYES = {"intermediate_size": 48, "num_heads": 2, "patch_size": 14, "out_hidden_size": 64}
WINDOWS = {"hidden_size": 32, "window_size": 56, "fullatt_block_indexes": [1]}
KINDS = {
    "Qwen2.5-VL": (Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, EYES | WINDOWS),
    "Qwen2-VL": (
        Qwen2VLConfig,
        Qwen2VLForConditionalGeneration,
        {"embed_dim": 32, "hidden_size": 64, "num_heads": 2, "mlp_ratio": 2},
    ),
    "Qwen3-VL": (
        Qwen3VLConfig,
        Qwen3VLForConditionalGeneration,
        EYES | {"hidden_size": 32, "deepstack_visual_indexes": [0]},
    ),
    "Qwen3-VL-MoE": (
        Qwen3VLMoeConfig,
        Qwen3VLMoeForConditionalGeneration,
        EYES | {"hidden_size": 32, "deepstack_visual_indexes": [0]},
    ),
}
"""Configuration, model, and configuration of the vision tower."""
NAMES = {
    "image": "<|image_pad|>",
    "video": "<|video_pad|>",
    "vision_start": "<|vision_start|>",
    "vision_end": "<|vision_end|>",
}
"""Tokens about images."""


def make(kind: str, depth: int = 2) -> Any:
    """An untrained model in float64 with `depth` vision layers, from one seed."""
    config, model_class, vision = KINDS[kind]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = model_class(config(text_config=TEXT, vision_config=vision | {"depth": depth}))
    return model.double().eval()


def write(folder: Path, kind: str, words: str = "What is the sum? How many?") -> Path:
    """A model of four text and four vision layers, random, with tokenizer and image processor.

    With DeepStack, three of the vision layers have features for the text layers.
    """
    config, model_class, vision = KINDS[kind]
    tokens = tiny_model.tokenizer([words])
    ids = {f"{name}_token_id": tokens.convert_tokens_to_ids(token) for name, token in NAMES.items()}
    text = TEXT | {"num_hidden_layers": 4, "vocab_size": len(tokens), "pad_token_id": 0}
    vision = vision | {"depth": 4}
    if "deepstack_visual_indexes" in vision:
        vision |= {"deepstack_visual_indexes": [0, 1, 2], "patch_size": 16}
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model = model_class(config(text_config=text, vision_config=vision, **ids))
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn(weight.shape))
    model.generation_config = GenerationConfig(eos_token_id=tokens.eos_token_id)
    side = 2 * model.config.vision_config.patch_size
    size = {"shortest_edge": side**2, "longest_edge": 64 * side**2}
    images = Qwen2VLImageProcessorPil(patch_size=side // 2, size=size)
    for part in (model, tokens, images):
        part.save_pretrained(folder)
    return folder
