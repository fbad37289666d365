"""At which learning rate can RPG be compared with DAPO? DAPO alone chooses it.

The rule, written down before any run of this pilot was made: of the rates below, the largest at
which none of DAPO's runs collapses (`benchmarks/grid/collapse.py`); where there is none, the
smallest. Why there is a pilot at all: at the tiny model's own default, 3e-4, the first four runs of
`rpg/divergences` (seed 0) ended at accuracies of .02 (DAPO), .47 (in full), .06 (RPG-FKL) and .11
(RPG-RKL), and GRPO without a penalty collapsed in each of three in `rpg/weighting`. The seeds are
of no study of RPG.
"""

from collections.abc import Mapping
from typing import Any

from benchmarks.grid.study import Cell, Study
from benchmarks.rpg.setting import EXCEPT_RATE

RATES = ("1e-4", "2e-4", "3e-4")
STUDY = Study(
    name="rpg/rate",
    question="At which learning rate can RPG be compared with DAPO?",
    cells=tuple(Cell(f"DAPO {rate}", f"agents.dapo --learning-rate {rate}") for rate in RATES),
    common=EXCEPT_RATE,
    seeds=(100, 101, 102),
    pairs=(),
    pilot=True,
)


def choice(cells: Mapping[str, Any]) -> str:
    """The rate that the rule chooses.

    Args:
        cells: By name, each with `collapses`.
    """
    lasting = [rate for rate in RATES if not cells[f"DAPO {rate}"]["collapses"]]
    return max(lasting or RATES[:1], key=float)
