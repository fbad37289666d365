"""One of two ranks of a run that is killed from outside, and later goes on: by test_exit.py.

Usage: torchrun --nproc-per-node 2 ranks_killed.py MODEL_FOLDER RUN_FOLDER NUM_STEPS [--resume]
"""

import os
import sys
from pathlib import Path

from agents import run
from agents.cpgd import CPGD
from helpers.tiny_runs import SMALL, flags

SETTINGS = SMALL | {
    "env": "Vowels-v0",
    "engine": "deepspeed",
    "num_prompts": 8,
    "minibatch_size": 16,
    "save_every": 1,
}

if __name__ == "__main__":
    from helpers import vowels  # noqa: F401 - registers the environment

    model, folder, num_steps = (Path(word) for word in sys.argv[1:4])
    folder.with_name(f"rank-{os.environ['RANK']}").write_text(str(os.getpid()))
    settings = {"model": model, "output_dir": folder, "num_steps": num_steps}
    run.main(CPGD, [*flags(**SETTINGS | settings), *sys.argv[4:]])
