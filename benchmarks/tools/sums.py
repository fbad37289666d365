"""Sum-v0 with its calculator and without it."""

from benchmarks.grid.study import Study
from benchmarks.tools.setting import COMMON, NO_TOOL, SEEDS, TOOL

STUDY = Study(
    name="tools/sums",
    question="What is a calculator worth on Sum-v0?",
    cells=(TOOL, NO_TOOL),
    common=f"--env Sum-v0 {COMMON}",
    seeds=SEEDS,
    pairs=(("tool", "no tool"),),
)
