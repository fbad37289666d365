"""Small models with a vision tower, one of each of Qwen's kinds."""

from typing import Any

import torch
from transformers import (
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

TEXT = {
    **{"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "vocab_size": 64},
    **{"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32},
    **{"bos_token_id": None, "eos_token_id": None, "pad_token_id": None},
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 6, 6]},
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
}
"""Configuration, model, and configuration of the vision tower."""


def make(kind: str, depth: int = 2) -> Any:
    """An untrained model in float64 with `depth` vision layers, from one seed."""
    config, model_class, vision = KINDS[kind]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = model_class(config(text_config=TEXT, vision_config=vision | {"depth": depth}))
    return model.double().eval()
