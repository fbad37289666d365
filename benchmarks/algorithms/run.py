"""Every algorithm with its defaults on Figures, three seeds each, and a picture of them.

    python benchmarks/algorithms/run.py
    python benchmarks/algorithms/run.py --algorithms CPGD GRPO --seeds 0 --num-steps 3 --name trial
    python benchmarks/algorithms/run.py --picture

The runs of a seed share one warm start, from the cache. Results go to NAME.json beside this file as
soon as a run ends; what is there with the same command is not run again.
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

HERE = Path(__file__).parent
ALGORITHMS = {
    "CPGD": "agents.cpgd",
    "PG": "agents.cpgd --clip-low None --clip-high None --drift-coefficient None",
    "RPG": "agents.rpg",
    "RPG-REINFORCE": "agents.rpg --estimator reinforce",
    "GRPO": "agents.grpo",
    "DAPO": "agents.dapo",
    "Dr. GRPO": "agents.dr_grpo",
    "RLOO": "agents.rloo",
    "REINFORCE": "agents.reinforce",
    "REINFORCE++": "agents.reinforce_plus_plus",
    "REINFORCE++-Baseline": "agents.reinforce_plus_plus_baseline",
    "GPG": "agents.gpg",
    "CISPO": "agents.cispo",
}
"""Name, to what `python -m` runs."""
KEPT = ("reward/accuracy", "policy/entropy", "policy/clip_fraction", "policy/kl_old")


def run(algorithm: str, command: str) -> dict[str, Any]:
    """Curves, evaluations and seconds of one run; each has one thread."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run"
        words = [sys.executable, "-m", *shlex.split(command), "--output-dir", str(out)]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{command} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        rows = [json.loads(line) for line in (out / "metrics.jsonl").open()]
        tests = [json.loads(line) for line in (out / "evaluations.jsonl").open()]
        told = json.loads((out / "run.json").read_text())
    return {
        "algorithm": algorithm,
        "command": f"python -m {command}",
        "training_seconds": round(sum(row["time/step_s"] for row in rows), 1),
        "evaluations": [
            {name: test[name] for name in ("step", "split", "accuracy", "length_mean")}
            for test in tests
        ],
        "curves": {name: [round(row[name], 4) for row in rows] for name in KEPT},
        "versions": told["versions"],
        "machine": told["machine"] | {"platform": platform.system()},
    }


def run_missing(path: Path, jobs: list[tuple[str, str]], num_workers: int) -> None:
    """Runs what the file lacks, and adds each result at once."""
    results = json.loads(path.read_text()) if path.exists() else []
    known = {result["command"] for result in results}
    lock = Lock()

    def finish(job: tuple[str, str]) -> None:
        result = run(*job)
        with lock:
            results.append(result)
            results.sort(key=lambda r: (list(ALGORITHMS).index(r["algorithm"]), r["command"]))
            half = path.with_suffix(".part")
            half.write_text(json.dumps(results, indent=1) + "\n")
            half.replace(path)
            accuracy = result["curves"]["reward/accuracy"][-1]
            print(f"{result['training_seconds']:7.1f} s  {accuracy:.3f}  {job[1]}", flush=True)

    with ThreadPoolExecutor(num_workers) as pool:
        missing = [job for job in jobs if f"python -m {job[1]}" not in known]
        for future in [pool.submit(finish, job) for job in missing]:
            future.result()


def picture(path: Path) -> None:
    """Accuracy over training steps: a panel for each algorithm, mean and range of its seeds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    results = json.loads(path.read_text())
    kernel, found = np.ones(5) / 5, {}
    for result in results:
        curve = np.pad(result["curves"]["reward/accuracy"], 2, mode="edge")
        found.setdefault(result["algorithm"], []).append(np.convolve(curve, kernel, "valid"))
    columns = min(4, len(found))
    rows = -(-len(found) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(2.6 * columns, 2.1 * rows),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axis in axes.flat[len(found) :]:
        axis.set_visible(False)
    for axis, (algorithm, curves) in zip(axes.flat, found.items(), strict=False):
        for other in found.values():
            axis.plot(np.mean(other, 0), color="#bbbbbb", linewidth=0.6)
        axis.fill_between(
            range(len(curves[0])), np.min(curves, 0), np.max(curves, 0), color="#4878a8", alpha=0.3
        )
        axis.plot(np.mean(curves, 0), color="#1f4e79", linewidth=1.8)
        axis.set_title(f"{algorithm} ({len(curves)} seeds)", fontsize=9)
        axis.grid(alpha=0.25)
        axis.set_ylim(0, 1.02)
    figure.supxlabel("training step", fontsize=9)
    figure.supylabel("accuracy of training responses", fontsize=9)
    figure.savefig(path.with_suffix(".png"), dpi=150)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--algorithms", nargs="*", default=list(ALGORITHMS), choices=ALGORITHMS)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--num-steps", type=int, default=60)
    parser.add_argument("--num-test-problems", type=int, default=200)
    parser.add_argument("--num-workers", type=int, default=2, help="runs at a time")
    parser.add_argument("--name", default="algorithms")
    parser.add_argument("--picture", action="store_true", help="only draw NAME.png from NAME.json")
    given = parser.parse_args()
    path = HERE / f"{given.name}.json"
    flags = f"--num-steps {given.num_steps} --num-test-problems {given.num_test_problems}"
    jobs = [
        (algorithm, f"{ALGORITHMS[algorithm]} --seed {seed} {flags}")
        for algorithm in given.algorithms
        for seed in given.seeds  # so that the first runs make the warm starts of several seeds
    ]
    if not given.picture:
        run_missing(path, jobs, given.num_workers)
    picture(path)


if __name__ == "__main__":
    main()
