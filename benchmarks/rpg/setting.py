"""What all studies of RPG share.

The setting is that of the released scripts at the scale of the tiny model: advantages without the
standard deviation, means over tokens, clip (0.2, 0.28) with c = 10, β = 1e-4, the old policy for
reference, one pass over a rollout in 16 optimizer steps (512 prompts by 32 there, 128 responses by
8 here), temperature 1. Dynamic sampling and overlong shaping are off, so that cells differ in the
loss alone; DAPO is the anchor, with its loss alone and, where it is called so, with both of its
other parts. AdamW is this project's, as `OPTIMIZER` has it (0.9, 0.95, weight decay 0.01, a cosine
to a tenth), not the scripts' (0.9, 0.999, 0.1, constant).

The learning rate is what `rpg/rate` chose, as a test says. `rpg/weighting` and `rpg/references` ask
what a penalty holds back, and are at the tiny model's own default, 3e-4, where what has none
collapses.

Source: Zhang et al., RPG (arXiv:2505.17508), section 5 and appendix H; complex-reasoning/RPG,
recipe/rpg/7b/*.sh.
"""

from benchmarks.grid.study import OPTIMIZER, Cell

EXCEPT_RATE = (
    f"{OPTIMIZER} --num-prompts 16 --minibatch-size 8 --num-steps 100 --num-test-problems 200 "
    "--max-generations 1 --overlong-buffer 0"
)
COMMON = f"{EXCEPT_RATE} --learning-rate 1e-4"
PENALIZED = f"{EXCEPT_RATE} --learning-rate 3e-4"
DIVERGENCES = {
    "FKL": "forward_kl",
    "RKL": "reverse_kl",
    "UFKL": "unnormalized_forward_kl",
    "URKL": "unnormalized_reverse_kl",
}


def rpg(kind: str, flags: str = "", name: str = "") -> Cell:
    """An RPG with a divergence."""
    told = f"agents.rpg --divergence {DIVERGENCES[kind]} {flags}".strip()
    return Cell(name or f"RPG-{kind}", told)


def reinforce(kind: str, flags: str = "", name: str = "") -> Cell:
    """Its REINFORCE-style form."""
    name = name or f"RPG-REINFORCE-{kind}"
    return rpg(kind, f"--estimator reinforce {flags}".strip(), name)


DAPO = Cell("DAPO", "agents.dapo")
