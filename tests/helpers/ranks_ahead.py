"""Runs on two ranks whose rollouts a vLLM server samples ahead: run by test_staleness_server.py.

Usage: torchrun --nproc-per-node 2 ranks_ahead.py MODEL_FOLDER EMPTY_FOLDER URL
"""

import os
import shutil
import sys
from pathlib import Path

from torch import distributed

from agents import run
from agents.cpgd import CPGD
from helpers.tiny_runs import SMALL, flags

SETTINGS = SMALL | {
    "env": "Vowels-v0",
    "engine": "deepspeed",
    "num_steps": 5,
    "save_every": 1,
    "keep_checkpoints": 9,
    "staleness": 2,
}

if __name__ == "__main__":
    from helpers import vowels  # noqa: F401 - registers the environment

    model, empty, url = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    settings = SETTINGS | {"model": model, "vllm_server": url}
    run.main(CPGD, flags(**settings, output_dir=empty / "whole"))
    if os.environ["RANK"] == "0":
        shutil.copytree(empty / "whole", empty / "again")
        for step in (4, 5):
            shutil.rmtree(empty / "again" / "checkpoints" / f"step-{step}")
    distributed.barrier()
    run.main(CPGD, flags(**settings, output_dir=empty / "again", resume=True))
    distributed.destroy_process_group()
