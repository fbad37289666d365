"""Does it matter that GRPO's penalty lacks the importance weight?

Section 2.2 of RPG: the k3 penalty of GRPO, from samples of the old policy, lacks the ratio of
policy and old policy, and has the gradient of another divergence even on policy.
`unnormalized_reverse_kl` is k3 with that ratio, differentiated too. GRPO otherwise as published,
its reference the first policy; β = 0.04 (DeepSeekMath) and ten times as much, to feel it.
"""

from benchmarks.grid.study import Cell, Study
from benchmarks.rpg.setting import PENALIZED

CORRECTED = "--divergence unnormalized_reverse_kl"
STUDY = Study(
    name="rpg/weighting",
    question="Does it matter that GRPO's KL penalty lacks the importance weight?",
    cells=(
        Cell("no penalty", "agents.grpo --beta None"),
        Cell("k3 0.04", "agents.grpo --beta 0.04"),
        Cell("corrected 0.04", f"agents.grpo --beta 0.04 {CORRECTED}"),
        Cell("k3 0.4", "agents.grpo --beta 0.4"),
        Cell("corrected 0.4", f"agents.grpo --beta 0.4 {CORRECTED}"),
    ),
    common=PENALIZED,
    seeds=(0, 1, 2),
    pairs=(("corrected 0.04", "k3 0.04"), ("corrected 0.4", "k3 0.4")),
)
