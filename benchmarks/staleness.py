"""Speed of sampling beside training on two cores, against taking turns, in one run.

    OMP_NUM_THREADS=1 PYTHONPATH=.:benchmarks python benchmarks/staleness.py figures
    OMP_NUM_THREADS=1 PYTHONPATH=.:benchmarks python benchmarks/staleness.py words --model FOLDER

`figures` is the default run of CPGD; `words` trains adapters of a pretrained model of 135 million
weights on WordProblems-v0. Sampler and trainer are two processes of one thread each throughout, at
--staleness 1. Blocks of steps alternate: "beside", as a run is, and "turns", where the next rollout
is whole before the update begins. Both train on the same rollouts, since numbers pace them. The
first step of each block, which has the rollout of the other kind, does not count.

R and T are the medians of the seconds of sampling (transfer of weights and grading included) and
of training while they take turns; no overlap is faster than (R + T) / max(R, T) times. Intervals
are of 95 %, by resampling the blocks. Results go to staleness/NAME.json.
"""

import argparse
import contextlib
import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil

from agents.cli.flags import parse_run
from agents.cpgd import CPGD
from agents.monitoring.timing import Clock
from agents.run import open_log, train_step
from agents.training.pipeline import Ahead, History
from agents.training.rollouts import Rollout
from agents.training.setup import prepare
from provenance import provenance

FOLDER = Path(__file__).with_suffix("")
CASES = {
    "figures": (),
    "words": (
        *("--env", "WordProblems-v0", "--learning-rate", "1e-4"),
        *("--lora", '{"r": 16, "target_modules": "all-linear"}'),
    ),
}
"""Flags of each run."""


class Alternating(Ahead):
    """Takes turns while `is_beside` is False: the rollout ahead is whole before the update."""

    is_beside = True

    def rollouts(self, clock: Clock, history: History) -> Iterator[Rollout]:
        """See `Ahead`."""
        for rollout in super().rollouts(clock, history):
            if not self.is_beside:
                self.wait()
            yield rollout


def measure(flags: list[str], num_blocks: int, block: int) -> list[dict[str, float]]:
    """Seconds of each step: sampling, training and the whole, its block and its kind."""
    run, learner, *_ = parse_run(CPGD, flags)
    state = prepare(run, learner)
    rows = []
    with (
        contextlib.closing(state.envs),
        open_log(state) as log,
        contextlib.closing(Alternating(state, log)) as source,
    ):
        for number in range(num_blocks):
            source.is_beside = number % 2 == 1
            for place in range(block):
                times = train_step(state, source, log, [])
                names = ("transfer", "rollout", "grade")
                row = {
                    "block": number,
                    "beside": source.is_beside,
                    "sampling": sum(times[f"time/{name}_s"] for name in names),
                    "training": times["time/train_s"] + times["time/sync_s"],
                    "step": times["time/step_s"],
                }
                rows += [row] * (place > 0)
                print(json.dumps(row), flush=True)
    return rows


def result(rows: list[dict[str, float]]) -> dict[str, float]:
    """Medians, the gain, and its share of the limit."""
    turns, beside = ([row for row in rows if bool(row["beside"]) == kind] for kind in (False, True))
    sampling, training = (statistics.median(x[n] for x in turns) for n in ("sampling", "training"))
    steps = [statistics.median(x["step"] for x in part) for part in (turns, beside)]
    gain, limit = steps[0] / steps[1], (sampling + training) / max(sampling, training)
    return {
        **{"sampling": sampling, "training": training, "turns": steps[0], "beside": steps[1]},
        **{"gain": gain, "limit": limit, "share": gain / limit},
    }


def intervals(rows: list[dict[str, float]]) -> dict[str, list[float]]:
    """Intervals of gain and share, by resampling pairs of blocks."""
    rng, pairs = np.random.default_rng(0), sorted({row["block"] // 2 for row in rows})
    draws = []
    for choice in rng.choice(pairs, (1000, len(pairs))):
        draws.append(result([row for k in choice for row in rows if row["block"] // 2 == k]))
    return {
        name: np.quantile([draw[name] for draw in draws], (0.025, 0.975)).tolist()
        for name in ("gain", "share")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        num_steps = str(options.blocks * options.steps + 2)
        flags = [*CASES[options.case], "--model", options.model, "--staleness", "1"]
        flags += ["--num-steps", num_steps, "--num-test-problems", "0", "--output-dir", folder]
        load = psutil.getloadavg()[0]
        rows = measure([*flags, "--show-responses", "0"], options.blocks, options.steps)
    summary = result(rows) | {"intervals": intervals(rows), "load_before": load}
    print(json.dumps(summary, indent=2))
    FOLDER.mkdir(exist_ok=True)
    content = provenance("staleness.py") | {"result": summary, "steps": rows}
    (FOLDER / f"{options.case}.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
