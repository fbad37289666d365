"""Whole runs of seconds: the command line of CPGD on the environment of letters."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from agents import run
from agents.cpgd import CPGD
from agents.storage.checkpoints import latest
from agents.storage.json_files import read_json_lines
from helpers import letters

SMALL = {
    "env": "Letters-v0",
    "num_prompts": 4,
    "group_size": 4,
    "minibatch_size": 8,
    "microbatch_size": 8,
    "num_steps": 3,
    "max_response_length": 12,
    "num_test_problems": 0,
    "max_pixels": 8 * 28 * 28,
    "learning_rate": 1e-3,
    "engine": "torch",
}
VARYING = ("time/", "throughput/", "memory/")


def flags(**settings: Any) -> list[str]:
    """Settings as a user types them; None leaves one out, True is a flag without a value."""
    words = []
    for name, value in settings.items():
        if value is not None and value is not False:
            words += ["--" + name.replace("_", "-")] + ([] if value is True else [str(value)])
    return words


def train(model: Path, folder: Path, **settings: Any) -> list[dict]:
    """Trains in this process and gives the metrics."""
    run.main(CPGD, flags(**SMALL | {"model": model, "output_dir": folder} | settings))
    return read_json_lines(folder / "metrics.jsonl")


def numbers(folder: Path) -> list[dict]:
    """The metrics that equal runs share."""
    rows = read_json_lines(folder / "metrics.jsonl")
    return [{k: v for k, v in row.items() if not k.startswith(VARYING)} for row in rows]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """Those of the last checkpoint."""
    checkpoint = latest(folder)
    assert checkpoint
    return load_file(checkpoint / "model.safetensors")


def same(folder: Path, other: Path) -> bool:
    """Whether two runs ended with the same weights, bit for bit."""
    a, b = weights(folder), weights(other)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def refusal(*arguments: Any, **settings: Any) -> str:
    """The one line with which a training of these arguments ends."""
    with pytest.raises(SystemExit) as refused:
        train(*arguments, **settings)
    message = refused.value.code
    assert isinstance(message, str)
    assert message.startswith("error: ")
    assert "\n" not in message
    return message


def noting(ids: list[str]) -> tuple[float, Any]:
    """A reward like that of letters, which adds the id of each problem that it sees."""

    def reward(response, problem, grade):
        ids.append(problem.id)
        return letters.letters(response, problem, grade)

    return 1.0, reward


def before_response(number: int, act: Any) -> tuple[float, Any]:
    """A reward like that of letters, which first calls `act` when it sees response `number`."""
    seen = 0

    def reward(response, problem, grade):
        nonlocal seen
        seen += 1
        if seen == number:
            act()
        return letters.letters(response, problem, grade)

    return 1.0, reward


if __name__ == "__main__":
    import os
    import signal

    killed = int(sys.argv[1])
    letters.REWARDS["letters"] = before_response(
        killed, lambda: os.kill(os.getpid(), signal.SIGKILL)
    )
    run.main(CPGD, sys.argv[2:])
