"""A run on two ranks, then resumed after a stop and after damage: run by test_ranks_run.py.

Usage: torchrun --nproc-per-node 2 ranks_run.py MODEL_FOLDER EMPTY_FOLDER
"""

import os
import shutil
import sys
from pathlib import Path

from torch import distributed

from agents import run
from agents.cpgd import CPGD
from agents.storage.json_files import read_json_lines
from helpers.tiny_runs import SMALL, flags

SETTINGS = SMALL | {
    "env": "Vowels-v0",
    "engine": "deepspeed",
    "num_prompts": 6,
    "minibatch_size": 8,
    "num_steps": 4,
    "save_every": 2,
    "max_generations": 4,
    "overlong_buffer": 6,
    "top_p": 0.95,
    "sampler_correction": 2.0,
    "beta": 0.1,
    "reference": "when_moved(0.0001)",
}


def train(model: Path, folder: Path, **settings) -> list[dict]:
    run.main(CPGD, flags(**SETTINGS | {"model": model, "output_dir": folder} | settings))
    return read_json_lines(folder / "metrics.jsonl")


def flip(path: Path) -> None:
    """Changes a bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


if __name__ == "__main__":
    from helpers import vowels  # noqa: F401 - registers the environment

    model, empty = Path(sys.argv[1]), Path(sys.argv[2])
    train(model, empty / "whole")
    if os.environ["RANK"] == "0":
        shutil.copytree(empty / "whole", empty / "again")
        shutil.rmtree(empty / "again" / "checkpoints" / "step-4")
        shutil.copytree(empty / "whole", empty / "damaged")
        flip(sorted((empty / "damaged" / "checkpoints" / "step-4" / "deepspeed").rglob("*.pt"))[-1])
    distributed.barrier()
    train(model, empty / "again", resume=True)
    train(model, empty / "damaged", resume=True)
    distributed.destroy_process_group()
