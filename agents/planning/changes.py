"""Changes that reduce the memory of a plan that does not fit, the cheapest first."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from agents.cli.json_flags import json_object
from agents.planning.phases import Plan, make_plan
from agents.planning.setting import Setting

LORA = '{"r": 64, "target_modules": "all-linear"}'


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
    for words, costs, edit in CHANGES:
        if plan.fits:
            break
        changed = make_plan(edit(plan.setting))
        saves = plan.peak.total - changed.peak.total
        if saves >= 0.05 or changed.responses_at_a_time > plan.responses_at_a_time:
            changes.append(Change(words.format(changed.setting), costs, saves, changed.fits))
            plan = changed
    return tuple(changes)


def _run(now: Setting, **fields: Any) -> Setting:
    return replace(now, run=replace(now.run, **fields))


def _vllm_sleep(now: Setting) -> Setting:
    options = json_object("vllm", now.run.vllm)
    return _run(now, vllm=json.dumps(options | {"enable_sleep_mode": True}))


def _vllm_share(now: Setting) -> Setting:
    """The share of a GPU that the trainer leaves to vLLM, in place of one that the run names."""
    options = json_object("vllm", now.run.vllm)
    options.pop("gpu_memory_utilization", None)
    return _run(now, vllm=json.dumps(options))


def _sampler_batch(now: Setting) -> Setting:
    rows = now.sampler_batch_size
    return _run(now, sampler_batch_size=min(rows, max(8, rows // 4)))


def _microbatch_tokens(now: Setting, limit: int) -> Setting:
    """Microbatches of `limit` tokens, or of one response, where tokens limit them."""
    tokens = now.run.tokens_per_microbatch
    return _run(now, tokens_per_microbatch=tokens and min(tokens, max(limit, now.length)))


def _microbatch_size(now: Setting, limit: int) -> Setting:
    rows = now.run.microbatch_size
    return _run(now, microbatch_size=min(rows, max(1, limit // now.length)))


def _stage(now: Setting, stage: int) -> Setting:
    if now.num_gpus <= 1 or stage <= now.sharding.stage:
        return now
    return replace(now, sharding=replace(now.sharding, stage=stage))


def _offload(now: Setting) -> Setting:
    return replace(now, sharding=replace(now.sharding, offload_optimizer=now.num_gpus > 0))


def _shorter_responses(now: Setting) -> Setting:
    length = now.run.max_response_length
    return _run(now, max_response_length=length // 2 if length >= 512 else length)


def _adapters(now: Setting) -> Setting:
    return _run(now, lora=now.run.lora or LORA) if now.num_gpus else now


def _more_gpus(now: Setting) -> Setting:
    num_gpus = 2 * now.num_gpus
    return replace(now, num_gpus=num_gpus, sharding=replace(now.sharding, num_ranks=num_gpus))


VLLM_SHARE = (
    'no "gpu_memory_utilization" in --vllm',
    "more or fewer responses at a time",
    _vllm_share,
)
MORE_GPUS = ("{0.num_gpus} GPUs", "GPUs", _more_gpus)
TOKENS = "--tokens-per-microbatch {0.run.tokens_per_microbatch}"
ROWS = "--microbatch-size {0.run.microbatch_size}"
LENGTH = "--max-response-length {0.run.max_response_length}"
CHECKPOINTING = "--gradient-checkpointing"
ZERO, RESULT = "ZeRO stage {0.sharding.stage} (--deepspeed)", "another result: "
CHANGES: tuple[tuple[str, str, Callable[[Setting], Setting]], ...] = (
    ("--sampler-batch-size {0.run.sampler_batch_size}", "slower sampling", _sampler_batch),
    ("vLLM in sleep mode during training", "3 s a step", _vllm_sleep),
    VLLM_SHARE,
    (TOKENS, "a little speed", partial(_microbatch_tokens, limit=8192)),
    (ROWS, "a little speed", partial(_microbatch_size, limit=8192)),
    (ZERO, "nothing", partial(_stage, stage=1)),
    (ZERO, "nothing", partial(_stage, stage=2)),
    (ZERO, "gathering weights in each pass", partial(_stage, stage=3)),
    (CHECKPOINTING, "a third of the speed", partial(_run, gradient_checkpointing=True)),
    (TOKENS, "speed", partial(_microbatch_tokens, limit=1)),
    (ROWS, "speed", partial(_microbatch_size, limit=1)),
    ("offload_optimizer to the CPU (--deepspeed)", "seconds a step, host memory", _offload),
    ("--freeze-vision", f"{RESULT}a frozen vision tower", partial(_run, freeze_vision=True)),
    (LENGTH, f"{RESULT}longer responses are truncated", _shorter_responses),
    ("--lora '{0.run.lora}'", f"{RESULT}only adapters are trained", _adapters),
    *(3 * (MORE_GPUS,)),
)
"""Description, disadvantage and changed setting; the cheapest first."""
