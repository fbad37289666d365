"""Figure 1 of CPGD: ten algorithms, the same hyper-parameters, no reference policy, ten seeds.

The paper's claims: RLOO, REINFORCE++, GRPO and GRPO without clip have unstable ratios and collapse
in mid-run; GRPO with dual clip or drift, PG, CPG, PGD and CPGD do not; PG and PGD lose their length
instead, to a lone `<think>` that earns the format reward; about 1 % of the tokens are clipped.

At the rate that `stability/pilot` chooses; `stability/below` is the same at a smaller one.
"""

from benchmarks.grid.study import RATE, Study, against
from benchmarks.stability import setting

CELLS = (
    setting.CPGD,
    setting.CPG,
    setting.PGD,
    setting.PG,
    setting.GRPO,
    setting.GRPO_NO_CLIP,
    setting.GRPO_DUAL,
    setting.GRPO_DRIFT,
    setting.RLOO,
    setting.REINFORCE_PLUS_PLUS,
)
STUDY = Study(
    name="stability/figure1",
    question="Does CPGD stay stable where the others collapse?",
    cells=CELLS,
    common=f"{setting.EXCEPT_RATE} --learning-rate {RATE}",
    seeds=tuple(range(10)),
    pairs=against("CPGD", CELLS),
)
