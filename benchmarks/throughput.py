"""How fast a step is beside TRL's `GRPOTrainer`: same weights, prompts and lengths, in one run.

    python -m venv PEER && PEER/bin/pip install -e .[train] trl==1.16.0
    python benchmarks/throughput.py --size tiny --peer PEER/bin/python
    python benchmarks/throughput.py --size 1.5b --peer PEER/bin/python     one GPU with 140 GB
    python benchmarks/throughput.py --growth
    python benchmarks/throughput.py --picture

First both sides give loss and gradient of the same rollouts, under several objectives; where these
differ nothing is timed. Then each side trains in a process of its own, and has its turn while the
other waits: A B, B A, A B ... A step is timed from the end of the one before to its own, logging
included. Regimes: all responses of one length; long-tailed, log-normal lengths, of about the same
mean; and of one length with every twentieth response replaced by a hostile one before it is graded.
Lengths are forced on both samplers: see `throughput/regimes.py`.

Phases: ours are the metrics of `agents.run`, the peer's are its own methods, wrapped from outside.
"flops_utilisation" is of the training phases, of the rate that a matrix product reaches in the same
run, padding and recomputation not counted as work. "sampling_to_limit" says how many times longer
sampling took than reading weights, keys and values from memory would, at the rate of a copy; small
weights lie in the processor's cache, and what takes time is calling operators.

Results go to throughput/SIZE.json and, step by step, to throughput/SIZE-steps.json.gz; pictures lie
beside them. Linux only.

Of 1.5b each part has the GPU for itself: the proof, through files, and each turn of a side in a
regime. With --folder what is measured stays there, a call goes on where another ended, and results
go there too; --part measures one of them, in minutes.
"""

import argparse
import contextlib
import gzip
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from provenance import provenance
from throughput import figures, growth, picture
from throughput.regimes import REGIMES
from throughput.side import MODULES, Side
from throughput.sizes import SIZES, Size
from throughput.turns import DEADLINE, Benchmark, all_fresh, alternating, fresh, parts, say

HERE = Path(__file__).with_suffix("")


def rollouts(bench: Benchmark, peer: Side) -> None:
    """Has the peer leave loss and gradient of a rollout for each objective."""
    for case in bench.size.cases:
        file = str(bench.folder / f"{case}.pt")
        command = {"do": "prove", "case": case, "file": file, "steps": 1}
        peer.ask(command | {"regime": "long-tailed", "step": 0})


def proven(bench: Benchmark, ours: Side) -> list[dict[str, Any]]:
    """Loss and gradient of our side beside those that the peer left."""
    found = []
    for case in bench.size.cases:
        file = bench.folder / f"{case}.pt"
        answer = ours.ask({"do": "prove", "case": case, "file": str(file), "steps": 1})
        assert answer
        file.unlink()
        found.append(answer)
        (name, worst), (loss, theirs) = answer["worst"], answer["loss"]
        say(
            f"{case}: loss {loss:.7f} and {theirs:.7f}; worst of {answer['tensors']} gradients "
            f"{worst:.1e} ({name}), tolerance {answer['tolerance']:.1e}: "
            f"{'equal' if answer['equal'] else 'NOT EQUAL'}"
        )
    if not all(case["equal"] for case in found):
        sys.exit("the two sides do not minimise the same: nothing is timed")
    return found


def proof(bench: Benchmark) -> dict[str, Any]:
    """The proof with one side in memory at a time."""
    with bench.start("trl") as peer:
        rollouts(bench, peer)
    with bench.start("ours") as ours:
        found = proven(bench, ours)
    return {"proof": found, "start": {"ours": ours.started, "trl": peer.started}}


def together(bench: Benchmark) -> dict[str, Any]:
    """Proof and turns of two processes that live through all of them."""
    with bench.start("ours") as ours, bench.start("trl") as peer:
        rollouts(bench, peer)
        found = {"proof": proven(bench, ours)}
        found["start"] = {"ours": ours.started, "trl": peer.started}
        return found | {"raw": alternating(bench, {"ours": ours, "trl": peer})}


def measured(bench: Benchmark) -> dict[str, Any]:
    """Proof, turns, and what is made of them."""
    rates = rates_apart(bench)
    if bench.size.fresh:
        found = bench.kept("proof", lambda: proof(bench)) | {"raw": all_fresh(bench)}
    else:
        found = together(bench)
    again = rates_apart(bench)
    rates = {name: max(value, again[name]) for name, value in rates.items()}
    context = {"weights": bench.weights, "prompt": bench.prompt, "rates": rates}
    raw = found.pop("raw")
    regimes = {name: compared(taken, bench.size, context) for name, taken in raw.items()}
    return {**context, **found, "regimes": regimes, "raw": raw}


def rates_apart(bench: Benchmark) -> dict[str, float]:
    """The machine's rates, in a process that leaves no memory taken on a GPU."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(figures.rates, bench.size.dtype, bench.options.threads).result()


def compared(taken: dict[str, list[Any]], size: Size, context: dict[str, Any]) -> dict[str, Any]:
    """The figures of all sides in a regime, and our throughput over each of the others'."""
    found: dict[str, Any] = {}
    seconds = {}
    for name, turns in taken.items():
        if None in turns:
            found[name] = {"ended_after_s": DEADLINE}
            continue
        found[name] = figures.summary(turns, size, context)
        seconds[name] = [[row["step"] for row in turn["rows"]] for turn in turns]
    mine = seconds.pop("ours", None)
    if mine:
        found["ratio"] = {name: figures.ratio(mine, theirs) for name, theirs in seconds.items()}
    return found


def saved(result: dict[str, Any], name: str, folder: Path = HERE) -> Path:
    """Writes the figures, and step by step what they are made of."""
    raw = result.pop("raw", None)
    if raw is not None:
        with gzip.GzipFile(folder / f"{name}-steps.json.gz", "wb", mtime=0) as file:
            file.write(json.dumps(raw).encode())
    path = folder / f"{name}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path


def recomputed(path: Path) -> dict[str, Any]:
    """A result with its figures made again from the steps that are kept."""
    result = json.loads(path.read_text())
    steps = path.with_name(f"{path.stem}-steps.json.gz")
    if steps.exists():
        taken = json.loads(gzip.decompress(steps.read_bytes()))
        size = SIZES[result["size"]]
        result["regimes"] = {name: compared(turns, size, result) for name, turns in taken.items()}
    return result


def versions(python: str) -> dict[str, str]:
    """What an interpreter has of the packages that matter."""
    import subprocess

    names = ("torch", "transformers", "trl", "accelerate", "deepspeed", "vllm", "math-verify")
    code = (
        "import importlib.metadata as m, json, sys\n"
        "have = {d.metadata['Name'].lower(): d.version for d in m.distributions()}\n"
        "print(json.dumps({n: have[n] for n in sys.argv[1:] if n in have}))"
    )
    done = subprocess.run([python, "-c", code, *names], capture_output=True, check=True)
    return json.loads(done.stdout)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--size", choices=tuple(SIZES), default="tiny")
    add("--peer", default=sys.executable, help="the interpreter that has TRL")
    add("--regimes", nargs="+", choices=REGIMES, default=REGIMES)
    add(
        "--sides",
        nargs="+",
        choices=MODULES,
        help="of a size of new processes, in place of all of its own",
    )
    add("--ours", default="{}", help='further settings of our run, as {"engine": "deepspeed"}')
    add("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of each side")
    add("--turns", type=int, help="of each side in a regime, in place of the size's")
    add("--steps", type=int, help="of a turn, likewise")
    add("--name", help="of the results; by default the size")
    add("--folder", type=Path, help="of what is measured, from which a later call goes on")
    add("--part", help="only that process of a size too large for two: proof, or SIDE-REGIME-TURN")
    add("--growth", action="store_true", help="measure how our cost grows, instead")
    add("--picture", action="store_true", help="only figures and pictures, of what was measured")
    options = parser.parse_args()
    if options.part and not (options.folder and SIZES[options.size].fresh):
        parser.error("--part wants --folder, and a size whose turns are processes of their own")
    if find_spec("matplotlib") is None and not options.part:
        parser.error(f"{sys.executable} has no matplotlib for the pictures: install it first")
    # Under attack a side may be ended: that regime is the last one.
    options.regimes = [regime for regime in REGIMES if regime in options.regimes]
    return options


def main() -> None:
    """The command line."""
    options = parsed()
    name = options.name or ("growth" if options.growth else options.size)
    if options.picture:
        for path in sorted(HERE.glob("*.json")):
            saved(recomputed(path), path.stem)
        picture.draw_all(HERE)
        return
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        if options.growth:
            picture.growth(saved(grown(options, folder), name))
        elif options.part:
            one_part(Benchmark(options, folder))
        else:
            result = comparison(Benchmark(options, folder))
            picture.steps(saved(result, name, options.folder or HERE))


def grown(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """How our cost grows, and how that was measured."""
    began = time.perf_counter()
    result = provenance("throughput.py") | growth.measured(folder, options.threads)
    return result | {"benchmark_s": round(time.perf_counter() - began, 1)}


def one_part(bench: Benchmark) -> None:
    """Measures a part that is asked for, and leaves it in the folder."""
    measures = {"proof": partial(proof, bench)}
    measures |= {part: partial(fresh, bench, *turn) for part, turn in parts(bench).items()}
    part = bench.options.part
    if part not in measures:
        sys.exit(f"--part {part} is none of {', '.join(measures)}")
    bench.kept(part, measures[part])


def comparison(bench: Benchmark) -> dict[str, Any]:
    """The figures of all sides, and how they were measured."""
    began, load = time.perf_counter(), os.getloadavg()[0]
    result = provenance("throughput.py") | {
        "size": bench.options.size,
        "threads": bench.options.threads,
        "settings": bench.size.run,
        "ours": versions(sys.executable),
        "peer": versions(bench.options.peer),
    }
    result |= measured(bench)
    # Above the number of sides that work, one, others were at work too.
    result["load_average"] = {"before": load, "after": os.getloadavg()[0]}
    return result | {"benchmark_s": round(time.perf_counter() - began, 1)}


if __name__ == "__main__":
    main()
