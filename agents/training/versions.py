"""Copies of the weights with which rollouts under way are sampled, in a checkpoint."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

from agents.engines.pretrained import checkpoint_errors, checkpoint_path
from agents.engines.sampler_process import Weights

VERSIONS = "versions.safetensors"
"""File within a checkpoint."""


def save_versions(folder: Path, versions: Mapping[int, Weights], step: int) -> None:
    """Writes the weights of the updates before `step`, whose own are those of the checkpoint."""
    tensors = {
        f"{version}/{name}": weight
        for version, weights in versions.items()
        for name, weight in weights.items()
        if version < step
    }
    save_file(tensors, folder / VERSIONS)


def load_versions(folder: Path) -> dict[int, Weights]:
    """The weights of `save_versions`, by update.

    Raises:
        CheckpointError: The file is missing or damaged.
    """
    path = checkpoint_path(folder, VERSIONS)
    versions: dict[int, dict[str, Tensor]] = defaultdict(dict)
    with checkpoint_errors(path):
        for key, weight in load_file(path).items():
            version, _, name = key.partition("/")
            versions[int(version)][name] = weight
    return dict(versions)
