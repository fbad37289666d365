"""Table 2 of CPGD: its components, its weighting factors, and a reference constraint.

The paper's claims: the clip matters most (PG 0.89 and PGD 0.86 against CPG and CPGD 1.11 overall),
drift little; unprocessed rewards are worst (0.85), equal weights a little worse (1.09) than STD
(1.11) and the clip-filter-like weight (1.10); a reference constraint costs (1.05).

The four components are runs of `stability/below` with the STD weight. The clip-filter-like weight
has the released code's cap of 3; "STD times filter" is what its two flags do together. The paper
gives no strength of the reference constraint: 0.001 is MM-Eureka's (arXiv:2503.07365), 0.04 that of
DeepSeekMath.
"""

from benchmarks.grid.study import Cell, Study, against
from benchmarks.stability import setting

CELLS = (
    setting.CPGD,
    setting.PG,
    setting.PGD,
    setting.CPG,
    Cell("unprocessed rewards", "agents.cpgd --advantage-function raw"),
    Cell("equal weight", "agents.cpgd --advantage-function centered"),
    Cell("clip-filter-like weight", "agents.cpgd --advantage-function 'clip_filter(3.0)'"),
    Cell("STD times filter", "agents.cpgd --advantage-function 'clip_filter(3.0, True)'"),
    Cell("reference 0.001", "agents.cpgd --beta 0.001"),
    Cell("reference 0.04", "agents.cpgd --beta 0.04"),
)
STUDY = Study(
    name="ablations/table2",
    question="Which parts of CPGD matter?",
    cells=CELLS,
    common=setting.COMMON,
    seeds=(0, 1, 2, 3, 4),
    pairs=against("CPGD", CELLS),
)
