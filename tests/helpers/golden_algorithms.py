"""Learners of the golden numbers of `algorithms_open.json`, and how such a file is run."""

import json
import math
from dataclasses import replace

import torch

from agents.advantages import centered, pass_at_k
from agents.algorithms.clip_cov import ClipCov
from agents.algorithms.dppo import DPPO
from agents.algorithms.gdpo import GDPO
from agents.algorithms.gmpo import GMPO
from agents.algorithms.gspo import GSPO
from agents.algorithms.kl_cov import KLCov
from agents.algorithms.maxrl import MaxRL
from agents.algorithms.opd import OPD
from agents.algorithms.opsd import OPSD
from agents.algorithms.papo import PAPO
from agents.algorithms.sapo import SAPO
from agents.algorithms.sdft import SDFT
from agents.algorithms.sdpg import ANCHORS, SDPG
from agents.algorithms.sdpo import SDPO
from agents.cispo import CISPO
from agents.corrections import (
    k3_mask,
    masked_weight,
    off_policy_mask,
    product,
    ratio_mask,
    truncated_weight,
)
from agents.dapo import DAPO
from agents.distillation import jensen_shannon, kl_from_teacher, kl_to_teacher, top_k
from agents.divergences import unnormalized_reverse_kl
from agents.grpo import GRPO
from agents.losses import geometric_token
from agents.reductions import constant_length, sequence_mean, token_mean
from agents.rollout import Batch
from helpers.golden_cases import tensor

WIDE = {"clip_low": 0.1, "clip_high": 0.15}
PPO = GRPO(beta=None, reduction=token_mean)
CENTERED = GRPO(beta=None, advantage_function=centered)
PARTS = {"parts": ("part_0", "part_1", "part_2"), "weights": (1.0, 0.5, 2.0)}
CORRECTIONS = {
    "tis_token": truncated_weight(2.0),
    "tis_token_two_sided": truncated_weight(2.0, 0.5),
    "tis_sequence": truncated_weight(2.0, level="response"),
    "mis_token": masked_weight(0.5, 2.0),
    "mis_sequence": masked_weight(0.0, 3.0, "response"),
    "icepop": masked_weight(),
    "geometric_mask": ratio_mask(0.9, 1.1),
    "geometric_mask_all": ratio_mask(0.9, 1.1),
    "geometric_mask_token_weight": product(ratio_mask(0.9, 1.1), truncated_weight(1e30)),
    "sequence_mask": ratio_mask(0.5, 2.0, "response"),
    "k3_mask": k3_mask(0.02),
}
SDPG_GOLDEN = SDPG(beta=0.1, alpha=0.1)
V32 = replace(CENTERED, sampler_correction=off_policy_mask(0.1))
LEARNERS = {
    "gspo": GSPO(),
    "gspo_wide": GSPO(**WIDE),
    "gspo_token": GSPO(**WIDE, level=geometric_token),
    "gmpo": GMPO(),
    "sapo": SAPO(),
    "sapo_sharp": SAPO(tau_positive=2.0, tau_negative=5.0),
    "cispo": CISPO(),
    "cispo_two_sided": CISPO(clip_low=0.2, clip_high=0.28),
    "dppo_binary_tv": DPPO(reduction=constant_length(16)),
    "dppo_binary_tv_old": DPPO(reduction=constant_length(16)),
    "dppo_binary_kl": DPPO(
        distance="kl", delta_low=0.05, delta_high=0.05, reduction=constant_length(16)
    ),
    "reinforce_tis_token": DPPO(
        delta_low=math.inf, delta_high=math.inf, ratio_cap=2.0, reduction=token_mean
    ),
    "maxrl": MaxRL(),
    "pass_at_2": replace(PPO, advantage_function=pass_at_k(2)),
    "pass_at_3": replace(PPO, advantage_function=pass_at_k(3)),
    "gdpo": GDPO(**PARTS),
    "clip_cov": ClipCov(share=1.0, cov_low=0.3, cov_high=1.5),
    "clip_cov_wide_clip": ClipCov(
        share=1.0, cov_low=0.3, cov_high=1.5, clip_low=None, clip_high=1.0
    ),
    "kl_cov": KLCov(share=0.1),
    **{name: replace(PPO, sampler_correction=value) for name, value in CORRECTIONS.items()},
    "off_policy_sequence_mask": V32,
    "off_policy_sequence_mask_sampler": V32,
    "deepseek_v32": replace(V32, beta=0.04, divergence=unnormalized_reverse_kl),
    "overlong_token_mean": DAPO(),
    "overlong_sequence_mean_all": GRPO(beta=None),
    "overlong_constant_length": replace(CENTERED, reduction=constant_length(16)),
    "overlong_kl": GRPO(),
    "papo": PAPO(),
    "papo_double_entropy": PAPO(beta=None, clip_high=0.28, gamma=0.01, entropy_weight=0.03),
    "opd_importance": OPD(),
    "opd_sampled": OPD(estimator="sampled"),
    "opd_sampled_capped": OPD(estimator="sampled", ratio_cap=2.0),
    "opd_k3": OPD(estimator="k3"),
    "opd_k2": OPD(estimator="k2"),
    "opd_full_reverse": OPD(divergence=kl_to_teacher),
    "opd_full_forward": OPD(divergence=kl_from_teacher),
    "opd_full_jsd": OPSD(),
    "opd_full_jsd_09": OPSD(divergence=jensen_shannon(0.9)),
    "opsd_topk_teacher": OPSD(divergence=top_k(4, 0.5, False, "teacher")),
    "sdpo": SDPO(divergence=top_k(4)),
    "sdpo_reverse": SDPO(divergence=top_k(4, 1.0)),
    "sdpo_full_forward": SDPO(divergence=kl_from_teacher, ratio_cap=None),
    "sdft_trl": SDFT(divergence=top_k(4, 0.5, False), ratio_cap=2.0, reduction=sequence_mean),
    **{f"sdpg_{anchor}": replace(SDPG_GOLDEN, anchor=anchor) for anchor in ANCHORS},
    "sdpg_urkl_on_policy": replace(SDPG_GOLDEN, surrogate="on_policy"),
    "sdpg_urkl_token_mean": replace(SDPG_GOLDEN, reduction=token_mean),
    "sdpg_ufkl_token_mean": replace(SDPG_GOLDEN, reduction=token_mean, anchor="ufkl"),
    "sdpg_urkl_ungated": replace(SDPG_GOLDEN, reduction=token_mean, gate=False),
    "sdpg_urkl_importance": replace(SDPG_GOLDEN, surrogate="importance"),
}
"""By the name of the algorithm in the file."""
FLAGS = ("truncated", "distilled")
OWN = ("log_prob", "old_log_prob", "ref_log_prob", "reward", "binary_reward")
"""Fields of a case that are no further keyword of `compute_loss`."""
KEPT = ("geometric_mask", "sequence_mask", "k3_mask")
"""Corrections whose source takes what they reject out of the denominator: here the tokens that
they keep are given as response tokens."""


def read(path):
    """A file of golden numbers."""
    return json.loads(path.read_text())


def arguments(case, reads, temperature=1.0):
    """Positional and further arguments of `compute_loss`, and the leaf of its gradient."""
    values = {
        name: torch.tensor(case[name]) if name in (*FLAGS, "token") else tensor(case[name])
        for name in reads
        if name != "reward_parts"
    }
    mask = torch.tensor(case["response_mask"]).bool()
    if "logits" in values:
        leaf = values["logits"].requires_grad_()
        token = torch.tensor(case["token"])
        log_prob = leaf.log_softmax(-1).gather(-1, token[..., None])[..., 0]
    else:
        leaf = log_prob = tensor(case["log_prob"]).requires_grad_()
    old = values.get("old_log_prob", log_prob.detach())
    reward = values.get("binary_reward", tensor(case["reward"]))
    further = {name: value for name, value in values.items() if name not in OWN}
    if "reward_parts" in reads:
        columns = tensor(case["reward_parts"]).unbind(-1)
        further["reward_parts"] = {f"part_{i}": part for i, part in enumerate(columns)}
    for name in set(FLAGS) & further.keys():
        further[name] = further[name].bool()
    for name in {"logits", "teacher_logits"} & further.keys():
        further[name] = further[name] / temperature
    given = log_prob, old, reward, mask, case["group_size"], values.get("ref_log_prob")
    return given, further, leaf


def loss_and_gradient(learner, golden, name, case_name):
    """Of one algorithm on one case of a file."""
    case = golden["cases"][case_name]
    algorithm = golden["algorithms"][name]
    temperature = algorithm["settings"].get("temperature", 1.0)
    given, further, leaf = arguments(case, algorithm["reads"], temperature)
    log_prob, old, reward, mask, size, ref = given
    if name in KEPT:
        batch = Batch(mask, old, old, old, sampler_log_prob=further["sampler_log_prob"])
        mask = mask & (learner.sampler_correction(batch, log_prob.detach()) != 0)
    loss = learner.compute_loss(log_prob, old, reward, mask, size, ref, **further)
    return loss.detach(), torch.autograd.grad(loss, leaf)[0]


def assert_golden(learner, golden, name):
    """Fits one and the same target in all cases of an algorithm, the first that is accepted."""
    algorithm = golden["algorithms"][name]
    assert learner.uses_reference == algorithm["uses_ref_log_prob"]
    target = algorithm["accept"][0]
    for case_name, results in algorithm["results"].items():
        loss, gradient = loss_and_gradient(learner, golden, name, case_name)
        expected = results[target]
        torch.testing.assert_close(gradient, tensor(expected["gradient"]), rtol=1e-6, atol=1e-9)
        if "loss" in algorithm["compare"]:
            torch.testing.assert_close(loss, tensor(expected["loss"]), rtol=1e-6, atol=1e-9)
