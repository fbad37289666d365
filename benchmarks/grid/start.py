"""Makes the model that the runs of a seed begin with: python -m benchmarks.grid.start SEED ...

It is the tiny model after its warm start, in the cache, where the runs find it; with a folder as
the last word, after one of `NUM_STEPS` steps, there.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from agents.sft import fine_tune
from agents.warm_start import cached, recipe

NUM_STEPS = 60
"""Enough to write in the format now and then, so that there is something to learn from."""


def main(seed: str, env: str, env_options: str, folder: str = "") -> None:
    stages = recipe(env, json.loads(env_options), int(seed))
    if folder:
        brief = replace(
            stages[0], num_steps=NUM_STEPS, output_dir=Path(folder).with_suffix(".half")
        )
        fine_tune(brief).rename(folder)
    else:
        cached(stages)


if __name__ == "__main__":
    main(*sys.argv[1:])
