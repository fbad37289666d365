"""Runs on two ranks with problems that are left out and a reward that fails on one rank: run by
test_left_out.py.

Usage: torchrun --nproc-per-node 2 ranks_left_out.py MODEL_FOLDER EMPTY_FOLDER
"""

import json
import math
import os
import sys
from pathlib import Path

from torch import distributed

from agents import run
from agents.cpgd import CPGD
from helpers import faulty, letters
from helpers.tiny_runs import SMALL, flags

SETTINGS = SMALL | {
    "env": "Faulty-v0",
    "engine": "deepspeed",
    "num_steps": 4,
    "num_test_problems": 4,
    "env_options": json.dumps({"unreadable": [1, 4], "long": [7]}),
}
POSED: list[str] = []


def train(model: Path, folder: Path, **settings) -> None:
    run.main(CPGD, flags(**SETTINGS | {"model": model, "output_dir": folder} | settings))


def failing(response, problem, grade):
    """The reward of letters, which fails once on rank 1 in step 3 of a run."""
    if problem.id.startswith("train"):
        POSED.append(problem.id)
    fails = len(POSED) == 2 * 8 + 3 and os.environ["RANK"] == "1"
    return math.nan if fails else letters.letters(response, problem, grade)


if __name__ == "__main__":
    model, empty = Path(sys.argv[1]), Path(sys.argv[2])
    train(model, empty / "whole")
    faulty.REWARDS["letters"] = (1.0, failing)
    try:
        train(model, empty / "failed")
    except SystemExit as end:
        (empty / f"{os.environ['RANK']}.txt").write_text(str(end.code))
    POSED.clear()
    faulty.REWARDS["letters"] = (1.0, letters.letters)
    train(model, empty / "failed", resume=True)
    distributed.destroy_process_group()
