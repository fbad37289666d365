"""The model of a command: a run's directory as one, and whether it reads the problems."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.cli.settings import environment_options
from agents.engines import ranks
from agents.errors import UsageError
from agents.monitoring.logs import best_step
from agents.storage import checkpoints
from agents.storage.provenance import recorded_settings
from reasonenv.console import print_line
from reasonenv.datasets import has_images
from reasonenv.problem import Problem
from reasonenv.registration import find

ABILITIES = {"tiny": "reads Figures-v2", "tiny-tools": "calls the tools of Sum-v0, and of Zoom-v0"}


def checkpoint_of(model: str, flag: str = "--model") -> str:
    """The best kept or else the last checkpoint of a run's directory; other models as they are.

    Prints a line that says which, on rank 0.

    Raises:
        UsageError: The run has no checkpoint yet.
        CheckpointError: Each of its checkpoints is damaged.
    """
    folder = Path(model)
    if not (folder / "run.json").is_file():
        return model
    metric = recorded_settings(folder).get("keep_best")
    best = best_step(folder, metric, checkpoints.steps(folder)) if metric else None
    checkpoint = checkpoints.path_of(folder, best) if best else checkpoints.latest(folder)
    if checkpoint is None:
        raise UsageError(f"{flag} {model}: this run has no checkpoint yet")
    which = f"the best by {metric}" if best else "the last"
    if ranks()[0] == 0:
        print_line(f"{flag[2:]}: {checkpoint}, {which} checkpoint of the run", sys.stderr)
    return str(checkpoint)


def check_suits(settings: Any, env: str, problems: Sequence[Problem]) -> str:
    """Checks, by its configuration alone, that a model reads the problems of an environment.

    Args:
        settings: Of the command: `model`, `trust_remote_code`, `env_options`, `data`.
        env: Id of the environment.
        problems: Its problems.

    Returns:
        A line on a model of the package where it is not the environment's own; else "".

    Raises:
        UsageError: It reads text alone, and the problems have images.
        ModelError: Its configuration cannot be loaded.
    """
    from agents.engines.pretrained import load_config, model_folder

    name, trust = settings.model, settings.trust_remote_code
    fitting = find(env).default_model(environment_options(settings.env_options, settings.data))
    config = load_config(model_folder(name), trust_remote_code=trust)
    if not hasattr(config, "vision_config") and has_images(problems):
        raise UsageError(
            f"--model {name} reads text alone, and problems of {env} have images: give a "
            f"vision-language model, such as {fitting}"
        )
    if name not in ABILITIES or fitting == name:
        return ""
    return f"the model {name} {ABILITIES[name]} at levels 1 and 2 alone: for {env} take {fitting}"
