"""At which learning rate can RPG be compared with DAPO? DAPO alone chooses it.

The rule, written down before any run of this pilot was made: of the rates below, the largest at
which none of DAPO's runs collapses (`benchmarks/grid/collapse.py`); where there is none, the
smallest. Why there is a pilot at all: at the tiny model's own default, 3e-4, the first four runs of
`rpg/divergences`, those of DAPO, DAPO in full, RPG-FKL and RPG-RKL with seed 0, had all collapsed,
and so had each of GRPO's three without a penalty in `rpg/weighting`. The seeds are of no study of
RPG. The rule gave 1e-4.
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
