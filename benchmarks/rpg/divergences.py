"""RPG's four divergences and two estimators, at the released β and at one that can be felt.

With the old policy for reference the two estimators have one gradient, and so have the forward
divergences among themselves in expectation, and the reverse ones: what differs is noise. The paper
reports the unnormalized ones ahead of DAPO by up to 6 points (its Table 3). At β = 1e-4 the
divergence is far weaker than the reward; 0.1 is chosen to see it. DAPO in full samples up to three
rollouts for an update, as the scripts generate three times what they train on.
"""

from benchmarks.grid.study import Cell, Study, against
from benchmarks.rpg.setting import COMMON, DAPO, DIVERGENCES, reinforce, rpg

CELLS = (
    DAPO,
    Cell("DAPO in full", "agents.dapo --max-generations 3 --overlong-buffer 9"),
    *(rpg(kind) for kind in DIVERGENCES),
    *(reinforce(kind) for kind in DIVERGENCES),
    *(rpg(kind, "--beta 0.1", f"RPG-{kind} 0.1") for kind in DIVERGENCES),
)
STUDY = Study(
    name="rpg/divergences",
    question="Do RPG's divergences and estimators differ, and from DAPO?",
    cells=CELLS,
    common=COMMON,
    seeds=(0, 1, 2),
    pairs=against("DAPO", CELLS),
)
