"""Sum-v0 where each call costs a part of the reward of a right answer."""

import json

from benchmarks.grid.study import Cell, Study, against
from benchmarks.tools.setting import COMMON, TOOL

PRICES = (0.05, 0.2)


def priced(price: float) -> Cell:
    """Cell in which a call costs a price."""
    options = json.dumps({"rewards": {"accuracy": 1, "calls": -price}})
    return Cell(f"price {price:g}", f"agents.grpo --env-options '{options}'")


CELLS = (TOOL, *map(priced, PRICES))
STUDY = Study(
    name="tools/price",
    question="Does a price per call change how often Sum-v0's calculator is called?",
    cells=CELLS,
    common=f"--env Sum-v0 {COMMON}",
    seeds=(0, 1, 2),
    pairs=against("tool", CELLS),
)
