"""RPG's clip: bounds (0.1, 0.1) and (0.2, 0.28), c, and no clip at all.

The paper's figure 8: (0.1, 0.1) and (0.2, 0.28) reach similar rewards, with much lower entropy for
the first. It gives no c; the released scripts pass 10, the code's default is 3.
"""

from benchmarks.grid.study import Study, against
from benchmarks.rpg.setting import COMMON, DAPO, reinforce

CELLS = (
    reinforce("URKL"),
    reinforce("URKL", "--dual-clip 3.0", "c = 3"),
    reinforce("URKL", "--clip-low 0.1 --clip-high 0.1", "(0.1, 0.1)"),
    reinforce("URKL", "--clip-low None --clip-high None --dual-clip None", "no clip"),
    DAPO,
)
STUDY = Study(
    name="rpg/clips",
    question="What does RPG's clip do?",
    cells=CELLS,
    common=COMMON,
    seeds=(0, 1, 2),
    pairs=against("RPG-REINFORCE-URKL", CELLS),
)
