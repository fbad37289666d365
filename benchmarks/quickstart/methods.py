"""CPGD beside more supervised steps and rejection sampling, from one start, at one cost.

    python -m benchmarks.quickstart.run --seeds 0 1
    python -m benchmarks.quickstart.methods --seeds 0 1

All begin with the warm start of the tiny model that is part of the package. Beside CPGD's runs of
level2.json are trained: as many steps on the policy's own correct responses (`agents.reinforce`,
whose raw reward of 0 or 1 makes it rejection sampling with a step on each rollout); and, for as
many seconds as these steps take, which cost what CPGD's do, on the teacher's solutions with slips,
as in the last stage of the warm start, and on correct solutions, which nobody has for a task
without a teacher. Results go to methods.json.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from agents.engines.pretrained import TINY
from benchmarks.quickstart.run import accuracies
from benchmarks.tiny.recipe import SLIP

HERE = Path(__file__).parent
PROBE = 40
"""Supervised steps of which the seconds of one are measured."""
REJECTION = ["--env-options", '{"rewards": {"accuracy": 1.0}}']


def train(words: list[str]) -> float:
    """Seconds of a command."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", *words], check=True)
    return time.perf_counter() - began


def rejection(seed: int, scratch: Path) -> dict[str, Any]:
    """Rejection sampling for the steps of CPGD's default run."""
    out = scratch / "rejection"
    words = ["agents.reinforce", "--seed", str(seed), "--num-test-problems", "0"]
    seconds = train([*words, *REJECTION, "--output-dir", str(out)])
    model = max(out.glob("checkpoints/step-*"), key=lambda path: int(path.name[5:]))
    return {"seconds": round(seconds, 1)} | accuracies(model)


def supervised(slip: float, seed: int, limit: float, scratch: Path) -> dict[str, Any]:
    """Supervised steps on solutions, as many as fit the seconds."""
    options = json.dumps({"slip": slip, "problem_seed": 2 + seed})
    words = ["benchmarks.tiny.stage", "--model", str(TINY), "--env-options", options]
    words += ["--seed", str(seed)]
    words += ["--learning-rate", "3e-4", "--no-balance"]

    def steps(count: int) -> tuple[Path, float]:
        out = scratch / f"slip-{slip}-{count}"
        return out, train([*words, "--num-steps", str(count), "--output-dir", str(out)])

    (_, one), (_, more) = steps(1), steps(1 + PROBE)
    count = max(1, int((limit - one) / ((more - one) / PROBE)))
    model, seconds = steps(count)
    return {"seconds": round(seconds, 1), "steps": count} | accuracies(model)


def run_seed(seed: int, scratch: Path) -> dict[str, Any]:
    """Accuracies of each method at the cost of CPGD's default run."""
    runs = json.loads((HERE / "level2.json").read_text())
    run = next(run for run in runs if run["seed"] == seed)
    by_rejection = rejection(seed, scratch)
    methods = {
        "start": {"seconds": 0.0} | run["start"],
        "cpgd": {"seconds": run["seconds"]} | run["end"],
        "rejection": by_rejection,
        "slips": supervised(SLIP, seed, by_rejection["seconds"], scratch),
        "correct": supervised(0.0, seed, by_rejection["seconds"], scratch),
    }
    return {"seed": seed, "methods": methods}


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
