"""How far off policy can RPG be trained? 1, 4 and 16 optimizer steps on a rollout.

On policy, with one step, all ratios are 1: no clip acts and the corrections are nothing. The
minibatches of 128, 32 and 8 responses differ in noise too, at one learning rate.
"""

from benchmarks.grid.study import Cell, Study
from benchmarks.rpg.setting import COMMON, DAPO, reinforce

ONES = (reinforce("URKL"), DAPO)
SIZES = {1: 128, 4: 32, 16: 8}
STUDY = Study(
    name="rpg/off_policy",
    question="How far off policy can RPG be trained?",
    cells=tuple(
        Cell(f"{cell.name}, {steps}", f"{cell.command} --minibatch-size {size}")
        for steps, size in SIZES.items()
        for cell in ONES
    ),
    common=COMMON,
    seeds=(0, 1, 2),
    pairs=tuple((f"RPG-REINFORCE-URKL, {steps}", f"DAPO, {steps}") for steps in SIZES),
)
