"""What the studies of this folder share: the defaults of the model for tools, GRPO, 5 seeds."""

from benchmarks.grid.study import Cell

COMMON = "--model tiny-tools --num-steps 100 --num-test-problems 500"
SEEDS = (0, 1, 2, 3, 4)
TOOL = Cell("tool", "agents.grpo")
NO_TOOL = Cell("no tool", """agents.grpo --env-options '{"max_calls": 0}'""")
