"""Files of a model as transformers reads them: without running its code, with errors of one line.

A model's folder is as foreign as a download: its files are checked before they are opened, its
Python code runs only with `trust_remote_code`, and whatever transformers raises on it is a
`ModelError`.
"""

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from torch import nn
from transformers import (
    AutoConfig,
    AutoImageProcessor,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
    GenerationConfig,
)
from transformers.utils import logging

from agents.errors import AgentsError, ModelError
from agents.storage.json_files import read_json

if not torch.cuda.is_available():
    # transformers imports DeepSpeed if it is installed, which would warn about a missing GPU.
    os.environ.setdefault("DS_ACCELERATOR", "cpu")

TINY = Path(__file__).parents[1] / "tiny"
"""Folder of the tiny model, which reads Figures-v2 at levels 1 and 2, made by `benchmarks/tiny`."""


def model_folder(name: str) -> str:
    """The folder of the model that is called tiny; any other name as it is."""
    return str(TINY) if name == "tiny" else name


def load_config(name: str, *, trust_remote_code: bool = False) -> Any:
    """Configuration of a model, whose files are checked first if it is a folder.

    Args:
        name: Hub name or folder.
        trust_remote_code: True to run Python code that the model brings.

    Raises:
        ModelError: It cannot be loaded, or needs code that is not trusted.
    """
    _check_files(name)
    with model_errors(name):
        config = AutoConfig.from_pretrained(name, trust_remote_code=trust_remote_code)
        parts = config, config.get_text_config(), getattr(config, "vision_config", None)
    for part in parts:
        _check_sizes(name, part)
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
        tokenizer.encode("1")  # which fails on settings that are no numbers, for example
        if hasattr(config, "vision_config"):
            images = AutoImageProcessor.from_pretrained(name, trust_remote_code=trust_remote_code)
    return config, tokenizer, images


def load_pretrained(
    name: str, config: Any, dtype: torch.dtype, *, trust_remote_code: bool = False
) -> Any:
    """Model with all its weights; see `load_config`.

    Raises:
        ModelError: A weight is missing or has another shape, or a file is damaged.
    """
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
    """A generation configuration that transformers writes again.

    It reads one with a temperature and without `do_sample`, for example, and refuses to save it:
    of such a one, end tokens and their kin remain. Nothing here samples by the others.
    """
    try:
        generation.validate(strict=True)
    except ValueError:
        values = {name: getattr(generation, name, None) for name in _KEPT}
        values = {k: v for k, v in values.items() if not isinstance(v, int) or v >= 0}
        return GenerationConfig(**values)
    return generation


_KEPT = ("bos_token_id", "eos_token_id", "pad_token_id", "stop", "stop_strings")
"""Entries of a generation configuration about the ends of a response."""


def empty_model(name: str, config: Any, *, trust_remote_code: bool = False) -> nn.Module:
    """Model of a configuration on the meta device: names and shapes of its weights, no memory.

    Raises:
        ModelError: There is no model of this configuration.
    """
    with model_errors(name), torch.device("meta"):
        return _auto(config).from_config(config, trust_remote_code=trust_remote_code)


def _auto(config: Any) -> Any:
    return AutoModelForImageTextToText if hasattr(config, "vision_config") else AutoModelForCausalLM


@contextmanager
def model_errors(name: str) -> Iterator[None]:
    """Turns what transformers raises on a model's files into a `ModelError`, and mutes its log.

    It raises errors of any type, tokenizers a plain `Exception`; so the context encloses a call of
    transformers and nothing else.

    Args:
        name: Hub name or folder of the model.
    """
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    except (AgentsError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        raise unavailable_model(name, error) from error
    finally:
        logging.set_verbosity(verbosity)


_SIZES = dict.fromkeys(("num_hidden_layers", "depth", "num_attention_heads", "num_heads"), 1000) | {
    **dict.fromkeys(("num_key_value_heads", "patch_size", "spatial_merge_size"), 1000),
    **dict.fromkeys(("hidden_size", "intermediate_size", "head_dim", "vocab_size"), 2**31),
}
"""Largest value of each size in a configuration; the smallest is 1."""
_UNTRUSTED = "read it, and give --trust-remote-code to run it"
_PICKLED = "its weights are a damaged pickle, or one that runs code: save them as safetensors"
_EXPLAINED = (OSError, ValueError, RuntimeError, ImportError, StrictDataclassError)
"""Errors whose message says enough without their type."""


def unavailable_model(name: str, error: Exception) -> ModelError:
    """Error of one line for a model that cannot be loaded."""
    looks_like_folder = name.startswith((".", "/", "~")) or name.count("/") > 1
    if looks_like_folder and not Path(name).is_dir():
        reason = "there is no such folder"
    elif "trust_remote_code" in str(error):
        reason = f"it needs Python code that comes with it: {_UNTRUSTED}"
    elif isinstance(error, pickle.UnpicklingError):
        reason = _PICKLED
    elif isinstance(error, _EXPLAINED):
        reason = one_line(error)
    else:
        reason = (
            f"a file is damaged, or of a kind that transformers does not read: {one_line(error)}"
        )
    return ModelError(
        f"cannot load the model {name!r}: {reason} (give 'tiny', a folder in Hugging "
        "Face format, or the name of a model on the hub)"
    )


def one_line(error: Exception) -> str:
    """Start of an error's message, after its type where the message alone says little.

    The message may quote a model's files, so it is stripped of what a terminal would obey.
    """
    message = "".join(c for c in " ".join(str(error).split()) if c.isprintable())
    line, kind = message[:240], type(error).__name__
    is_explained = line and isinstance(error, _EXPLAINED)
    return line if is_explained else f"{kind}: {line}" if line else kind


def _check_sizes(name: str, config: Any) -> None:
    """Rejects sizes for which there is no model, or none that could be built in reasonable time."""
    for key, maximum in _SIZES.items():
        value = getattr(config, key, None)
        if isinstance(value, int) and not 1 <= value <= maximum:
            raise ModelError(
                f"{name} has {key} {value} in its config.json: it takes 1 to {maximum}"
            )


def _check_files(name: str) -> None:
    """Rejects a folder with a file that never ends, or whose index names a file elsewhere."""
    folder = Path(name)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ModelError(f"{path} is no regular file: remove it")
        if path.is_file() and path.name.endswith(".index.json"):
            _check_index(path)


def _check_index(path: Path) -> None:
    """Rejects the index of weights in several files unless it names files of its own folder."""
    files = read_json(path).get("weight_map")
    if not isinstance(files, dict) or not files:
        raise ModelError(f"{path} has no weight_map: it is damaged")
    for file in files.values():
        if not isinstance(file, str) or Path(file).name != file:
            raise ModelError(
                f"{path} names {file!r}, which is no file of its folder: do not use it"
            )
