"""Shape of a model: its sizes by its configuration, without reading a weight."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import LlamaConfig, Qwen2_5_VLConfig, Qwen2Config, Qwen3Config

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


_SMALL = (Qwen2Config, 1536, 8960, 28, 12, 2, 151936, True)
_SMOL = (LlamaConfig, 576, 1536, 30, 9, 3, 49152, True)
KNOWN: dict[str, tuple[Any, ...]] = {
    "Qwen/Qwen2.5-VL-7B-Instruct": (Qwen2_5_VLConfig, 3584, 18944, 28, 28, 4, 152064, False),
    "Qwen/Qwen2.5-VL-3B-Instruct": (Qwen2_5_VLConfig, 2048, 11008, 36, 16, 2, 151936, True),
    "Qwen/Qwen3-8B": (Qwen3Config, 4096, 12288, 36, 32, 8, 151936, False),
    "Qwen/Qwen3-4B": (Qwen3Config, 2560, 9728, 36, 32, 8, 151936, True),
    "Qwen/Qwen3-1.7B": (Qwen3Config, 2048, 6144, 28, 16, 8, 151936, True),
    "Qwen/Qwen2.5-1.5B-Instruct": _SMALL,
    "Qwen/Qwen2.5-1.5B": _SMALL,
    "Qwen/Qwen2.5-Math-1.5B": _SMALL,
    "HuggingFaceTB/SmolLM2-135M-Instruct": _SMOL,
    "HuggingFaceTB/SmolLM2-135M": _SMOL,
}
"""The default models and their siblings, so that a plan needs no network.

Source: config.json of each on huggingface.co; a test compares their weights with published counts.
"""


def _known_config(name: str) -> Any:
    kind, hidden, intermediate, layers, heads, kv_heads, vocabulary, tied = KNOWN[name]
    text: dict[str, Any] = {
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": vocabulary,
        "tie_word_embeddings": tied,
    }
    if kind is Qwen2_5_VLConfig:
        vision = {"hidden_size": 1280, "out_hidden_size": hidden}
        return kind(text_config=text, vision_config=vision, tie_word_embeddings=tied)
    return kind(**text, **({"head_dim": 128} if kind is Qwen3Config else {}))


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
        return shape_of(name, _known_config(name))
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
