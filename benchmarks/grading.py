"""What grading costs: CPU time of one answer, answers a second, beside what others grade with.

    pip install --no-deps --target PEERS trl verl
    python benchmarks/grading.py --mix mix.json --peers PEERS
    python benchmarks/grading.py --picture

All times are CPU time of all processes concerned, worker processes and killed ones included,
unless they are called wall; the workers are warm. Results go to grading/grading.json, the
picture to grading/grading.png. Linux only.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mixes
import usage
from baselines import Baseline
from mixes import Item
from provenance import provenance
from reasonenv.workers import Grader

HERE = Path(__file__).with_suffix("")
REPEATS = 3
WARM = 100


def warm(grader: Grader, items: Sequence[Item]) -> None:
    """Starts every worker, and meets answers that no measured item pairs with its reference."""
    shifted = zip(items[:WARM], items[WARM : 2 * WARM], strict=False)
    pairs = [(one.response, other.reference) for one, other in shifted]
    # Complements are read by math-verify alone, in a worker.
    for number in range(4 * grader.num_workers):
        pairs.append((f"<answer>\\boxed{{A_{{{number}}}}}</answer>", r"\complement_U A"))
    grader.grade([response for response, _ in pairs], [reference for _, reference in pairs])
    if not usage.descendants():
        print("warning: no worker is warm, so its start will be counted", file=sys.stderr)


def batch(items: Sequence[Item], num_workers: int = 1) -> dict[str, Any]:
    """One call of Grader.grade: what it costs in all."""
    with Grader(num_workers=num_workers) as grader:
        warm(grader, items)
        before, began = usage.cpu_seconds(usage.descendants()), time.perf_counter()
        grades = grader.grade([item.response for item in items], [i.reference for i in items])
        wall = time.perf_counter() - began
        cpu = usage.cpu_seconds() - before
        workers = usage.descendants()
        memory = usage.peak_mib(workers) if workers else 0.0
    labelled = [(g.correct, i.right) for g, i in zip(grades, items, strict=True)]
    return {
        "answers": len(items),
        "cpu_s": round(cpu, 4),
        "wall_s": round(wall, 4),
        "per_core": round(len(items) / cpu, 1),
        "per_second_wall": round(len(items) / wall, 1),
        "statuses": dict(Counter(grade.status for grade in grades)),
        "as_labelled": as_labelled(labelled),
        "workers_peak_mib": round(memory, 1),
    }


def as_labelled(verdicts: Sequence[tuple[bool, bool | None]]) -> float | None:
    """The share of the labelled answers whose verdict is the label."""
    known = [correct == right for correct, right in verdicts if right is not None]
    return round(sum(known) / len(known), 4) if known else None


def median_batch(items: Sequence[Item], num_workers: int = 1) -> dict[str, Any]:
    """The run of middle CPU time out of several, each with a grader of its own."""
    runs = [batch(items, num_workers) for _ in range(REPEATS)]
    return sorted(runs, key=lambda run: run["cpu_s"])[REPEATS // 2]


def one_by_one(items: Sequence[Item]) -> dict[str, float]:
    """The distribution of the CPU milliseconds of a single answer."""
    spent = []
    with Grader(num_workers=1) as grader:
        warm(grader, items)
        processes = usage.descendants()
        for item in items:
            before = usage.cpu_seconds(processes)
            grade = grader.submit(item.response, item.reference).result()
            spent.append(usage.cpu_seconds(processes) - before)
            if grade.status not in ("ok", "no_answer", "unparseable"):
                processes = usage.descendants()  # a worker was replaced
    return milliseconds(spent)


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """Quantiles of times, in milliseconds."""
    values = np.asarray(seconds) * 1000
    marks = {"p50": 50, "p90": 90, "p99": 99, "p99.9": 99.9, "max": 100}
    found = {name: round(float(np.percentile(values, mark)), 4) for name, mark in marks.items()}
    return found | {"mean": round(float(values.mean()), 4)}


def ours(items: Sequence[Item]) -> dict[str, Any]:
    return median_batch(items) | {"cpu_ms": one_by_one(items)}


def theirs(name: str, folder: str, items: Sequence[Item]) -> dict[str, Any]:
    """The same of a baseline, one answer after the other in one process."""
    with Baseline(name, folder) as baseline:
        began = time.perf_counter()
        verdicts = [baseline.judge(item.response, item.reference) for item in items]
        wall = time.perf_counter() - began
        memory = baseline.peak_mib()
    cpu = sum(seconds for _, seconds, _ in verdicts)
    labelled = [(v[0], item.right) for v, item in zip(verdicts, items, strict=True)]
    return {
        "answers": len(items),
        "cpu_s": round(cpu, 4),
        "wall_s": round(wall, 4),
        "per_core": round(len(items) / cpu, 1),
        "killed": sum(killed for *_, killed in verdicts),
        "as_labelled": as_labelled(labelled),
        "cpu_ms": milliseconds([seconds for _, seconds, _ in verdicts]),
        "workers_peak_mib": round(memory, 1),
    }


def compared(items: Sequence[Item], peers: str | None) -> dict[str, Any]:
    """Everyone on the same items, and how many times more answers we grade than math-verify."""
    names = ["math_verify", *(["trl", "verl"] if peers else [])]
    found = {"repeated": round(mixes.repeated(list(items)), 4), "reasonenv": ours(items)}
    said("reasonenv", found["reasonenv"])
    for name in names:
        found[name] = theirs(name, peers or "", items)
        said(name, found[name])
    ratio = found["reasonenv"]["per_core"] / found["math_verify"]["per_core"]
    return found | {"ratio_to_math_verify": round(ratio, 2)}


def under_attack(items: list[Item], enemies: list[Item], num_baseline: int) -> dict[str, Any]:
    """What five hostile answers in a hundred cost us, and math-verify on a smaller sample."""
    mixed = mixes.with_hostile(items, enemies)
    calm, attacked = median_batch(items), median_batch(mixed)
    sample = mixed[:num_baseline]
    bare_calm = theirs("math_verify", "", items[:num_baseline])
    bare = theirs("math_verify", "", sample)
    said("reasonenv attacked", attacked)
    said("math_verify attacked", bare)
    return {
        "reasonenv": attacked | {"cpu_ms": one_by_one(mixed)},
        "reasonenv_loss_percent": loss(calm["per_core"], attacked["per_core"]),
        "reasonenv_loss_percent_wall": loss(calm["per_second_wall"], attacked["per_second_wall"]),
        "math_verify": bare,
        "math_verify_loss_percent": loss(bare_calm["per_core"], bare["per_core"]),
    }


def loss(before: float, after: float) -> float:
    return round(100 * (1 - after / before), 1)


def said(name: str, run: dict[str, Any]) -> None:
    print(f"{name:22}{run['per_core']:10} answers/s/core", file=sys.stderr, flush=True)


def measured(options: argparse.Namespace) -> dict[str, Any]:
    number = options.num_answers
    items = mixes.honest(options.mix, number)
    grouped = mixes.groups(options.mix, number)
    diverse = mixes.groups(options.mix, number, diverse=True)
    largest = mixes.honest(options.mix, max(options.batch_sizes))
    return {
        "no_repeats": compared(items, options.peers),
        "groups_of_8": compared(grouped, options.peers),
        "diverse_groups_of_8": compared(diverse, None),
        "hostile_5_percent": under_attack(
            items, mixes.hostile(options.hostile), options.num_baseline_hostile
        ),
        "batch_size": {size: median_batch(largest[:size]) for size in options.batch_sizes},
        "num_workers": {n: median_batch(items, n) for n in (1, 2)},
        "caller_peak_mib": round(usage.peak_mib([os.getpid()]), 1),
    }


def peer_versions(folder: str | None) -> dict[str, str]:
    """The versions of TRL and verl in a folder, as their metadata there says."""
    found = sorted(Path(folder).glob("*.dist-info")) if folder else []
    return dict(path.name.removesuffix(".dist-info").split("-")[:2] for path in found)


def picture(path: Path) -> None:
    """Answers a second on one core: everyone, without repeats and in groups of eight."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    result = json.loads(path.read_text())
    labels = {"verl": "verl", "trl": "TRL", "math_verify": "math-verify", "reasonenv": "reasonenv"}
    names = [name for name in labels if name in result["no_repeats"]]
    figure, axis = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    parts = (("groups_of_8", "groups of 8", "#8fb3d9"), ("no_repeats", "no repeats", "#1f4e79"))
    for offset, (part, label, color) in enumerate(parts):
        rates = [result[part][name]["per_core"] for name in names]
        places = np.arange(len(names)) + 0.36 * (offset - 0.5)
        bars = axis.barh(places, rates, 0.34, color=color, label=label)
        axis.bar_label(bars, [f"{rate:,.0f}" for rate in rates], padding=3)
    axis.set_yticks(range(len(names)), [labels[name] for name in names])
    axis.set(xscale="log", xlabel="answers graded per second of CPU time")
    axis.set_xlim(10, 3 * max(result[p]["reasonenv"]["per_core"] for p, *_ in parts))
    axis.legend(loc="lower right", reverse=True)
    figure.savefig(path.with_suffix(".png"), dpi=150)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--mix", help="JSON: a list of [reference, response, whether it is right]")
    add("--hostile", default=str(HERE.parents[1] / "reasonenv" / "attacks" / "hostile.jsonl"))
    add("--peers", help="folder with TRL and verl; without it they are left out")
    add("--num-answers", type=int, default=3000)
    add("--num-baseline-hostile", type=int, default=200, help="each hostile one may take 20 s")
    add("--batch-sizes", type=int, nargs="+", default=[64, 256, 1024, 4096])
    add("--name", default="grading")
    add("--picture", action="store_true", help="draw the picture of NAME.json")
    options = parser.parse_args()
    path = HERE / f"{options.name}.json"
    if options.mix:
        began = time.perf_counter()
        result = (
            provenance("grading.py") | {"peers": peer_versions(options.peers)} | measured(options)
        )
        result["benchmark_s"] = round(time.perf_counter() - began, 1)
        HERE.mkdir(exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n")
    elif not options.picture:
        parser.error("--mix or --picture is needed")
    if options.picture:
        picture(path)


if __name__ == "__main__":
    main()
