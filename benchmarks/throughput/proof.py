"""Whether both sides minimise the same: loss and gradient of one rollout, tensor by tensor."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from agents.advantages import centered, standardized
from agents.grpo import GRPO
from agents.reductions import constant_length, sequence_mean, token_mean
from agents.rollout import Prompt, Responses
from agents.training.update import Passes, update
from throughput.sizes import Size

STD_EPSILON = 2e-4
"""TRL adds 1e-4 to a standard deviation where we add 1e-9; one of 0/1 rewards is at least 0.35."""


def objective(case: str, size: Size) -> GRPO:
    """Our learner for a `loss_type` of TRL, followed by "-group" where rewards are scaled."""
    kind, _, scale = case.partition("-")
    reduction = {
        "dapo": token_mean,
        "grpo": sequence_mean,
        "dr_grpo": constant_length(size.longest),
    }[kind]
    advantage = standardized if scale == "group" else centered
    return GRPO(beta=None, reduction=reduction, advantage_function=advantage)


def responses(prompts: list[list[int]], tokens: list[list[int]], group_size: int) -> Responses:
    """A rollout out of token ids; the prompts of a group are one object."""
    shared = [Prompt(tuple(prompt)) for prompt in prompts[::group_size]]
    padded = pad_sequence([torch.tensor(row) for row in tokens], batch_first=True)
    mask = torch.arange(padded.shape[1]) < torch.tensor([len(row) for row in tokens])[:, None]
    return Responses(
        prompts=tuple(shared[row // group_size] for row in range(len(tokens))),
        tokens=padded,
        mask=mask,
        texts=("",) * len(tokens),
        sampler_log_prob=torch.zeros(padded.shape),
        finished=torch.ones(len(tokens), dtype=torch.bool),
    )


def gradient(engine: Any) -> dict[str, Tensor]:
    """What `step` would apply, by the names of the model."""
    weights = dict(engine.policy.model.named_parameters())
    if all(weight.grad is not None for weight in weights.values()):
        return {name: weight.grad.float().cpu().clone() for name, weight in weights.items()}
    from deepspeed.utils import safe_get_full_grad

    whole: Any = safe_get_full_grad
    return {name: whole(weight).float().cpu() for name, weight in weights.items()}


def compare(engine: Any, file: Path, case: str, size: Size) -> dict[str, Any]:
    """Our loss and gradient beside those that the peer left in `file`.

    The error of a tensor is the length of the difference over that of the peer's gradient.
    """
    theirs = torch.load(file, weights_only=True)
    rollout = responses(theirs["prompts"], theirs["responses"], size.group_size)
    found: dict[str, Tensor] = {}
    applied = engine.step

    def step() -> dict[str, float]:
        found.update(gradient(engine))
        # A step at rate 0 clears the gradient and leaves the weights, whatever the engine.
        groups = getattr(engine, "engine", engine).optimizer.param_groups
        rates = [group["lr"] for group in groups]
        for group in groups:
            group["lr"] = 0.0
        metrics = applied()
        for group, rate in zip(groups, rates, strict=True):
            group["lr"] = rate
        return metrics

    engine.step = step
    passes = Passes(minibatch_size=size.responses, microbatch_size=size.microbatch_size)
    reward = theirs["reward"].view(-1, size.group_size)
    metrics = update(objective(case, size), engine, rollout, reward, passes)
    engine.step = applied
    errors = {
        name: ((found[name] - there).norm() / there.norm().clamp(min=1e-30)).item()
        for name, there in theirs["gradient"].items()
    }
    worst = max(errors, key=errors.__getitem__)
    tolerance = size.tolerance + (STD_EPSILON * 2 if case.endswith("group") else 0)
    loss = abs(metrics["train/loss"] - theirs["loss"])
    return {
        "case": case,
        "loss": [metrics["train/loss"], theirs["loss"]],
        "worst": [worst, errors[worst]],
        "tensors": len(errors),
        "gradient_norm": torch.stack([g.norm() for g in theirs["gradient"].values()]).norm().item(),
        "tolerance": tolerance,
        "equal": errors[worst] <= tolerance and loss <= tolerance * max(1.0, abs(theirs["loss"])),
    }
