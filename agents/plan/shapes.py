"""Shape of a model: its sizes by its configuration, without reading a weight."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from agents.engines import attention
from agents.engines.pretrained import empty_model, load_config, model_folder
from agents.errors import ModelError


@dataclass(frozen=True)
class Tower:
    """Vision tower of a model."""

    num_weights: int
    layers: int
    hidden: int
    intermediate: int
    heads: int
    patch_size: int
    """Side of a patch in pixels."""
    merge_size: int
    """merge_size² patches become one token of the language model."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a dense transformer."""

    name: str
    num_weights: int
    """Tied embeddings count once."""
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    norms_heads: bool
    """True if queries and keys are normalised per head, as in Qwen3."""
    packs: bool
    """True if sequences are packed into one row, each prompt once; else they are padded."""
    tower: Tower | None = None


KNOWN: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("known_models.json").read_text(encoding="utf-8")
)
"""Sizes of the default models and their siblings, so that a plan needs no network.

Source: config.json of each on huggingface.co; a test compares their weights with published counts.
"""


class UnplannableError(ModelError):
    """Raised when a model is of a kind that cannot be planned; it may be trained all the same."""


def read_shape(name: str, *, trust_remote_code: bool = False) -> Shape:
    """The shape of the tiny model, of one in a folder, or of one on the hub.

    Args:
        name: Of the model.
        trust_remote_code: True to run Python code that the model brings.

    Raises:
        ModelError: In one line, when its configuration cannot be loaded.
        UnplannableError: It is no dense transformer.
    """
    if not Path(name).is_dir() and name in KNOWN:
        return shape_of(name, AutoConfig.for_model(**KNOWN[name]))
    config = load_config(model_folder(name), trust_remote_code=trust_remote_code)
    return shape_of(name, config, trust_remote_code=trust_remote_code)


def shape_of(name: str, config: Any, *, trust_remote_code: bool = False) -> Shape:
    """The shape of a configuration of transformers; its weights are counted on the meta device."""
    model: Any = empty_model(name, config, trust_remote_code=trust_remote_code)
    text, vision = config.get_text_config(), getattr(config, "vision_config", None)
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
            packs=attention.enable_packing(model),
            tower=None if vision is None else _tower(model, vision),
        )
    except AttributeError as error:
        raise UnplannableError(
            f"{name} is no dense transformer, which a plan needs: {error}"
        ) from error


def _tower(model: Any, vision: Any) -> Tower:
    names = {"visual", "vision_tower", "vision_model"}
    return Tower(
        sum(w.numel() for name, w in model.named_parameters() if names & set(name.split("."))),
        layers=getattr(vision, "depth", None) or vision.num_hidden_layers,
        hidden=vision.hidden_size,
        intermediate=vision.intermediate_size,
        heads=getattr(vision, "num_heads", None) or vision.num_attention_heads,
        patch_size=vision.patch_size,
        merge_size=getattr(vision, "spatial_merge_size", 1),
    )
