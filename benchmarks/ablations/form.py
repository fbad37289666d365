"""Is the format reward hacked where there is no clip?

Section 4.2 of CPGD: without the clip, PG and PGD degenerate into a few tokens that earn the reward
for format. Here format pays 0.5, as in the released reward (runs of `stability/below`), or 2,
twice as much as a right answer. Hacking shows as a collapse into form, or as responses of less than
a third of their first length; the last responses of each run are kept in its record.
"""

from benchmarks.grid.study import Cell, Study
from benchmarks.stability import setting

ONES = (setting.CPGD, setting.CPG, setting.PGD, setting.PG)
PAYS_MORE = f"--env-options '{setting.REWARDS.format(weight=2.0)}'"
STUDY = Study(
    name="ablations/form",
    question="Is the format reward hacked where there is no clip?",
    cells=ONES + tuple(Cell(f"{c.name}, format 2", f"{c.command} {PAYS_MORE}") for c in ONES),
    common=setting.COMMON,
    seeds=(0, 1, 2, 3, 4),
    pairs=(
        ("CPG", "PG"),
        ("CPGD", "PGD"),
        ("CPG, format 2", "PG, format 2"),
        ("CPGD, format 2", "PGD, format 2"),
    ),
)
