"""Seeds of the README's training command, one after the other, with seconds and accuracies.

    python -m benchmarks.quickstart.run --seeds 0 1 2 3 4
    python -m benchmarks.quickstart.run --name level1 --seeds 0 1 2 3 4 --env-options '{"level": 1}'
    python -m benchmarks.quickstart.run --name fresh --seeds 0 --fresh
    python -m benchmarks.quickstart.run --clean

Each seed is one process, whose wall time and peak memory the operating system tells. A checkpoint
of every tenth step is evaluated afterwards on 260 new images, of every fiftieth once it is above
.8, so that evaluating takes no time of the run; the last one on 1,300 problems of each split.
Results go to NAME.json beside this file, added to what is there. Further flags are those of
`python -m agents.cpgd`.
"""

import argparse
import json
import math
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from agents.engines.pretrained import TINY
from benchmarks.quickstart.families import by_family
from benchmarks.tiny.recipe import make, recipe

HERE = Path(__file__).parent
CURVES = ("reward/accuracy", "response/length_mean", "policy/entropy", "policy/clip_fraction")
SPLITS = ("test", "heldout")
INTERVAL = 10
"""Steps between checkpoints."""
GOAL = 0.8
"""Accuracy on new images, the seconds to which are reported."""
CURVE_PROBLEMS, END_PROBLEMS = 260, 1300
"""Problems of a checkpoint on the way, and of the first and the last model."""


def run_seed(seed: int, flags: list[str], scratch: Path, start: Path) -> dict[str, Any]:
    """Seconds, memory, curves and evaluations of one seed, from a model to begin with."""
    out = scratch / "run"
    options = ["--seed", str(seed), *flags]
    model = [] if start == TINY else ["--model", str(start)]
    saving = ["--save-every", str(INTERVAL), "--keep-checkpoints", "1000"]
    command = [
        sys.executable,
        "-m",
        "agents.cpgd",
        *options,
        *model,
        *saving,
        "--output-dir",
        str(out),
    ]
    clock = Stopwatch(command, out / "metrics.jsonl")
    rows = [json.loads(line) for line in (out / "metrics.jsonl").open()]
    record = json.loads((out / "run.json").read_text())
    env_options = json.dumps(record["settings"]["run"]["env_options"])
    return {
        "seed": seed,
        "command": "python -m agents.cpgd " + shlex.join(options),
        "seconds": round(clock.seconds, 1),
        "first_reward_seconds": round(clock.first_reward, 1),
        "training_seconds": round(sum(row["time/step_s"] for row in rows), 1),
        "peak_gib": round(clock.peak_gib, 2),
        "test_curve": test_curve(out, clock.steps, env_options),
        "start": accuracies(start, env_options),
        "end": accuracies(out / "checkpoints" / f"step-{len(rows)}", env_options),
        "curves": {name: [round(row[name], 4) for row in rows] for name in CURVES},
        "versions": record["versions"],
        "machine": record["machine"] | {"platform": platform.system()},
    }


class Stopwatch:
    """A run to its end: its seconds, those of its first reward and of each step, its memory."""

    def __init__(self, command: list[str], metrics: Path) -> None:
        self.first_reward = math.nan
        self.steps: list[float] = []
        self._began = time.perf_counter()
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        lines = threading.Thread(target=self._read, args=(process.stderr,))
        lines.start()
        status = 0
        while not status:
            pid, code, usage = os.wait4(process.pid, os.WNOHANG)
            count = metrics.read_bytes().count(b"\n") if metrics.exists() else 0
            self.steps += [self._elapsed()] * (count - len(self.steps))
            status = pid
            time.sleep(0.05)
        self.seconds = self._elapsed()
        self.peak_gib = usage.ru_maxrss / 2**20
        process.returncode = os.waitstatus_to_exitcode(code)
        lines.join()
        if code:
            sys.exit(f"{shlex.join(command)} ended with status {process.returncode}")

    def _read(self, stream: Iterable[str]) -> None:
        for line in stream:
            if "first rollout: reward" in line:
                self.first_reward = self._elapsed()
            sys.stderr.write(line)

    def _elapsed(self) -> float:
        return time.perf_counter() - self._began


def test_curve(out: Path, seconds: list[float], env_options: str) -> list[dict[str, Any]]:
    """Accuracy on new images of every tenth step until it is above .8, of every fiftieth then."""
    curve: list[dict[str, Any]] = []
    for step in range(INTERVAL, len(seconds), INTERVAL):
        if step % 50 and any(point["accuracy"] > GOAL for point in curve):
            continue
        rows = evaluate(out / "checkpoints" / f"step-{step}", "test", env_options, CURVE_PROBLEMS)
        accuracy = sum(row["correct"] for row in rows) / len(rows)
        point = {"step": step, "seconds": round(seconds[step - 1], 1)}
        curve.append(point | {"accuracy": round(accuracy, 4)})
    return curve


@cache
def accuracies(model: Path, env_options: str = "{}") -> dict[str, Any]:
    """Accuracy on each split, of all problems and by family."""
    return {s: by_family(evaluate(model, s, env_options, END_PROBLEMS)) for s in SPLITS}


def evaluate(model: Path, split: str, env_options: str, count: int) -> list[dict[str, Any]]:
    """Graded responses of a model to the first problems of a split."""
    words = ["--env", "Figures-v2", "--model", str(model), "--split", split]
    words += ["--env-options", env_options, "--num-problems", str(count)]
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "agents.evaluate", *words, "--output-dir", out]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in (Path(out) / "Figures-v2.jsonl").open()]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="*", default=[])
    parser.add_argument("--name", default="level2")
    parser.add_argument("--clean", action="store_true", help="the model before its slips")
    parser.add_argument("--fresh", action="store_true", help="from a new warm start of each seed")
    arguments, flags = parser.parse_known_args()
    if arguments.clean:
        with tempfile.TemporaryDirectory() as scratch:
            rows = accuracies(make(recipe()[:1], Path(scratch)))
        (HERE / "clean.json").write_text(json.dumps(rows, indent=1) + "\n")
    path = HERE / f"{arguments.name}.json"
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory() as scratch:
            stages = recipe(seed=seed) if arguments.fresh else ()
            start = make(stages, Path(scratch)) if stages else TINY
            row = run_seed(seed, flags, Path(scratch), start)
        before = json.loads(path.read_text()) if path.exists() else []
        others = [run for run in before if run["seed"] != seed]
        runs = sorted([*others, row], key=lambda run: run["seed"])
        path.write_text(json.dumps(runs, indent=1) + "\n")


if __name__ == "__main__":
    main()
