"""Rollouts that are sampled ahead of the updates, with and without a correction, on equal samples.

GRPO on Figures-v2 with four optimizer steps a rollout, so that a rollout at K = 4 was sampled by a
policy of sixteen optimizer steps before. At K = 0 the sampler is the trainer's own policy and there
is nothing to correct. The correction is the default one, importance weights of tokens truncated at
2. K = 0 and K = 1 have five seeds, the others three.
"""

from benchmarks.grid.study import Cell, Study

GRPO = "agents.grpo --staleness"
CELLS = (
    Cell("K = 0", f"{GRPO} 0"),
    Cell("K = 1", f"{GRPO} 1"),
    Cell("K = 1, uncorrected", f"{GRPO} 1 --sampler-correction uncorrected"),
    Cell("K = 4", f"{GRPO} 4"),
    Cell("K = 4, uncorrected", f"{GRPO} 4 --sampler-correction uncorrected"),
)
STUDY = Study(
    name="mismatch/staleness",
    question="What does sampling ahead of the updates cost on equal samples?",
    cells=CELLS,
    common="--num-prompts 16 --minibatch-size 32 --num-steps 100 --num-test-problems 200 "
    "--learning-rate 1e-4",
    seeds=(0, 1, 2, 3, 4),
    pairs=(
        *(("K = 0", cell.name) for cell in CELLS[1:]),
        ("K = 1", "K = 1, uncorrected"),
        ("K = 4", "K = 4, uncorrected"),
    ),
)
"""Staleness of 0, 1 and 4 updates: a study."""
