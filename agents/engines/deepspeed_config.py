"""DeepSpeed's configuration, with defaults for what a user leaves open."""

import math
from collections.abc import Mapping
from typing import Any

from agents.engines.optimizer import Optimization
from agents.errors import UsageError

FIXED = {
    "train_micro_batch_size_per_gpu": 1,
    "gradient_accumulation_steps": 1,
    "managed_gradient_accumulation": False,
    "gradient_allreduce_op": "mean",
}
"""Options that a configuration cannot change, because the learner accumulates gradients itself."""
BUCKET = 500_000_000
"""Gradient elements that DeepSpeed reduces at once: two GiB in fp32."""


def complete(
    config: Mapping[str, Any],
    optimization: Optimization,
    *,
    cuda: bool,
    half: bool | None = None,
    num_weights: int = BUCKET,
) -> dict[str, Any]:
    """DeepSpeed configuration with defaults for options that are missing or "auto".

    The defaults are AdamW with bf16, fp32 master weights and gradients and ZeRO stage 2 on GPUs,
    and AdamW with fp32 and without ZeRO on CPUs.

    Args:
        config: As in DeepSpeed's JSON.
        optimization: Of AdamW and of gradient clipping.
        cuda: True to train on GPUs.
        half: True for a policy in bfloat16; None for that on GPUs.
        num_weights: That are trained; no gradient buffer needs to be larger.

    Raises:
        UsageError: A part is no object, or the stage of ZeRO is none.
    """
    options, limit = checked(config), optimization.max_grad_norm
    half = cuda if half is None else half
    defaults = {"stage": 2 if cuda else 0, "reduce_bucket_size": min(BUCKET, num_weights)}
    zero = defaults | options.get("zero_optimization", {})
    adamw = {
        "lr": optimization.learning_rate,
        "betas": list(optimization.betas),
        "eps": optimization.epsilon,
        "weight_decay": optimization.weight_decay,
        # PyTorch's AdamW needs no compiler; an offloaded optimizer requires DeepSpeed's own.
        "torch_adam": "offload_optimizer" not in zero,
    }
    settings = {
        "bf16": {"enabled": half and not options.get("fp16", {}).get("enabled", False)},
        # DeepSpeed clips to any limit but 0.
        "gradient_clipping": 0.0 if math.isinf(limit) else limit,
        **options,
        "optimizer": _optimizer(options.get("optimizer", {}), adamw, fused=cuda),
        "zero_optimization": zero,
        **FIXED,
    }
    if zero["stage"] > 0 and settings["bf16"].get("enabled"):
        settings.setdefault("data_types", {"grad_accum_dtype": "fp32"})
    settings.pop("train_batch_size", None)
    return settings


def _optimizer(
    options: Mapping[str, Any], adamw: Mapping[str, Any], *, fused: bool
) -> dict[str, Any]:
    """The user's optimizer; AdamW's missing parameters are those of `adamw`."""
    if options.get("type", "AdamW") != "AdamW":
        return dict(options)
    params = {**adamw, **options.get("params", {})}
    if fused and params["torch_adam"] and not params.get("foreach"):
        # One kernel for each tensor, without a copy of a trained weight in fp32.
        params.setdefault("fused", True)
    return {"type": "AdamW", "params": params}


def checked(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without its "auto" values.

    Raises:
        UsageError: A part is no object, or the stage of ZeRO is none.
    """
    options = _without_auto(config)
    zero = options.get("zero_optimization", {})
    parts = {n: options[n] for n in ("optimizer", "scheduler", "bf16", "fp16") if n in options}
    parts["zero_optimization"] = zero
    if isinstance(zero, Mapping):
        parts |= {name: part for name, part in zero.items() if name.startswith("offload_")}
        if zero.get("stage", 0) not in range(4):
            raise UsageError(f"--deepspeed: stage is {zero['stage']!r}: give 0 to 3")
    for name, part in parts.items():
        if not isinstance(part, Mapping):
            raise UsageError(f"--deepspeed: {name} is {part!r}: give an object")
    return options


def _without_auto(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without its "auto" values, by which transformers marks open options."""
    options = {
        key: _without_auto(value) if isinstance(value, Mapping) else value
        for key, value in config.items()
        if value != "auto"
    }
    return {key: value for key, value in options.items() if value != {} or config[key] == {}}


def is_plain(settings: Mapping[str, Any]) -> bool:
    """True if DeepSpeed does not wrap the optimizer; it then reports no norm when it clips."""
    half = any(settings.get(name, {}).get("enabled") for name in ("bf16", "fp16"))
    return not half and settings["zero_optimization"]["stage"] == 0
