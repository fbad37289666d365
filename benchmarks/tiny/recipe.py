"""The stages of a warm start, and the model that they make."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from agents.engines.load import load_model, save_model
from agents.storage.atomic_files import write_atomically
from agents.storage.digests import write_digests
from benchmarks.tiny.stage import Stage, train

Train = Callable[[Any, Path], Path]
"""Trains a stage into a folder, and gives it."""
SLIP = 0.7
"""Probability that a solution of the second stage has a slip."""


def recipe(env_options: str = "{}", seed: int = 0, model: str = "tiny") -> tuple[Stage, Stage]:
    """Stages of a warm start: correct solutions, then slips.

    Args:
        env_options: Arguments of Figures-v2 as JSON, such as '{"level": 2}'.
        seed: Of the weights and of the order of the problems.
        model: "tiny" or "small".
    """
    options = json.loads(env_options)
    variant = {name: options[name] for name in ("level", "families", "scale") if name in options}
    clean = Stage(model=model, seed=seed, env_options=json.dumps(variant))
    if model == "small":
        clean = replace(clean, batch_size=256, num_steps=3000, learning_rate=5e-4)
    slips = json.dumps({**variant, "slip": SLIP, "problem_seed": 1})
    brief = {"num_steps": 300, "learning_rate": 3e-4, "balance": False}
    return clean, replace(clean, env_options=slips, **brief)


def make(stages: Sequence[Any], folder: Path, train: Train = train) -> Path:
    """Trains stages into `folder/stage-1`, `folder/stage-2`, ..., and gives the last one."""
    model = folder
    for number, stage in enumerate(stages, 1):
        later = replace(stage, model=str(model)) if number > 1 else stage
        model = train(later, folder / f"stage-{number}")
    return model


def recipe_rows(stages: Sequence[Any]) -> list[dict[str, Any]]:
    """The settings of stages that determine their numbers."""
    rows = [asdict(stage) | {"optimizer": "muon"} for stage in stages]
    return [rows[0], *(row | {"model": "that of the stage before"} for row in rows[1:])]


def pack(stages: Sequence[Any], folder: Path, train: Train = train) -> Path:
    """Trains stages, and writes the last model in float16, with its recipe, to `folder/model`."""
    model, chat = load_model(str(make(stages, folder, train)), torch.device("cpu"), torch.float16)
    goal = folder / "model"
    save_model(goal, model, chat)
    content = json.dumps(recipe_rows(stages), indent=1) + "\n"
    write_atomically(goal / "recipe.json", content.encode())
    write_digests(goal)
    return goal
