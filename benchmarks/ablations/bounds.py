"""How tight must CPGD's clip and drift be? Thresholds, coefficients, the schedule, PPO's clip.

What the paper leaves without a number. Clip thresholds 0.05, 0.1 and 0.2 (the released code's);
drift coefficients 0, 0.001 (siiRL's scripts), 0.01 (the released scripts'), 0.1 and 1; the schedule
of the clip from tight to loose (section 4.3, I), λ = 1 (none), 0.5 and 0; PPO's clip on the ratio
without a drift and with one of 0.01 and 0.1. Gradient norms, and the KL divergence of the policy
from the one before the update, stand in every table.
"""

from benchmarks.grid.study import Cell, Study, against
from benchmarks.stability import setting

CELLS = (
    setting.CPGD,
    Cell("clip 0.1", "agents.cpgd --clip-low 0.1 --clip-high 0.1"),
    Cell("clip 0.05", "agents.cpgd --clip-low 0.05 --clip-high 0.05"),
    setting.CPG,
    Cell("drift 0.001", "agents.cpgd --drift-coefficient 0.001"),
    Cell("drift 0.1", "agents.cpgd --drift-coefficient 0.1"),
    Cell("drift 1", "agents.cpgd --drift-coefficient 1.0"),
    Cell("tight to loose 0.5", "agents.cpgd --clip-schedule 0.5"),
    Cell("tight to loose 0", "agents.cpgd --clip-schedule 0.0"),
    setting.GRPO,
    setting.GRPO_DRIFT,
    Cell("GRPO with drift 0.1", "agents.grpo --beta None --drift-coefficient 0.1"),
)
STUDY = Study(
    name="ablations/bounds",
    question="How tight must CPGD's clip and drift be?",
    cells=CELLS,
    common=setting.COMMON,
    seeds=(0, 1, 2),
    pairs=(
        *against("CPGD", CELLS[:9]),
        ("GRPO with drift", "GRPO"),
        ("GRPO with drift 0.1", "GRPO"),
    ),
)
