"""Flags as in TRL, verl and Hydra, by which a user of these looks for ours, and other slips."""

import difflib
import re
from collections.abc import Mapping
from typing import Any

_SIZES = "--minibatch-size (responses of an optimizer step, over all ranks) and --microbatch-size"
_ROLLOUT = "--num-prompts and --group-size, which are the responses of a rollout"
_CLIP = "--clip-low and --clip-high, where the algorithm clips"
_STEPS = "--num-steps, each a rollout of --num-prompts prompts and its update"
_ADAPTERS = """--lora '{"r": 16, "target_modules": "all-linear"}'"""
_OPTIMIZER = """--optimizer-options '{"betas": [0.9, 0.99], "weight_decay": 0.1}'"""
TRL = {
    "adam_beta1": _OPTIMIZER,
    "adam_beta2": _OPTIMIZER,
    "bf16": "--dtype",
    "dataset_name": "--env, or --env file --data FILE for your own questions",
    "delta": "--dual-clip, where the algorithm clips",
    "epsilon": _CLIP,
    "epsilon_high": _CLIP,
    "eval_steps": "--evaluate-every",
    "generation_batch_size": _ROLLOUT,
    "gradient_accumulation_steps": _SIZES,
    "logging_steps": "nothing: metrics.jsonl has every step",
    "lora_alpha": _ADAPTERS,
    "lora_r": _ADAPTERS,
    "loss_type": "--reduction",
    "lr": "--learning-rate",
    "lr_scheduler_type": "--learning-rate-schedule",
    "mask_truncated_completions": "--truncated mask",
    "max_completion_length": "--max-response-length",
    "max_new_tokens": "--max-response-length",
    "max_steps": _STEPS,
    "model_name_or_path": "--model",
    "num_generations": "--group-size",
    "num_iterations": "--epochs",
    "num_train_epochs": _STEPS,
    "per_device_train_batch_size": _SIZES,
    "report_to": "--track",
    "resume_from_checkpoint": "--resume",
    "reward_funcs": "--reward module:function",
    "reward_weights": "--reward module:function=0.2",
    "run_name": "--output-dir",
    "save_steps": "--save-every",
    "save_total_limit": "--keep-checkpoints",
    "scale_rewards": "--advantage-function, centered or standardized",
    "steps_per_generation": _ROLLOUT,
    "use_peft": _ADAPTERS,
    "use_vllm": "--sampler vllm",
    "vllm_mode": "--sampler vllm, or --vllm-server URL",
    "vllm_server_base_url": "--vllm-server",
    "warmup_ratio": "--warmup-steps",
    "weight_decay": _OPTIMIZER,
}
VERL = {
    "adv_estimator": "the algorithm's module, such as python -m agents.rloo",
    "clip_ratio": _CLIP,
    "clip_ratio_c": "--dual-clip, where the algorithm clips",
    "clip_ratio_high": "--clip-high",
    "clip_ratio_low": "--clip-low",
    "filter_groups": "--max-generations",
    "kl_coef": "--beta, where the algorithm has a penalty",
    "kl_loss_coef": "--beta, where the algorithm has a penalty",
    "kl_loss_type": "--divergence, where the algorithm has one",
    "logger": "--track",
    "loss_agg_mode": "--reduction",
    "n": "--group-size",
    "n_gpus_per_node": "torchrun --nproc-per-node",
    "ppo_epochs": "--epochs",
    "ppo_max_token_len_per_gpu": "--tokens-per-microbatch",
    "ppo_micro_batch_size_per_gpu": "--microbatch-size",
    "ppo_mini_batch_size": "--minibatch-size, which counts responses",
    "save_freq": "--save-every",
    "test_freq": "--evaluate-every",
    "total_epochs": _STEPS,
    "total_training_steps": _STEPS,
    "train_batch_size": "--num-prompts",
}
PEERS = {"TRL": TRL, "verl": VERL}
HELP = ("--help", "--help-all")


def advice(name: str) -> str:
    """What to give in place of a setting of TRL or verl, in a line; "" for any other name.

    Args:
        name: Of a flag or a setting, with dashes or underscores.
    """
    name = name.lstrip("-").replace("-", "_").rpartition(".")[2]
    for peer, table in PEERS.items():
        if name in table:
            return f"that is a name of {peer}, here it is {table[name]}"
    return ""


def correction(previous: str, word: str, settings: Mapping[str, Any]) -> str:
    """A line on a word of a command line that no setting takes; "" for most words.

    It is a misspelt --help, a setting of TRL or verl, one as in Hydra, such as `env=Figures-v2`,
    true after a flag without a value, or has digits of other scripts.

    Args:
        previous: The word before it, or "".
        word: Of the command line.
        settings: Defaults of the settings of the command, by name.
    """
    flag, _, value = word.partition("=")
    name, before = (each.lstrip("-").replace("-", "_") for each in (flag, previous))
    if word.startswith("--") and name not in settings and (line := advice(name)):
        return f"there is no flag {flag}: {line}"
    if word not in HELP and word[:3] == "--h" and difflib.get_close_matches(word, HELP):
        return f"there is no flag {word}: did you mean --help?"
    if word.lower() in ("true", "false") and type(settings.get(before)) is bool:
        return f"{previous} takes no value: give {previous} or --no-{before.replace('_', '-')}"
    if value and "env" in settings and "-" not in (previous[:1], word[:1]):
        return _without_equals(name.rpartition(".")[2], value, settings)
    if re.fullmatch(r"(--[\w-]+=)?[-+.\de]+", word) and not word.isascii():
        return f"{word!r} has digits that are not ASCII: write 0 to 9"
    return ""


def _without_equals(name: str, value: str, settings: Mapping[str, Any]) -> str:
    """A line on `name=value`; "" where the name is none of a setting."""
    if name in settings:
        return f"settings are flags: --{name.replace('_', '-')} {value}"
    line = advice(name)
    return f"settings are flags, and {name} none of them: {line}" if line else ""
