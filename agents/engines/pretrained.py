"""Files of a model as transformers reads them, and an engine's own files in a checkpoint.

A model's Python code runs only with `trust_remote_code`, pickles make tensors only, and whatever is
raised on a file is a `ModelError` or `CheckpointError` of one line.
"""

import os
import pickle
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import torch
from huggingface_hub import constants
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoImageProcessor,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
    GenerationConfig,
)
from transformers.core_model_loading import revert_weight_conversion
from transformers.modeling_utils import load_state_dict
from transformers.utils import logging
from transformers.utils.hub import cached_file

from agents.errors import AgentsError, CheckpointError, ModelError, typed_errors

if not torch.cuda.is_available():
    # transformers imports DeepSpeed if it is installed, which would warn about a missing GPU.
    os.environ.setdefault("DS_ACCELERATOR", "cpu")

EMBEDDED = {name: Path(__file__).parents[1] / name for name in ("tiny", "tiny-tools")}
"""Folders of the models of the package, made by `benchmarks/tiny`: one reads Figures-v2 at levels 1
and 2, the other calls the tools of Sum-v0 and of Zoom-v0 at levels 1 and 2."""
TINY = EMBEDDED["tiny"]


def model_folder(name: str) -> str:
    """The folder of a model of the package; any other name as it is."""
    return str(EMBEDDED.get(name, name))


def load_config(name: str, *, trust_remote_code: bool = False) -> Any:
    """Configuration of a model by its hub name or folder; ModelError if it cannot be loaded."""
    with model_errors(name):
        config = AutoConfig.from_pretrained(name, trust_remote_code=trust_remote_code)
        config.get_text_config()
    kernel = config._attn_implementation
    if not trust_remote_code and "/" in str(kernel):
        raise ModelError(f"{name} needs the code of {kernel!r} on the hub: {_UNTRUSTED}")
    return config


def load_parts(name: str, *, trust_remote_code: bool = False) -> tuple[Any, Any, Any | None]:
    """Configuration, tokenizer and, of a vision model, image processor; see `load_config`."""
    config = load_config(name, trust_remote_code=trust_remote_code)
    images = None
    with model_errors(name):
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=trust_remote_code)
        if hasattr(config, "vision_config"):
            images = AutoImageProcessor.from_pretrained(name, trust_remote_code=trust_remote_code)
    return config, tokenizer, images


def load_pretrained(
    name: str, config: Any, dtype: torch.dtype, *, trust_remote_code: bool = False
) -> Any:
    """Model with all its weights; ModelError if one is missing or has another shape."""
    with model_errors(name):
        model, report = _auto(config).from_pretrained(
            name,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
            weights_only=True,
            # Otherwise the names would stand in a log, and the error would only refer to it.
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
        model.generation_config = _writable(model.generation_config)
    for weight, saved, expected in sorted(report["mismatched_keys"]):
        shapes = f"{list(saved)} and should be {list(expected)}"
        raise ModelError(f"the weights of {name} do not fit its config.json: {weight} is {shapes}")
    if missing := sorted(report["missing_keys"]):
        raise ModelError(
            f"{name} lacks weights that its config.json calls for ({len(missing)}, {missing[0]} "
            "first): it is incomplete, or of another model"
        )
    return model


def _writable(generation: Any) -> Any:
    """A generation configuration that transformers saves: itself, or its ends of a response.

    transformers reads one with a temperature and without `do_sample`, and refuses to save it.
    """
    try:
        generation.validate(strict=True)
    except ValueError:
        ends = ("bos_token_id", "eos_token_id", "pad_token_id", "stop", "stop_strings")
        values = {name: getattr(generation, name, None) for name in ends}
        values = {k: v for k, v in values.items() if not isinstance(v, int) or v >= 0}
        return GenerationConfig(**values)
    return generation


def empty_model(name: str, config: Any, *, trust_remote_code: bool = False) -> nn.Module:
    """Model of a configuration on the meta device: names and shapes of its weights, no memory."""
    with model_errors(name), torch.device("meta"):
        return _auto(config).from_config(config, trust_remote_code=trust_remote_code)


def _auto(config: Any) -> Any:
    return AutoModelForImageTextToText if hasattr(config, "vision_config") else AutoModelForCausalLM


_LAYER = re.compile(r".*?\.\d+\.|.*")


def checkpoint_weights(
    model: Any, weights: Iterable[tuple[str, Tensor]]
) -> Iterator[tuple[str, Tensor]]:
    """Names and tensors as in the checkpoint that was loaded, and tied weights by each name.

    transformers stacks a layer's experts into one tensor and renames modules, for example, and
    vLLM reads the names of checkpoints: of a tied head too, which it would keep otherwise. One
    layer is held at a time, and one weight where transformers converts none. The weights are given
    in the order of the model's `state_dict`.
    """
    converts = getattr(model, "_weight_conversions", None) != []
    for _, items in groupby(weights, lambda x: _LAYER.findall(x[0])[0] if converts else x[0]):
        yield from revert_weight_conversion(model, dict(items)).items()


def check_names(name: str, model: Any) -> None:
    """Raises ModelError if `checkpoint_weights` does not give back the names of its files."""
    tied, state = model.all_tied_weights_keys, model.state_dict()
    own = {key: weight.to("meta") for key, weight in state.items() if key not in tied}
    with model_errors(name):
        folder = Path(str(cached_file(name, "config.json"))).parent
        files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
        saved: dict[str, Tensor] = {}
        for file in files:  # their headers
            saved |= load_state_dict(file, map_location="meta")
        output = dict(checkpoint_weights(model, own.items()))
    different = [k for k, w in output.items() if k not in saved or saved[k].shape != w.shape]
    sizes = [sum(weight.numel() for weight in part.values()) for part in (own, output)]
    if different or sizes[0] != sizes[1]:
        raise ModelError(
            f"transformers does not give the {len(output)} weights of {name} back by the names and "
            f"shapes in its files, by which vLLM takes them ({len(different)} differ, "
            f"{min(different, default='none')} first): use --sampler transformers"
        )


@contextmanager
def hub_offline() -> Iterator[None]:
    """Context, or decorator, in which the hub's cache is read and nothing is requested."""
    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@cache
def _is_reachable(endpoint: str) -> bool:
    """False if the hub's name cannot be resolved, where each request would take half a minute.

    A lookup can take seconds, hence one a process. A proxy may know more names than this machine.
    """
    if getproxies().keys() & {"all", "https"}:
        return True
    try:
        return bool(socket.getaddrinfo(urlsplit(endpoint).hostname, None))
    except OSError:
        return False


@contextmanager
def model_errors(name: str) -> Iterator[None]:
    """Turns errors of any type that transformers raises into a `ModelError`, and mutes its log.

    Without a network a model on the hub is looked for in the cache alone.
    """
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    is_here = Path(name).is_dir() or _is_reachable(constants.ENDPOINT)
    try:
        with nullcontext() if is_here else hub_offline():
            yield
    except (AgentsError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        raise _unavailable_model(name, error) from error
    finally:
        logging.set_verbosity(verbosity)


_UNTRUSTED = "read it, and give --trust-remote-code to run it"


def _unavailable_model(name: str, error: Exception) -> ModelError:
    """Error of one line for a model that cannot be loaded."""
    is_path = name.startswith((".", "/", "~")) or name.count("/") > 1
    if name.endswith(".gguf"):
        reason = (
            "a GGUF file is not read here: AutoModelForCausalLM.from_pretrained(FOLDER, "
            "gguf_file=NAME).save_pretrained(OUT) of transformers, and AutoTokenizer alike, make a "
            "folder of it"
        )
    elif is_path and not Path(name).is_dir():
        reason = "there is no such folder"
    elif "trust_remote_code" in str(error):
        reason = f"it needs Python code that comes with it: {_UNTRUSTED}"
    elif isinstance(error, pickle.UnpicklingError):
        reason = "its weights are a damaged pickle, or one that runs code: save them as safetensors"
    else:
        reason = one_line(error)
    return ModelError(
        f"cannot load the model {name!r}: {reason} (give 'tiny', a folder in Hugging "
        "Face format, or the name of a model on the hub)"
    )


def one_line(error: Exception) -> str:
    """Start of an error's message, after its type where the message alone says little."""
    line, kind = " ".join(str(error).split())[:240], type(error).__name__
    is_explained = isinstance(error, OSError | ValueError | RuntimeError | ImportError)
    return line if is_explained and line else f"{kind}: {line}"


def checkpoint_path(folder: Path, name: str) -> Path:
    """Path of an engine's own file or folder in a checkpoint; CheckpointError without it."""
    if not (folder / name).exists():
        raise CheckpointError(
            f"the checkpoint {folder} has no {name}: it is incomplete or of another engine"
        )
    return folder / name


def read_tensors(path: Path) -> Any:
    """Tensors and plain values in a file of `torch.save`, on the CPU, or a CheckpointError."""
    with checkpoint_errors(path):
        return torch.load(path, map_location="cpu", weights_only=True)


@contextmanager
def checkpoint_errors(path: Path) -> Iterator[None]:
    """Replaces errors in the content of a file or folder of a checkpoint by a `CheckpointError`."""
    try:
        with typed_errors("training"):
            yield
    except (AgentsError, MemoryError):
        raise
    except Exception as error:  # readers raise any on damaged content
        reason = one_line(error)
        if isinstance(error, pickle.UnpicklingError):  # torch's advice would run it
            reason = "a file has more than tensors and plain values, or is damaged"
        raise CheckpointError(f"the checkpoint {path} does not fit this run: {reason}") from error
