"""LoRA through peft: adapters within a model learn in its stead, and are merged for all others."""

import copy
import json
from collections.abc import Callable, Iterator, Sequence
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
_EYES = r"(.*\.)?(visual|vision_tower|vision_model)(\..*)?"


def attach(model: Any, options: str, seed: int = 0) -> None:
    """Puts adapters into a model, in place, and freezes the rest of it.

    A vision tower gets none unless `exclude_modules` is among the options.

    Source: Hu et al., LoRA (arXiv:2106.09685), section 4.1.

    Args:
        model: In Hugging Face's classes, without adapters.
        options: Arguments of `peft.LoraConfig` as JSON.
        seed: Of the adapters' first weights.

    Raises:
        MissingPackageError: peft is not installed.
        UsageError: In one line, when it does not take the options.
    """
    given = _given(options)
    # What a model looks at is a tower of its own; the paper's setting leaves it as it is.
    sees = hasattr(model.config, "vision_config")
    eyes: dict[str, Any] = {"exclude_modules": _EYES} if sees else {}
    names = list(model.state_dict())
    try:
        from peft import LoraConfig, inject_adapter_in_model

        config = LoraConfig(**(eyes | given))
        with torch.random.fork_rng(), torch.no_grad():
            torch.manual_seed(seed)
            inject_adapter_in_model(config, model, _NAME)
    except ImportError as error:
        raise MissingPackageError(f"--lora needs peft ({error}): pip install peft") from error
    except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError) as error:
        raise _refused(options, " ".join(str(error).split())) from error
    _check(model, options, names)


def _given(options: str) -> dict[str, Any]:
    try:
        given = json.loads(options)
    except json.JSONDecodeError as error:
        raise _refused(options, f"it is no JSON: {error}") from error
    if not isinstance(given, dict):
        example = '{"r": 16, "target_modules": "all-linear"}'
        raise _refused(options, f"it is no JSON object, such as {example}")
    return given


def _check(model: Any, options: str, names: Sequence[str]) -> None:
    """Refuses what could be trained and not be told to a sampler."""
    if model.peft_config[_NAME].lora_dropout > 0:
        raise _refused(options, "ratios of log-probabilities know no lora_dropout: leave it at 0")
    if [name for name, _ in merged(model)] != names:
        raise _refused(options, "merged, the model would have other weights than without adapters")
    ends = model.get_input_embeddings(), model.get_output_embeddings()
    tied = model.config.get_text_config().tie_word_embeddings
    if tied and any(layer in ends for layer in _adapted(model).values()):
        raise _refused(options, "the model's embeddings are tied to its head: adapt neither")


def _refused(options: str, reason: str) -> UsageError:
    return UsageError(f"--lora {options} cannot be had: {reason}")


def is_adapted(model: nn.Module) -> bool:
    """Whether `attach` has put adapters into it."""
    return hasattr(model, "peft_config")


def begins_as_base(options: str) -> bool:
    """Whether a model without its adapters stays the one that they were put into."""
    given = _given(options)
    first = given.get("init_lora_weights", True)
    return given.get("bias", "none") == "none" and first in (True, "gaussian")


def merged(
    model: nn.Module,
    gathered: Callable[[list[Any]], AbstractContextManager[Any]] = lambda _: nullcontext(),
) -> Iterator[tuple[str, Tensor]]:
    """Names and tensors of a model as they are without adapters, what these add included.

    One layer is merged at a time, in a copy and in float32, so the model's own weights keep every
    bit. A model that has no adapters gives its own tensors.

    Args:
        model: With adapters or without.
        gathered: Makes parameters whole that ranks share out, for as long as the context lasts.
    """
    adapted = _adapted(model)
    done: set[str] = set()
    for name, weight in model.state_dict(keep_vars=True).items():
        owner = next((place for place in adapted if name.startswith(f"{place}.")), None)
        if owner is None:
            with gathered([weight]):
                yield name, weight.detach()
        elif owner not in done:
            done.add(owner)
            with gathered(list(adapted[owner].parameters())):
                plain = _merge(adapted[owner])
            yield from ((f"{owner}.{part}", tensor) for part, tensor in plain.items())


def _merge(layer: Any) -> dict[str, Tensor]:
    """The weights of what an adapted layer stands for."""
    dtype = next(layer.parameters()).dtype
    weights = {
        id(p): nn.Parameter(p.detach().to(torch.float32, copy=True), False)
        for p in layer.parameters()
    }
    twin = copy.deepcopy(layer, weights)
    if hasattr(twin, "unload_and_optionally_merge_module"):
        plain = twin.unload_and_optionally_merge_module(True, False, None)
    else:
        twin.merge()
        plain = twin.get_base_layer()
    return {name: weight.detach().to(dtype) for name, weight in plain.state_dict().items()}


@contextmanager
def without(model: nn.Module) -> Iterator[None]:
    """The model as it was before it had adapters, until the end of the context."""
    layers: Any = _layers(model)
    for layer in layers.values():
        layer.enable_adapters(False)
    try:
        yield
    finally:
        for layer in layers.values():
            layer.enable_adapters(True)


def save(folder: Path, model: Any) -> None:
    """Writes the adapters alone as peft reads them: `PeftModel.from_pretrained(base, folder)`."""
    folder.mkdir(parents=True, exist_ok=True)
    config = replace(model.peft_config[_NAME], inference_mode=True)
    config.base_model_name_or_path = model.name_or_path
    config.save_pretrained(str(folder))
    state = {_PREFIX + name: weight.cpu().contiguous() for name, weight in _state(model).items()}
    save_file(state, folder / _WEIGHTS)


def load(folder: Path, model: Any) -> None:
    """Restores what `save` wrote.

    Raises:
        CheckpointError: In one line, when it is of other adapters.
    """
    from peft import set_peft_model_state_dict

    state = {name.removeprefix(_PREFIX): w for name, w in load_file(folder / _WEIGHTS).items()}
    shapes, there = ({name: w.shape for name, w in s.items()} for s in (_state(model), state))
    if shapes != there:
        wrong = sorted(
            name for name in shapes.keys() | there.keys() if shapes.get(name) != there.get(name)
        )[0]
        raise CheckpointError(f"the checkpoint {folder} does not fit these adapters: {wrong}")
    set_peft_model_state_dict(model, state, _NAME)


def _state(model: Any) -> dict[str, Tensor]:
    from peft import get_peft_model_state_dict

    # The embeddings beside their adapters are never needed; to find out, peft would ask the hub.
    return get_peft_model_state_dict(model, adapter_name=_NAME, save_embedding_layers=False)


def _layers(model: nn.Module) -> dict[str, nn.Module]:
    """By name the layers that have adapters, those within others too."""
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper

    kinds: Any = (BaseTunerLayer, AuxiliaryTrainingWrapper)
    return {name: part for name, part in model.named_modules() if isinstance(part, kinds)}


def _adapted(model: nn.Module) -> dict[str, nn.Module]:
    """By name the layers that have adapters; none within another."""
    found: dict[str, nn.Module] = {}
    for name, part in _layers(model).items() if is_adapted(model) else ():
        if not any(name.startswith(f"{place}.") for place in found):
            found[name] = part
    return found
