"""Episodes of several turns on two ranks that share their weights: run by test_turns_run.py.

Usage: torchrun --nproc-per-node 2 ranks_turns.py MODEL EMPTY_FOLDER
"""

import json
import sys
from pathlib import Path

from torch import distributed

from helpers import looks  # noqa: F401 - registers the environment
from helpers.ranks_run import train

LOOKS = {
    **{"env": "Looks-v0", "num_prompts": 2, "max_response_length": 300, "num_steps": 2},
    **{"save_every": 1, "keep_checkpoints": 9, "temperature": 1.2, "num_test_problems": 2},
}
"""Settings of runs whose responses end in time, and often call."""

if __name__ == "__main__":
    model, empty = sys.argv[1], Path(sys.argv[2])
    sharded = {"stage": 3, "stage3_param_persistence_threshold": 0}
    config = empty / "deepspeed.json"
    config.write_text(json.dumps({"zero_optimization": sharded}))
    untruncated = {"top_p": None, "sampler_correction": None, "beta": None}
    settings = LOOKS | {"num_prompts": 4, "deepspeed": config} | untruncated
    train(model, empty / "run", **settings)
    distributed.destroy_process_group()
