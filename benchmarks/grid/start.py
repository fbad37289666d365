"""Makes the model that the runs of a seed begin with: python -m benchmarks.grid.start SEED ...

It is a tiny model after a warm start of `NUM_STEPS` steps, in the folder that is the last word.
"""

import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.tiny.recipe import recipe
from benchmarks.tiny.stage import train

NUM_STEPS = 60
"""Enough to write in the format now and then, so that there is something to learn from."""


def main(seed: str, folder: str) -> None:
    brief = replace(recipe(seed=int(seed))[0], num_steps=NUM_STEPS)
    train(brief, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
