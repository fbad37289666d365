"""Learners of the golden numbers of `algorithms_open.json`, and how such a file is run."""

import json

import torch

from agents.algorithms.gspo import GSPO
from agents.cispo import CISPO
from agents.dapo import DAPO
from agents.grpo import GRPO
from agents.losses import geometric_token
from helpers.golden_cases import tensor

LEARNERS = {
    "gspo": GSPO(),
    "gspo_wide": GSPO(clip_low=0.1, clip_high=0.15),
    "gspo_token": GSPO(clip_low=0.1, clip_high=0.15, level=geometric_token),
    "cispo": CISPO(),
    "cispo_two_sided": CISPO(clip_low=0.2, clip_high=0.28),
    "overlong_token_mean": DAPO(),
    "overlong_sequence_mean_all": GRPO(beta=None),
    "overlong_kl": GRPO(),
}
"""By the name of the algorithm in the file."""
FLAGS = ("truncated", "distilled")
OWN = ("log_prob", "old_log_prob", "ref_log_prob", "reward", "binary_reward")
"""Fields of a case that are no further keyword of `compute_loss`."""
kept_tokens = {}
"""Functions of a case to the tokens that a formula keeps in its denominator, by algorithm: where
its source takes the others out, they are not given as response tokens."""


def read(path):
    """A file of golden numbers."""
    return json.loads(path.read_text())


def arguments(case, reads):
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
    given = log_prob, old, reward, mask, case["group_size"], values.get("ref_log_prob")
    return given, further, leaf


def loss_and_gradient(learner, golden, name, case_name):
    """Of one algorithm on one case of a file."""
    case = golden["cases"][case_name]
    (*given, size, ref), further, leaf = arguments(case, golden["algorithms"][name]["reads"])
    if name in kept_tokens:
        given[3] = given[3] & kept_tokens[name](*given, further)
    loss = learner.compute_loss(*given, size, ref, **further)
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
