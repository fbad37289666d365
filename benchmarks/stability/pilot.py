"""At which learning rate does GRPO collapse? It alone chooses that of the other studies of CPGD.

The rule, written down before any run of this pilot was made: of the rates below, the smallest at
which at least half of GRPO's runs collapse (`benchmarks/grid/collapse.py`); where there is none,
the one at which most do, the largest of several. The rates were chosen after one run of GRPO at
1e-3 and eight steps of one at 5e-4, both with seed 0, had been seen. The seeds are of no other
study, and no other algorithm is looked at, so that the choice favours none but for being made where
GRPO fails.

The rule gave 5e-4, where each of GRPO's four runs collapsed within ten steps. Of the first 37 runs
of `stability/figure1` at that rate all 37 had collapsed, whatever the algorithm: a rate that tells
nothing apart. So the next smaller one, at which one of four had collapsed, was taken for
`stability/below` and the ablations. That was decided after those 37 runs, and before any at the
smaller rate but GRPO's in this pilot.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.errors import UsageError
from agents.storage.json_files import read_json
from benchmarks.grid.study import BELOW, RATE, Cell, Study
from benchmarks.stability.setting import EXCEPT_RATE

RATES = ("3e-4", "5e-4", "1e-3", "2e-3")
STUDY = Study(
    name="stability/pilot",
    question="At which learning rate does GRPO collapse?",
    cells=tuple(
        Cell(f"GRPO {rate}", f"agents.grpo --beta None --learning-rate {rate}") for rate in RATES
    ),
    common=EXCEPT_RATE,
    seeds=(100, 101, 102, 103),
    pairs=(),
    pilot=True,
)


def choice(cells: Mapping[str, Any]) -> str:
    """The rate that the rule chooses.

    Args:
        cells: By name, each with `collapses` and `num_seeds`.
    """
    shares = {
        rate: cells[f"GRPO {rate}"]["collapses"] / cells[f"GRPO {rate}"]["num_seeds"]
        for rate in RATES
        if f"GRPO {rate}" in cells
    }
    enough = [rate for rate, share in shares.items() if share >= 0.5]
    return min(enough, key=float) if enough else max(shares, key=lambda r: (shares[r], float(r)))


def below(rate: str) -> str:
    """The next smaller rate of the pilot; the smallest itself has none."""
    return RATES[max(0, RATES.index(rate) - 1)]


def chosen(results: Path, whole: bool = True) -> dict[str, str]:
    """The rates that the pilot of a folder of results has chosen, by what stands for them.

    Args:
        results: Folder of tables.
        whole: Refuse to choose from a part of the pilot's runs.

    Raises:
        UsageError: It has not been run, or not as a whole.
    """
    path = results / "stability" / "pilot.json"
    if not path.exists():
        raise UsageError(
            f"{path} is not there: run python -m benchmarks.grid {STUDY.name} first, which "
            "chooses the learning rate, or give --output and --flags --learning-rate"
        )
    cells = read_json(path)["cells"]
    done = sum(cell["num_seeds"] for cell in cells.values())
    if whole and done < len(RATES) * len(STUDY.seeds):
        raise UsageError(
            f"{path} has {done} runs of {len(RATES) * len(STUDY.seeds)}: go on with "
            f"python -m benchmarks.grid {STUDY.name} before its rate is used"
        )
    rate = choice(cells)
    return {RATE: rate, BELOW: below(rate)}
