"""LoRA through peft: adapters inside a model, which are merged for samplers and checkpoints."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from agents.errors import CheckpointError, MissingPackageError, UsageError

ADAPTER = "adapter"
"""Folder within a checkpoint, in the format of peft."""
_WEIGHTS = "adapter_model.safetensors"
_NAME = "default"
_PREFIX = "base_model.model."
"""Before the names of a model that peft wraps, as it saves them."""


def attach(model: Any, options: Mapping[str, Any], seed: int = 0) -> None:
    """Attaches adapters to a model in place and freezes its other weights.

    The options are arguments of `peft.LoraConfig`; a vision tower gets adapters only if they set
    `exclude_modules`. The seed is that of the initial weights.

    Source: Hu et al., LoRA (arXiv:2106.09685), section 4.1.

    Raises:
        MissingPackageError: peft is not installed.
        UsageError: The options are invalid, or the adapters cannot be merged into the model.
    """
    defaults: dict[str, Any] = {}
    if hasattr(model.config, "vision_config"):
        defaults["exclude_modules"] = r"(.*\.)?(visual|vision_tower|vision_model)(\..*)?"
    names = list(model.state_dict())
    try:
        from peft import LoraConfig, inject_adapter_in_model

        config = LoraConfig(**(defaults | dict(options)))
        devices = [model.device.index] if model.device.type == "cuda" else []
        with torch.random.fork_rng(devices), torch.no_grad():
            torch.manual_seed(seed)
            inject_adapter_in_model(config, model, _NAME)
    except ImportError as error:
        raise MissingPackageError(f"--lora needs peft ({error}): pip install peft") from error
    except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError) as error:
        raise _invalid(options, " ".join(str(error).split())) from error
    if model.peft_config[_NAME].lora_dropout > 0:
        raise _invalid(options, "dropout would change the log-probabilities: set lora_dropout to 0")
    if [name for name, _ in merged_weights(model)] != names:
        raise _invalid(options, "the merged model would have other weights than the base model")
    embeddings = model.get_input_embeddings(), model.get_output_embeddings()
    is_tied = getattr(model.config, "tie_word_embeddings", False)
    if is_tied and any(layer in embeddings for layer in _outer_layers(model).values()):
        raise _invalid(options, "the model's embeddings are tied to its head: adapt neither")


def _invalid(options: Mapping[str, Any], reason: str) -> UsageError:
    return UsageError(f"--lora {json.dumps(options, default=str):.200} is invalid: {reason}")


def is_adapted(model: nn.Module) -> bool:
    """True if `attach` has added adapters to the model."""
    return hasattr(model, "peft_config")


def keeps_base_model(options: Mapping[str, Any]) -> bool:
    """True if the trained model, its adapters disabled, is the base model."""
    initialization = options.get("init_lora_weights", True)
    return options.get("bias", "none") == "none" and initialization in (True, "gaussian")


def merged_weights(
    model: nn.Module,
    gathered: Callable[[list[Any]], AbstractContextManager[Any]] = lambda _: nullcontext(),
) -> Iterator[tuple[str, Tensor]]:
    """Names and tensors of the base model with the adapters, if any, merged into them.

    Layers are merged one at a time, in a copy and in float32, so the model's own weights do not
    change. `gathered` is a context that gathers sharded parameters from all ranks.
    """
    layers = _outer_layers(model)
    merged: set[str] = set()
    for name, weight in model.state_dict(keep_vars=True).items():
        owner = next((prefix for prefix in layers if name.startswith(f"{prefix}.")), None)
        if owner is None:
            with gathered([weight]):
                yield name, weight.detach()
        elif owner not in merged:
            merged.add(owner)
            with gathered(list(layers[owner].parameters())):
                plain = _merge(layers[owner])
            yield from ((f"{owner}.{part}", tensor) for part, tensor in plain.items())


def _merge(layer: Any) -> dict[str, Tensor]:
    """Merged weights of an adapted layer, by their names in the base layer."""
    weights = {id(w): nn.Parameter(w.detach().float().clone(), False) for w in layer.parameters()}
    twin = copy.deepcopy(layer, weights)
    if hasattr(twin, "unload_and_optionally_merge_module"):  # of `modules_to_save`
        plain = twin.unload_and_optionally_merge_module(True, False, None)
    else:
        twin.merge()
        plain = twin.get_base_layer()
    dtype = next(layer.parameters()).dtype
    return {name: weight.detach().to(dtype) for name, weight in plain.state_dict().items()}


@contextmanager
def adapters_disabled(model: nn.Module) -> Iterator[None]:
    """Context in which the model runs without its adapters."""
    layers: Any = _layers(model).values()
    for layer in layers:
        layer.enable_adapters(False)
    try:
        yield
    finally:
        for layer in layers:
            layer.enable_adapters(True)


def save_adapters(folder: Path, model: Any) -> None:
    """Writes the adapters for `peft.PeftModel.from_pretrained(base, folder)`."""
    folder.mkdir(parents=True, exist_ok=True)
    config = replace(model.peft_config[_NAME], inference_mode=True)
    config.base_model_name_or_path = model.name_or_path
    config.save_pretrained(str(folder))
    state = {_PREFIX + name: weight.cpu().contiguous() for name, weight in _state(model).items()}
    save_file(state, folder / _WEIGHTS)


def load_adapters(folder: Path, model: Any) -> None:
    """Restores adapters of `save_adapters`; CheckpointError if they are of another shape."""
    from peft import set_peft_model_state_dict

    state = {name.removeprefix(_PREFIX): w for name, w in load_file(folder / _WEIGHTS).items()}
    expected, actual = ({(name, w.shape) for name, w in s.items()} for s in (_state(model), state))
    if different := expected ^ actual:
        name, _ = min(different)
        raise CheckpointError(f"the checkpoint {folder} does not fit these adapters: {name}")
    set_peft_model_state_dict(model, state, _NAME)


def _state(model: Any) -> dict[str, Tensor]:
    from peft import get_peft_model_state_dict

    # Otherwise peft would look up the base model on the hub to decide about the embeddings.
    return get_peft_model_state_dict(model, adapter_name=_NAME, save_embedding_layers=False)


def _layers(model: nn.Module) -> dict[str, nn.Module]:
    """Layers with adapters by name, nested ones included."""
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper

    kinds: Any = (BaseTunerLayer, AuxiliaryTrainingWrapper)
    return {name: part for name, part in model.named_modules() if isinstance(part, kinds)}


def _outer_layers(model: nn.Module) -> dict[str, nn.Module]:
    """Layers with adapters by name, without those inside another."""
    outer: dict[str, nn.Module] = {}
    for name, layer in _layers(model).items() if is_adapted(model) else ():
        if not any(name.startswith(f"{prefix}.") for prefix in outer):
            outer[name] = layer
    return outer
