"""Problems of Diagrams-v0 a second on one core, and what a blind guess earns, by family.

    python benchmarks/diagrams.py                          448 pixels, a minute or two
    python benchmarks/diagrams.py --size 896 --num-problems 20

A problem is made as training makes it: drawn, checked, in words and in pixels. The blind guess is
the answer that a family gives most often to the same wording, numbers in it aside, fitted to half
of 800 exercises and tested on the others. Results go to diagrams/diagrams.json.
"""

import argparse
import json
import time
from pathlib import Path

from blind import blind
from provenance import provenance
from reasonenv.envs import diagrams
from reasonenv.envs.diagrams import BUILT_IN, FAMILIES, LEVELS

RESULT = Path(__file__).with_suffix("") / "diagrams.json"


def speed(num_problems: int, size: int, families: list[str] | None = None) -> float:
    """Problems a second of all levels in turn, after one of each to load fonts."""
    posed = diagrams.problems(level=LEVELS, families=families, size=size)
    posed[: len(LEVELS)]
    start = time.process_time()
    posed[len(LEVELS) : len(LEVELS) + num_problems]
    return num_problems / (time.process_time() - start)


def row(name: str, num_problems: int, size: int) -> dict[str, float]:
    chances = [0.25 if FAMILIES[name].needs_options else blind(name, level) for level in LEVELS]
    measured = {"per_second": round(speed(num_problems, size, [name]), 1), "blind": max(chances)}
    print(f"{name:24}{measured['per_second']:8.1f}{measured['blind']:8.3f}", flush=True)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-problems", type=int, default=100)
    parser.add_argument("--size", type=int, default=448)
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    families = {name: row(name, options.num_problems, options.size) for name in BUILT_IN}
    mix = round(speed(5 * options.num_problems, options.size), 1)
    print(f"{'all, equally often':24}{mix:8.1f}")
    result = provenance("diagrams.py") | {"size": options.size, "mix": mix, "families": families}
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
