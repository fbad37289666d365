"""What all studies of CPGD share, and the ten algorithms of figure 1 of its paper.

The setting is that of the paper's section 4.2 and of the scripts that were released with it, at the
scale of the tiny model:

- no reference policy, one pass over a rollout, temperature 1, 8 responses to a prompt (paper);
- a rollout is cut into 8 minibatches, so that ratios leave 1 from the second on: 1024 responses by
  128 in the scripts (`rollout_batch_size` 128 prompts, `train_batch_size` 128 responses), 128 by 16
  here;
- 100 rollouts, 800 optimizer steps: with the smaller rollout what lets all studies end in an
  evening on two cores, and set so before any run of a study was made;
- reward = accuracy + 0.5 format (`reward_func_qwen_instruct.py`); Figures itself pays 0.1;
- losses are averaged over each response, then over responses, whatever the algorithm: what token
  means over microbatches of one response amount to in the scripts;
- AdamW 0.9, 0.95, weight decay 0.01, epsilon 1e-8, gradients cut at norm 1, no warm-up, a cosine to
  a tenth (scripts); the kept records have steps without a signal too, as the scripts take them;
- the learning rate is chosen by `stability/pilot`, which leaves two: `stability/figure1` is at the
  one, `stability/below` and the ablations at the other; the paper's is 1e-6 for a model of 7
  billion parameters.

Clips are 0.2 (the scripts' default), the drift is 0.01 with a cap of 2 (scripts), the dual clip is
3 (paper). RLOO and REINFORCE++ normalize advantages over the rollout (`GlobalNorm`, paper section
3). The released code bounds every ratio by 3, also where the paper says GRPO without dual clip; as
in the paper, only the cell that is called so has a dual clip here.

Source: Liu et al., CPGD (arXiv:2505.12504), sections 3, 4.2 and 5.3; MM-EUREKA, branch qwen,
examples/scripts/train_cpgd_qwen_7b_*.sh and openrlhf/models/loss.py.
"""

from benchmarks.grid.study import BELOW, OPTIMIZER, Cell

REWARDS = '{{"rewards": {{"accuracy": 1.0, "format": {weight}}}}}'
EXCEPT_RATE = (
    f"{OPTIMIZER} --env-options '{REWARDS.format(weight=0.5)}' --reduction sequence_mean "
    "--num-prompts 16 --minibatch-size 16 --num-steps 100 --num-test-problems 200"
)
COMMON = f"{EXCEPT_RATE} --learning-rate {BELOW}"

NO_CLIP = "--clip-low None --clip-high None"
RLOO = Cell("RLOO", "agents.rloo --whiten --clip-low 0.2 --clip-high 0.2")
REINFORCE_PLUS_PLUS = Cell("REINFORCE++", "agents.reinforce_plus_plus --beta None")
GRPO = Cell("GRPO", "agents.grpo --beta None")
GRPO_NO_CLIP = Cell("GRPO without clip", f"agents.grpo --beta None {NO_CLIP}")
GRPO_DUAL = Cell("GRPO with dual clip", "agents.grpo --beta None --dual-clip 3.0")
GRPO_DRIFT = Cell("GRPO with drift", "agents.grpo --beta None --drift-coefficient 0.01")
PG = Cell("PG", f"agents.cpgd {NO_CLIP} --drift-coefficient None")
CPG = Cell("CPG", "agents.cpgd --drift-coefficient None")
PGD = Cell("PGD", f"agents.cpgd {NO_CLIP}")
CPGD = Cell("CPGD", "agents.cpgd")
