"""Changes that reduce the memory of a plan that does not fit, the cheapest first."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from agents.planning.phases import Plan, make_plan
from agents.planning.setting import Setting


@dataclass(frozen=True)
class Change:
    """One change of a run, and its effect."""

    words: str
    """A flag, or a description."""
    costs: str
    """Disadvantage."""
    saves: float
    """GiB of the peak, on top of the changes before it."""
    fits: bool
    """True if the run fits with this and all changes before it."""


def suggest_changes(plan: Plan) -> tuple[Change, ...]:
    """Changes that take effect, each on top of those before it, until the run fits."""
    changes: list[Change] = []
    for words, costs, min_gpus, edit in CHANGES:
        setting = plan.setting
        if plan.fits:
            break
        if setting.num_gpus < min_gpus:
            continue
        fields = edit(setting)
        changed = make_plan(replace(setting, **fields))
        saves = plan.peak.total - changed.peak.total
        if saves >= 0.05 or changed.responses_at_a_time > plan.responses_at_a_time:
            text = words.format(**fields) if words else _flag(**fields)
            changes.append(Change(text, costs, saves, changed.fits))
            plan = changed
    return tuple(changes)


def _flag(**fields: Any) -> str:
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in fields.items())


Fields = dict[str, Any]
"""Changed fields of a setting."""


def _smaller_sampling_batch(now: Setting) -> Fields:
    rows = now.sampler_batch_size
    return {"sampler_batch_size": min(rows, max(8, rows // 4))}


def _vllm_share(now: Setting) -> Fields:
    """The share of a GPU that the trainer leaves to vLLM, if a response fits in it."""
    fields = {"vllm_memory": make_plan(now).vllm_share}
    fits = now.sampler == "vllm" and make_plan(replace(now, **fields)).responses_at_a_time
    return fields if fits else {}


def _smaller_microbatch(now: Setting, tokens: int) -> Fields:
    """A microbatch of about `tokens`, of one response at least."""
    if now.tokens_per_microbatch:
        return {"tokens_per_microbatch": min(now.tokens_per_microbatch, max(tokens, now.length))}
    return {"microbatch_size": min(now.microbatch_size, max(1, tokens // now.length))}


def _zero(now: Setting, stage: int) -> Fields:
    return {"sharing": replace(now.sharing, stage=max(stage, now.sharing.stage))}


def _offload(now: Setting) -> Fields:
    return {"sharing": replace(now.sharing, offload_optimizer=True)}


def _shorter_responses(now: Setting) -> Fields:
    length = now.response_length
    return {"response_length": length // 2 if length >= 512 else length}


def _more_gpus(now: Setting) -> Fields:
    num_gpus = 2 * now.num_gpus
    return {"num_gpus": num_gpus, "sharing": replace(now.sharing, num_ranks=num_gpus)}


VLLM_SHARE = (
    '"gpu_memory_utilization": {vllm_memory} in --vllm',
    "more or fewer responses at a time",
    0,
    _vllm_share,
)
MORE_GPUS = ("{num_gpus} GPUs", "GPUs", 1, _more_gpus)
ZERO, RESULT = "ZeRO stage {sharing.stage} (--deepspeed)", "another result: "
CHANGES: tuple[tuple[str, str, int, Callable[[Setting], Fields]], ...] = (
    ("", "slower sampling", 0, _smaller_sampling_batch),
    ("vLLM in sleep mode during training", "3 s a step", 0, lambda _: {"vllm_sleeps": True}),
    VLLM_SHARE,
    ("", "a little speed", 0, partial(_smaller_microbatch, tokens=8192)),
    (ZERO, "nothing", 2, partial(_zero, stage=1)),
    (ZERO, "nothing", 2, partial(_zero, stage=2)),
    (ZERO, "gathering weights in each pass", 2, partial(_zero, stage=3)),
    ("--gradient-checkpointing", "a third of the speed", 0, lambda _: {"checkpointing": True}),
    ("", "speed", 0, partial(_smaller_microbatch, tokens=1)),
    ("offload_optimizer to the CPU (--deepspeed)", "seconds a step, host memory", 1, _offload),
    VLLM_SHARE,  # of the memory that the changes above have freed
    ("--freeze-vision", f"{RESULT}a frozen vision tower", 0, lambda _: {"freeze_vision": True}),
    (
        "--max-response-length {response_length}",
        f"{RESULT}longer responses are truncated",
        0,
        _shorter_responses,
    ),
    (
        '--lora \'{{"r": {lora_rank}, "target_modules": "all-linear"}}\'',
        f"{RESULT}only adapters are trained",
        1,
        lambda now: {"lora_rank": now.lora_rank or 64},
    ),
    VLLM_SHARE,
    *(3 * (MORE_GPUS, VLLM_SHARE)),
)
"""Description, disadvantage, minimum number of GPUs and changed fields; the cheapest first."""
