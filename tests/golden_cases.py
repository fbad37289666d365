"""The inputs of the golden numbers, and how a learner is run on them."""

import json
from pathlib import Path

import torch

FOLDER = Path(__file__).parent / "golden"
GOLDEN = json.loads((FOLDER / "losses.json").read_text())


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
    loss = learner.compute_loss(log_prob, *arguments)
    return loss.detach(), torch.autograd.grad(loss, log_prob)[0]
