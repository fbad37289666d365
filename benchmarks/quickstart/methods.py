"""CPGD beside more supervised steps and rejection sampling, from one start, at one cost.

    python -m benchmarks.quickstart.methods --seeds 0 1 2

All begin with the warm start of the tiny model that is part of the package, and train for the
seconds that CPGD's default run takes: on the teacher's solutions with slips, as in the last stage
of the warm start; on correct solutions, which nobody has for a task without a teacher; and on the
policy's own correct responses (`agents.reinforce`, whose raw reward of 0 or 1 makes it
rejection sampling with a step on each rollout). Results go to methods.json beside this file.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from agents.warm_start import SLIP, TINY
from benchmarks.quickstart.families import by_family
from benchmarks.quickstart.run import SPLITS, evaluate

HERE = Path(__file__).parent
PROBE = 40
"""Supervised steps of which the seconds of one are measured."""
REJECTION = ["--env-options", '{"rewards": {"accuracy": 1.0}}', "--learning-rate", "3e-4"]


def train(words: list[str], scratch: Path) -> float:
    """Seconds of a command."""
    began = time.perf_counter()
    environment = os.environ | {"REASONENV_CACHE": str(scratch)}
    subprocess.run([sys.executable, "-m", *words], check=True, env=environment)
    return time.perf_counter() - began


def reinforce(module: str, seed: int, flags: list[str], scratch: Path) -> tuple[Path, float]:
    """The last checkpoint of a run, and its seconds."""
    out = scratch / module
    words = [module, "--seed", str(seed), "--num-test-problems", "0", "--output-dir", str(out)]
    seconds = train([*words, *flags], scratch)
    return max(out.glob("checkpoints/step-*"), key=lambda path: int(path.name[5:])), seconds


def supervised(
    name: str, slip: float, seed: int, limit: float, scratch: Path
) -> tuple[Path, float]:
    """A model after supervised steps on solutions, as many as fit the seconds, and its seconds."""
    options = json.dumps({"slip": slip, "problem_seed": 2 + seed})
    words = ["agents.sft", "--model", str(TINY), "--env-options", options, "--seed", str(seed)]
    words += ["--learning-rate", "3e-4", "--no-balance"]

    def steps(count: int, folder: str) -> float:
        return train(
            [*words, "--num-steps", str(count), "--output-dir", str(scratch / folder)], scratch
        )

    one, more = steps(1, f"{name}-1"), steps(1 + PROBE, f"{name}-probe")
    count = max(1, int((limit - one) / ((more - one) / PROBE)))
    seconds = steps(count, name)
    return scratch / name, seconds


def run_seed(seed: int, scratch: Path) -> dict[str, Any]:
    """Accuracies of each method after the seconds of CPGD's run."""
    cpgd, limit = reinforce("agents.cpgd", seed, [], scratch)
    models = {
        "start": (TINY, 0.0),
        "cpgd": (cpgd, limit),
        "rejection": reinforce("agents.reinforce", seed, REJECTION, scratch),
        "slips": supervised("slips", SLIP, seed, limit, scratch),
        "correct": supervised("correct", 0.0, seed, limit, scratch),
    }
    return {
        "seed": seed,
        "methods": {
            name: {"seconds": round(seconds, 1)}
            | {split: by_family(evaluate(model, split, "{}", scratch)) for split in SPLITS}
            for name, (model, seconds) in models.items()
        },
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    path = HERE / "methods.json"
    for seed in parser.parse_args().seeds:
        with tempfile.TemporaryDirectory() as scratch:
            row = run_seed(seed, Path(scratch))
        before = json.loads(path.read_text()) if path.exists() else []
        rows = [*(run for run in before if run["seed"] != seed), row]
        path.write_text(json.dumps(sorted(rows, key=lambda run: run["seed"]), indent=1) + "\n")


if __name__ == "__main__":
    main()
