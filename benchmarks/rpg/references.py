"""Which policy should RPG's divergence be from, and when should it follow?

Section 5 of RPG updates the reference every K optimizer steps, or when a moving average of the
token KL exceeds κ, and gives a number for neither; the released code takes the old policy, which is
a new one every 16 optimizer steps. Here K = 64, four rollouts, κ = 0.01 and 0.1 nats a token, the
old policy and the first, at a β that can be felt.
"""

from benchmarks.grid.study import Study, against
from benchmarks.rpg.setting import PENALIZED, rpg

CELLS = (
    rpg("URKL", "--beta 0.1", "old policy"),
    rpg("URKL", "--beta 0.1 --reference 'every(64)'", "every 64 steps"),
    rpg("URKL", "--beta 0.1 --reference 'when_moved(0.01)'", "beyond 0.01 nats"),
    rpg("URKL", "--beta 0.1 --reference 'when_moved(0.1)'", "beyond 0.1 nats"),
    rpg("URKL", "--beta 0.1 --reference fixed", "first policy"),
)
STUDY = Study(
    name="rpg/references",
    question="Which reference should RPG have, and when should it follow?",
    cells=CELLS,
    common=PENALIZED,
    seeds=(0, 1, 2),
    pairs=against("old policy", CELLS),
)
