"""Zoom-v0 at level 2, where half of the plans need the tool, with it and without it."""

from benchmarks.grid.study import Cell, Study
from benchmarks.tools.setting import COMMON, SEEDS

STUDY = Study(
    name="tools/zoom",
    question="What is a zoom worth on plans of which half can be read without it?",
    cells=(
        Cell("tool", """agents.grpo --env-options '{"level": 2}'"""),
        Cell("no tool", """agents.grpo --env-options '{"level": 2, "max_calls": 0}'"""),
    ),
    common=f"--env Zoom-v0 {COMMON}",
    seeds=SEEDS,
    pairs=(("tool", "no tool"),),
)
