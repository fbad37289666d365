"""Weights by the names of the checkpoint that was loaded, where transformers has others in memory.

It stacks a layer's experts into one tensor and renames modules, for example. Samplers other than
its own read the names of checkpoints.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers.core_model_loading import revert_weight_conversion
from transformers.modeling_utils import load_state_dict
from transformers.utils.hub import cached_file

from agents.engines.pretrained import model_errors
from agents.errors import ModelError

_LAYER = re.compile(r".*?\.\d+\.|.*")


def checkpoint_weights(
    model: Any, weights: Iterable[tuple[str, Tensor]]
) -> Iterator[tuple[str, Tensor]]:
    """Names and tensors as in the checkpoint, and tied weights by each of their names.

    A vLLM that has packed its head would keep it if the tied one came by the embeddings' name only.
    One layer is held at a time, and one weight where transformers converts none.

    Args:
        model: Of transformers; for one that was not loaded, the checkpoint is that of
            `save_pretrained`.
        weights: By their names in the model's `state_dict`, in its order.
    """
    converts = getattr(model, "_weight_conversions", None) != []
    for _, items in groupby(weights, lambda x: _LAYER.findall(x[0])[0] if converts else x[0]):
        yield from revert_weight_conversion(model, dict(items)).items()


def check_names(name: str, model: Any) -> None:
    """Rejects a model that `checkpoint_weights` does not turn into its checkpoint again.

    Args:
        name: Hub name or folder of the checkpoint.
        model: Loaded from it, with whole weights.

    Raises:
        ModelError: A name or a shape differs, or a weight is missing.
    """
    tied, state = model.all_tied_weights_keys, model.state_dict()
    own = {key: weight.to("meta") for key, weight in state.items() if key not in tied}
    with model_errors(name):
        saved = _shapes(name)
        output = dict(checkpoint_weights(model, own.items()))
    different = [key for key, weight in output.items() if saved.get(key) != weight.shape]
    sizes = [sum(weight.numel() for weight in part.values()) for part in (own, output)]
    if different or sizes[0] != sizes[1]:
        raise ModelError(
            f"transformers does not give the {len(output)} weights of {name} back by the names and "
            f"shapes in its files, by which vLLM takes them ({len(different)} differ, "
            f"{min(different, default='none')} first): use --sampler transformers"
        )


def _shapes(name: str) -> dict[str, torch.Size]:
    """Shapes of the weights in a checkpoint's files, of which the headers are read."""
    folder = Path(str(cached_file(name, "config.json"))).parent
    files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
    return {
        key: weight.shape
        for file in files
        for key, weight in load_state_dict(file, map_location="meta").items()
    }
