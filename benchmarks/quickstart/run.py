"""Seeds of the README's training command, one after the other, with seconds and accuracies.

    python -m benchmarks.quickstart.run --seeds 0 1 2 3 4
    python -m benchmarks.quickstart.run --name level1 --seeds 0 1 2 3 4 --env-options '{"level": 1}'
    python -m benchmarks.quickstart.run --name fresh --seeds 0 --fresh

Each seed is one process, whose wall time and peak memory the operating system tells. A checkpoint
of every tenth step is evaluated afterwards on 260 new images, so that evaluating takes no time of
the run, and the last one on 1,300 problems of each split. Results go to NAME.json beside this
file, added to what is there. Further flags are those of `python -m agents.cpgd`.
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from agents.warm_start import TINY
from benchmarks.quickstart.families import by_family

HERE = Path(__file__).parent
CURVES = ("reward/accuracy", "response/length_mean", "policy/entropy", "policy/clip_fraction")
SPLITS = ("test", "heldout")
INTERVAL = 10
"""Steps between checkpoints."""
NUM_PROBLEMS = {"curve": 260, "end": 1300}
"""Problems of a checkpoint on the way, and of the last one."""


def run_seed(seed: int, flags: list[str], scratch: Path) -> dict[str, Any]:
    """Seconds, memory, curves and evaluations of one seed."""
    out = scratch / "run"
    options = ["--seed", str(seed), *flags]
    saving = ["--save-every", str(INTERVAL), "--keep-checkpoints", "1000"]
    command = [sys.executable, "-m", "agents.cpgd", *options, *saving, "--output-dir", str(out)]
    began = time.perf_counter()
    process = subprocess.Popen(command, env=os.environ | {"REASONENV_CACHE": str(scratch)})
    seconds_of_step: list[float] = []
    watch = threading.Thread(target=_watch, args=(out / "metrics.jsonl", process, seconds_of_step))
    watch.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    watch.join()
    if status:
        sys.exit(f"seed {seed} ended with status {process.returncode}")
    rows = [json.loads(line) for line in (out / "metrics.jsonl").open()]
    record = json.loads((out / "run.json").read_text())
    env_options = record["settings"]["run"]["env_options"]
    curve = [
        {"step": step, "seconds": round(seconds_of_step[step - 1], 1)}
        | {
            "accuracy": _accuracy(
                evaluate(
                    out / "checkpoints" / f"step-{step}", "test", env_options, scratch, "curve"
                )
            )
        }
        for step in range(INTERVAL, len(rows), INTERVAL)
    ]
    last = out / "checkpoints" / f"step-{len(rows)}"
    return {
        "seed": seed,
        "command": "python -m agents.cpgd " + shlex.join(options),
        "seconds": round(seconds, 1),
        "first_reward_seconds": round(seconds_of_step[0], 1),
        "training_seconds": round(sum(row["time/step_s"] for row in rows), 1),
        "peak_gib": round(usage.ru_maxrss / 2**20, 2),
        "test_curve": curve,
        "start": {s: by_family(evaluate(TINY, s, env_options, scratch)) for s in SPLITS},
        "end": {s: by_family(evaluate(last, s, env_options, scratch)) for s in SPLITS},
        "curves": {name: [round(row[name], 4) for row in rows] for name in CURVES},
        "versions": record["versions"],
        "machine": record["machine"] | {"platform": platform.system()},
    }


def _watch(path: Path, process: subprocess.Popen, seconds: list[float]) -> None:
    """Appends the seconds since the start at which each step is written."""
    began = time.perf_counter()
    while process.returncode is None:
        count = path.read_bytes().count(b"\n") if path.exists() else 0
        seconds += [time.perf_counter() - began] * (count - len(seconds))
        time.sleep(0.05)
    count = path.read_bytes().count(b"\n") if path.exists() else 0
    seconds += [time.perf_counter() - began] * (count - len(seconds))


def evaluate(
    model: Path, split: str, env_options: str, scratch: Path, kind: str = "end"
) -> list[dict[str, Any]]:
    """Graded responses of a model to the first problems of a split."""
    folder = scratch / f"{model.parent.parent.name}-{model.name}-{split}-{kind}"
    words = ["--env", "Figures-v1", "--model", str(model), "--split", split]
    words += ["--env-options", env_options, "--num-problems", str(NUM_PROBLEMS[kind])]
    command = [sys.executable, "-m", "agents.evaluate", *words, "--output-dir", str(folder)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in (folder / "Figures-v1.jsonl").open()]


def _accuracy(rows: list[dict[str, Any]]) -> float:
    return round(sum(row["correct"] for row in rows) / len(rows), 4)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="*", default=[])
    parser.add_argument("--name", default="level2")
    arguments, flags = parser.parse_known_args()
    path = HERE / f"{arguments.name}.json"
    for seed in arguments.seeds:
        with tempfile.TemporaryDirectory() as scratch:
            row = run_seed(seed, flags, Path(scratch))
        before = json.loads(path.read_text()) if path.exists() else []
        others = [run for run in before if run["seed"] != seed]
        runs = sorted([*others, row], key=lambda run: run["seed"])
        path.write_text(json.dumps(runs, indent=1) + "\n")


if __name__ == "__main__":
    main()
