"""The algorithms of 2025 and 2026 beside GRPO and CPGD, each as published, on equal samples.

The setting is that of the studies of RPG at their rate, on Figures-v2. SDPG's weight of the
distillation, 1e-3 as published, is too small to be felt here, so that it is tried at 0.1 too, and
there with an empty context: a teacher that reads the policy's own prompt. Its schedule is that of
the paper's 400 steps scaled to 100. The teacher of OPD is `TEACHER`, GRPO after 200 steps with a
seed of no cell. PAPO is for a model that reads images, as this one; what it does to the accuracy
with masked images is in `benchmarks/recent/masked.py`.
"""

from benchmarks.grid.study import TEACHER, Cell, Study, against

SDPG = "agents.algorithms.sdpg --warmup 12 --decay 88"
OPD = f"agents.algorithms.opd --teacher {TEACHER}"
CELLS = (
    Cell("GRPO", "agents.grpo"),
    Cell("CPGD", "agents.cpgd"),
    Cell("GSPO", "agents.algorithms.gspo"),
    Cell("SAPO", "agents.algorithms.sapo"),
    Cell("DPPO", "agents.algorithms.dppo"),
    Cell("SDPG", SDPG),
    Cell("SDPG 0.1", f"{SDPG} --beta 0.1"),
    Cell("SDPG 0.1, empty", f"{SDPG} --beta 0.1 --view same_prompt"),
    Cell("OPD", OPD),
    Cell("OPD, vocabulary", f"{OPD} --divergence kl_to_teacher"),
    Cell("PAPO", "agents.algorithms.papo"),
)
STUDY = Study(
    name="recent/figures",
    question="Do the algorithms of 2025 and 2026 differ from GRPO on Figures?",
    cells=CELLS,
    common="--num-prompts 16 --minibatch-size 8 --num-steps 100 --num-test-problems 200 "
    "--max-generations 1 --overlong-buffer 0 --learning-rate 1e-4",
    seeds=(0, 1, 2),
    pairs=(*against("GRPO", CELLS), ("SDPG 0.1", "SDPG 0.1, empty")),
)
