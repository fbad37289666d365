"""Upload of a model folder to the Hugging Face hub: the model and its card, nothing else."""

from fnmatch import fnmatch
from pathlib import Path

from huggingface_hub import HfApi, get_token
from huggingface_hub.errors import (
    HFValidationError,
    HTTPError,  # pyright: ignore[reportPrivateImportUsage] - of httpx or its successor
)
from huggingface_hub.utils import validate_repo_id

from agents.errors import ModelError, UploadError, UsageError
from agents.storage.digests import check_model
from agents.storage.json_files import read_json

_MODEL_FILES = (
    *("README.md", "config.json", "generation_config.json", "chat_template.jinja"),
    *("model.safetensors", "model-*.safetensors", "model.safetensors.index.json"),
    *("tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt"),
    *("preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"),
)
"""Patterns of the files of a model in Hugging Face format, with its card."""


def check_upload(name: str) -> None:
    """Checks what can be known before a model is trained or read.

    Args:
        name: Of the repository.

    Raises:
        UsageError: It is no name of a repository, or there is no token of the hub.
    """
    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise UsageError(f"--push-to-hub {name!r}: give a name such as you/model") from error
    if get_token() is None:
        raise UsageError(
            f"--push-to-hub {name} needs a token of the hub: run hf auth login, or set HF_TOKEN"
        )


def model_files(folder: Path) -> list[str]:
    """Names of the files of a model, without the optimizer's and other folders.

    Raises:
        ModelError: The folder has no model.
    """
    names = sorted(path.name for path in folder.glob("*") if path.is_file())
    has_code = "config.json" in names and "auto_map" in read_json(folder / "config.json")
    patterns = (*_MODEL_FILES, "*.py") if has_code else _MODEL_FILES
    files = [name for name in names if any(fnmatch(name, each) for each in patterns)]
    if "config.json" not in files or not any(name.endswith(".safetensors") for name in files):
        raise ModelError(f"{folder} has no model: give a checkpoint, such as those of a run")
    return files


def upload(folder: Path, name: str, private: bool | None = None) -> str:
    """Uploads a model in one commit, to a repository that is created if it does not exist.

    Args:
        folder: Of the model, such as a checkpoint.
        name: Of the repository, such as you/model.
        private: Visibility of a new repository; None for the default of its owner.

    Returns:
        URL of the repository.

    Raises:
        UsageError: The name does not fit, or there is no token of the hub.
        ModelError: The folder has no model, or a damaged one.
        UploadError: The hub refuses it or cannot be reached.
    """
    check_upload(name)
    files = model_files(folder)
    check_model(folder)
    api = HfApi()
    try:
        repository = api.create_repo(name, private=private, exist_ok=True)
        api.upload_folder(
            repo_id=repository.repo_id,
            folder_path=folder,
            allow_patterns=files,
            commit_message=f"Upload {folder.name}",
        )
    except (HTTPError, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UploadError(f"{folder} is not uploaded to {name}: {reason}") from error
    return str(repository)
