"""Default settings of a training run, which follow from the environment and the model."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agents.cli.settings import Run
from reasonenv.registration import find

PAPER = {
    "num_steps": 610,
    "num_prompts": 128,
    "microbatch_size": 1,
    "tokens_per_microbatch": 16384,
    "sampler_batch_size": 32,
    "max_response_length": 4096,
    "max_pixels": 640 * 28 * 28,
    "learning_rate": 1e-6,
    "freeze_vision": True,
    "gradient_checkpointing": True,
}
"""The released CPGD scripts: five passes over the 15,616 problems of MMK12, 128 at a time."""
LAPTOP = {
    "num_steps": 100,
    "num_prompts": 16,
    "microbatch_size": 16,
    "sampler_batch_size": 128,
    "max_response_length": 256,
    "learning_rate": 3e-5,
    "num_test_problems": 200,
}
"""A pretrained model of some 100 million weights on a CPU: of 1e-5 to 2e-4, the rate at which
SmolLM2-135M-Instruct learns word problems and answers held-out ones nearly as well as its own."""
SHORT = {
    "WordProblems-v0": {
        "num_steps": 60,
        "num_prompts": 8,
        "minibatch_size": 64,
        "max_response_length": 40,
        "overlong_buffer": 16,
    }
}
"""Defaults of environments with short answers, where `LAPTOP` has others: a quarter of an hour on
one core. With a limit alone, some runs end with responses that are all cut off there."""
EPISODES = {"num_steps": 100}
"""Defaults of a tiny model on problems with tools, which take more turns and fewer steps."""
TINY_WIDTH, LAPTOP_WIDTH = 256, 640
"""Largest hidden sizes of models that have the defaults of the tiny model, and `LAPTOP`."""
WIDTHS: dict[str, float] = {
    "tiny": 128,
    "tiny-tools": 128,
    "HuggingFaceTB/SmolLM2-135M-Instruct": 576,
    "HuggingFaceTB/SmolLM2-135M": 576,
}
"""Hidden sizes of the models of the package, and of some on the hub, which are not downloaded to
know their defaults."""


def defaults(
    env: str | None = None, model: str | None = None, options: Mapping[str, Any] | None = None
) -> Run:
    """Default settings for an environment and a model.

    Args:
        env: None for Figures-v2.
        model: None for the default model of the environment.
        options: Arguments of the environment, by which its default model may be chosen.

    Raises:
        UnknownEnvironmentError: No environment has this name.
    """
    registration = find(env or Run.env)
    run = Run(env=registration.id, model=model or registration.default_model(options or {}))
    width = _hidden_size(run.model)
    if width <= TINY_WIDTH:
        tools = registration.toolbox(options or {})
        length = (tools.max_turns if tools else 1) * run.max_response_length
        return replace(run, max_response_length=length, **EPISODES if registration.tools else {})
    if width <= LAPTOP_WIDTH:
        return replace(run, **LAPTOP | SHORT.get(run.env, {}))
    return replace(run, **PAPER)


def _hidden_size(model: str) -> float:
    """Of the text model in a folder, or of a name on the hub; infinite where it is not known."""
    path = Path(model) / "config.json"
    if not path.is_file():
        return WIDTHS.get(model, math.inf)
    try:
        config = json.loads(path.read_bytes())
        return float(config.get("text_config", config)["hidden_size"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return math.inf  # loading the model reports a folder that is damaged
