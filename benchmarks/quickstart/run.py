"""Five seeds of the README's training command, one after the other, and a picture of them.

    python benchmarks/quickstart/run.py --seeds 0 1 2 3 4
    python benchmarks/quickstart/run.py --seeds 0 --name level2 --env-options '{"level": 2}'
    python benchmarks/quickstart/run.py --picture

Each seed makes its own warm start, in a cache of its own, and is one process whose wall time and
peak memory the operating system tells. Results go to NAME.json beside this file, added to what is
there; the picture is made from quickstart.json.
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KEPT = ("reward/accuracy", "response/length_mean", "policy/entropy", "policy/clip_fraction")


def run_seed(seed: int, flags: list[str]) -> dict[str, Any]:
    """The curves, evaluations, seconds and memory of one seed."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run"
        options = ["--seed", str(seed), *flags]
        command = [sys.executable, "-m", "agents.cpgd", *options, "--output-dir", str(out)]
        began = time.perf_counter()
        process = subprocess.Popen(command, env=os.environ | {"REASONENV_CACHE": scratch})
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        if status:
            sys.exit(f"seed {seed} ended with status {os.waitstatus_to_exitcode(status)}")
        rows = [json.loads(line) for line in (out / "metrics.jsonl").open()]
        tests = [json.loads(line) for line in (out / "evaluations.jsonl").open()]
        machine = json.loads((out / "run.json").read_text())
    return {
        "seed": seed,
        "command": "python -m agents.cpgd " + shlex.join(options),
        "seconds": round(seconds, 1),
        "training_seconds": round(sum(row["time/step_s"] for row in rows), 1),
        "peak_gib": round(usage.ru_maxrss / 2**20, 2),
        "evaluations": tests,
        "curves": {name: [round(row[name], 4) for row in rows] for name in KEPT},
        "step_seconds": [round(row["time/step_s"], 3) for row in rows],
        "versions": machine["versions"],
        "machine": machine["machine"] | {"platform": platform.system()},
    }


def picture(path: Path) -> None:
    """Accuracy over training steps: each seed, their mean, and the evaluations at both ends."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    runs = json.loads(path.read_text())
    curves = np.array([run["curves"]["reward/accuracy"] for run in runs])
    kernel = np.ones(5) / 5
    smooth = np.array([np.convolve(np.pad(c, 2, mode="edge"), kernel, "valid") for c in curves])
    steps = np.arange(1, curves.shape[1] + 1)
    figure, axis = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    for curve in smooth:
        axis.plot(steps, curve, color="#4878a8", alpha=0.35, linewidth=1)
    axis.fill_between(steps, smooth.min(0), smooth.max(0), color="#4878a8", alpha=0.15)
    axis.plot(steps, smooth.mean(0), color="#1f4e79", linewidth=2, label="training responses")
    for split, color, mark in (("test", "#c44e52", "o"), ("heldout", "#dd9b3a", "s")):
        for run in runs:
            points = [(e["step"], e["accuracy"]) for e in run["evaluations"] if e["split"] == split]
            x, y = zip(*points, strict=True)
            label = {"test": "test: new images", "heldout": "held out: new operands"}[split]
            axis.plot(x, y, mark, color=color, label=None if run is not runs[0] else label)
    axis.set(xlabel="training step", ylabel="sampled accuracy", ylim=(0, 1.02))
    axis.set_title(f"CPGD on Figures-v0, {len(runs)} seeds, two CPU cores")
    axis.grid(alpha=0.25)
    axis.legend(loc="lower right")
    figure.savefig(path.with_suffix(".png"), dpi=150)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="*", default=[])
    parser.add_argument("--name", default="quickstart")
    parser.add_argument("--picture", action="store_true", help="draw NAME.png from NAME.json")
    given, flags = parser.parse_known_args()
    path = HERE / f"{given.name}.json"
    for seed in given.seeds:
        before = json.loads(path.read_text()) if path.exists() else []
        rest = [run for run in before if run["seed"] != seed]
        runs = sorted([*rest, run_seed(seed, flags)], key=lambda run: run["seed"])
        path.write_text(json.dumps(runs, indent=1) + "\n")
    if given.picture:
        picture(path)


if __name__ == "__main__":
    main()
