"""The inputs of the golden numbers, the learners that give them, and how one is run."""

import json
from dataclasses import replace
from pathlib import Path

import torch
from torch.nn.utils.rnn import pad_sequence

from agents import divergences, references
from agents.advantages import centered, clip_filter, pass_at_k, raw, standardized
from agents.algorithms import ALGORITHMS, find_learner
from agents.corrections import masked_weight, off_policy_mask, product
from agents.cpgd import CPGD
from agents.dapo import DAPO
from agents.divergences import unnormalized_reverse_kl
from agents.dr_grpo import DrGRPO
from agents.gpg import GPG
from agents.grpo import GRPO
from agents.losses import per_response, reinforce, truncated
from agents.reductions import constant_length, sequence_mean, token_mean
from agents.reinforce import Reinforce
from agents.reinforce_plus_plus import ReinforcePlusPlus, ReinforcePlusPlusBaseline
from agents.rloo import RLOO
from agents.rpg import RPG

FOLDER = Path(__file__).parents[1] / "golden"
GOLDEN = json.loads((FOLDER / "losses.json").read_text())
PPO = {"clip_low": 0.2, "clip_high": 0.2}
UNCLIPPED = {"clip_low": None, "clip_high": None}
WITHOUT_CLIP = UNCLIPPED | {"dual_clip": None}
DIVERGENCES = {
    "fkl": divergences.forward_kl,
    "rkl": divergences.reverse_kl,
    "ufkl": divergences.unnormalized_forward_kl,
    "urkl": divergences.unnormalized_reverse_kl,
}
GROUP_NORM = RLOO(whiten=True, **PPO, reduction=sequence_mean)

LEARNERS = {
    "cpgd_prompt_mean": CPGD(),
    "cpgd_token_mean": CPGD(reduction=token_mean),
    "cpgd_sequence_mean": CPGD(reduction=sequence_mean),
    "cpg": CPGD(drift_coefficient=None),
    "pgd": CPGD(**UNCLIPPED),
    "pg": CPGD(**UNCLIPPED, drift_coefficient=None),
    "cpgd_equal_weight": CPGD(advantage_function=centered),
    "cpgd_clip_filter_weight": CPGD(advantage_function=clip_filter(3.0)),
    "cpgd_clip_filter_weight_cap": CPGD(advantage_function=clip_filter(1.2)),
    "cpgd_strong_drift": CPGD(drift_coefficient=0.5, drift_cap=0.5),
    "cpgd_tight_to_loose": CPGD(clip_schedule=0.5),
    "cpgd_std_clip_filter_weight": CPGD(advantage_function=clip_filter(3.0, divide_by_std=True)),
    "cpgd_raw_reward": CPGD(advantage_function=raw),
    "cpgd_reference_kl": CPGD(beta=0.05, reduction=sequence_mean),
    "grpo": GRPO(),
    "grpo_no_kl": GRPO(beta=None),
    "grpo_no_clip": GRPO(beta=None, **UNCLIPPED),
    "grpo_dual_clip": GRPO(beta=None, dual_clip=3.0),
    "grpo_drift": GRPO(beta=None, drift_coefficient=0.01),
    "grpo_dual_clip_drift": GRPO(beta=None, dual_clip=3.0, drift_coefficient=0.01),
    "grpo_token_mean": GRPO(reduction=token_mean),
    "grpo_corrected_kl": GRPO(divergence=unnormalized_reverse_kl),
    "dapo": DAPO(),
    "dapo_dual_clip": DAPO(dual_clip=10.0),
    "dr_grpo": DrGRPO(reduction=constant_length(16)),
    "rloo": RLOO(),
    "rloo_clip": RLOO(**PPO, reduction=token_mean),
    "rloo_sequence_ratio": RLOO(**PPO, level=per_response, reduction=sequence_mean),
    "rloo_global_norm": GROUP_NORM,
    "rloo_global_norm_dual_clip": replace(GROUP_NORM, dual_clip=3.0),
    "reinforce_plus_plus": ReinforcePlusPlus(),
    "reinforce_plus_plus_no_kl": ReinforcePlusPlus(beta=0.0),
    "reinforce_plus_plus_sequence_mean": ReinforcePlusPlus(reduction=sequence_mean),
    "reinforce_plus_plus_baseline": ReinforcePlusPlusBaseline(),
    "reinforce_plus_plus_baseline_k2": ReinforcePlusPlusBaseline(beta=0.01),
    "gpg": GPG(),
    "gpg_std": GPG(divide_by_std=True),
    "reinforce": Reinforce(),
}
for short, divergence in DIVERGENCES.items():
    clipped = RPG(divergence=divergence, beta=0.1)
    bare = replace(clipped, **WITHOUT_CLIP)
    LEARNERS |= {
        f"rpg_{short}": bare,
        f"rpg_{short}_dual_clip": clipped,
        f"rpg_reinforce_{short}": replace(bare, estimator=reinforce),
        f"rpg_reinforce_{short}_dual_clip": replace(clipped, estimator=reinforce),
        f"rpg_reinforce_{short}_truncated": replace(clipped, estimator=reinforce, clip=truncated),
        f"rpg_{short}_fixed_reference": replace(bare, reference=references.fixed),
        f"rpg_{short}_sequence_ratio": replace(bare, level=per_response, reduction=sequence_mean),
    }
DEFAULTS = {name: find_learner(name)() for name in ALGORITHMS}
EVERY = LEARNERS | {
    "standardized_rloo": RLOO(advantage_function=standardized),
    "pass_at_2": GRPO(beta=None, advantage_function=pass_at_k(2)),
    "corrected": GRPO(sampler_correction=product(masked_weight(), off_policy_mask(0.1))),
    **{name: x for name, x in DEFAULTS.items() if {*x.reads} <= {"reward_parts"}},
}
"""What every invariance is shown of."""


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def case(name="strong"):
    """Arguments of `compute_loss`."""
    values = GOLDEN["cases"][name]
    mask, size = torch.tensor(values["response_mask"]).bool(), values["group_size"]
    old, reward, ref = (tensor(values[k]) for k in ("old_log_prob", "reward", "ref_log_prob"))
    return tensor(values["log_prob"]), old, reward, mask, size, ref


def loss_and_gradient(learner, log_prob, *arguments):
    log_prob = log_prob.detach().requires_grad_()
    parts = {"accuracy": arguments[1], "format": arguments[1] / 2}
    further = {"reward_parts": parts} if "reward_parts" in learner.reads else {}
    if learner.second_context is not None:
        old, mask = arguments[0], arguments[2]
        teacher = (old / 2).where(mask, 0.0) - 0.3
        value = (log_prob.where(mask, 0.0) - teacher).square()
        is_divergence = learner.second_context.value == "divergence"
        further[learner.second_context.value] = value if is_divergence else teacher
    loss = learner.compute_loss(log_prob, *arguments, **further)
    return loss.detach(), torch.autograd.grad(loss, log_prob)[0]


def padded(rows, width):
    """Rows of response tokens, with zeros on padding."""
    columns = pad_sequence([tensor(row) for row in rows], batch_first=True)
    return torch.nn.functional.pad(columns, (0, width - columns.shape[1]))
