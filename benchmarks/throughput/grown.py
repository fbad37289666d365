"""One run of `agents.run` whose responses are all of the longest length: one point of a growth.

python -m throughput.grown SETTINGS NUM_STEPS, or the same under torchrun.
"""

import contextlib
import json
import sys
from typing import Any

from agents.cli.settings import Run
from agents.monitoring.logs import RunLog
from agents.run import train
from agents.training.setup import prepare
from throughput.ours import LEARNER, After, limit
from throughput.regimes import Regime


def main(words: dict[str, Any], steps: int) -> None:
    run = Run(**words)
    job = prepare(run, LEARNER)
    length = run.max_response_length
    limit(job.engines.sampler, Regime(run.num_prompts * run.group_size, length, length, []))
    log = RunLog(job.folder, run.num_steps, rank=job.engines.train.rank)
    with contextlib.closing(job.envs), log:
        train(job, log, After(job, steps))  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), int(sys.argv[2]))
