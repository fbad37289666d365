"""What to change where a plan does not fit: the cheapest first, each with what it saves."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from agents.planning.phases import Plan, plan
from agents.planning.setting import Setting


@dataclass(frozen=True)
class Change:
    """One thing to change, and what it does by itself."""

    words: str
    """As it is written on the command line, or in words."""
    costs: str
    """What is paid for it."""
    saves: float
    """GiB of the part of a step that needs most."""
    fits: bool
    """Whether the run fits with this and all changes before it."""


def changes(plan_now: Plan) -> tuple[Change, ...]:
    """Changes that save memory where it lacks, until the run fits; all there are if it never does.

    Each is taken up on top of those before it, so that its saving is what it adds to them.
    """
    found: list[Change] = []
    here = plan_now
    for way in WAYS:
        if here.fits:
            break
        step = way(here.setting)
        if step is None:
            continue
        words, costs, setting = step
        there = plan(setting)
        saves = here.peak.total - there.peak.total
        if saves < 0.05 and there.responses_at_a_time <= here.responses_at_a_time:
            continue
        here = there
        found.append(Change(words, costs, saves, here.fits))
    return tuple(found)


Step = tuple[str, str, Setting]
"""Words, costs, and the setting that it leads to."""


def _fewer_rows(now: Setting) -> Step | None:
    rows = max(8, now.sampler_batch_size // 4)
    if now.sampler != "transformers" or rows >= now.sampler_batch_size:
        return None
    changed = replace(now, sampler_batch_size=rows)
    return f"--sampler-batch-size {rows}", "slower sampling", changed


def _sleep(now: Setting) -> Step | None:
    if now.sampler != "vllm":
        return None
    return "let vLLM sleep while the trainer works", "3 s a step", replace(now, vllm_sleeps=True)


def _room(now: Setting) -> Step | None:
    """The part of a GPU that the trainer leaves to vLLM, where it holds a response at all."""
    room = plan(now).room
    changed = replace(now, vllm_memory=room)
    if now.sampler != "vllm" or not plan(changed).responses_at_a_time:
        return None
    words = f'"gpu_memory_utilization": {room} in --vllm'
    return words, "more or fewer responses at a time", changed


def _smaller_microbatch(now: Setting, tokens: int, costs: str) -> Step | None:
    """A microbatch of about `tokens`, of one response at least."""
    if now.tokens_per_microbatch:
        tokens = min(now.tokens_per_microbatch, max(tokens, now.length))
        changed = replace(now, tokens_per_microbatch=tokens)
        return f"--tokens-per-microbatch {tokens}", costs, changed
    size = min(now.microbatch_size, max(1, tokens // now.length))
    return f"--microbatch-size {size}", costs, replace(now, microbatch_size=size)


def _zero(now: Setting, stage: int, costs: str) -> Step | None:
    """State shared out over more ranks."""
    if now.num_gpus < 2 or stage <= now.sharing.stage:
        return None
    changed = replace(now, sharing=replace(now.sharing, stage=stage))
    return f"ZeRO stage {stage} (--deepspeed)", costs, changed


def _computed_twice(now: Setting) -> Step | None:
    changed = replace(now, checkpointing=True)
    return "--gradient-checkpointing", "a third of the training speed", changed


def _offloaded(now: Setting) -> Step | None:
    if not now.num_gpus:
        return None
    changed = replace(now, sharing=replace(now.sharing, offload_optimizer=True))
    costs = "seconds a step, and memory of the machine"
    return "offload_optimizer to the CPU (--deepspeed)", costs, changed


def _frozen_tower(now: Setting) -> Step | None:
    if now.shape.tower is None:
        return None
    costs = "another result: the vision tower stays as it is"
    return "--freeze-vision", costs, replace(now, freeze_vision=True)


def _shorter_responses(now: Setting) -> Step | None:
    length = now.response_length // 2
    if length < 256:
        return None
    costs = "another result: longer responses are cut"
    return f"--max-response-length {length}", costs, replace(now, response_length=length)


def _adapters(now: Setting) -> Step | None:
    if not now.num_gpus or now.lora_rank:
        return None
    words = '--lora \'{"r": 64, "target_modules": "all-linear"}\''
    return words, "another result: adapters alone are trained", replace(now, lora_rank=64)


def _twice_the_gpus(now: Setting) -> Step | None:
    if not now.num_gpus:
        return None
    count = 2 * now.num_gpus
    changed = replace(now, num_gpus=count, sharing=replace(now.sharing, num_ranks=count))
    return f"{count} GPUs", "GPUs", changed


Way = Callable[[Setting], Step | None]
WAYS: tuple[Way, ...] = (
    *(_fewer_rows, _sleep, _room),
    partial(_smaller_microbatch, tokens=8192, costs="a little speed"),
    partial(_zero, stage=1, costs="nothing"),
    partial(_zero, stage=2, costs="nothing"),
    partial(_zero, stage=3, costs="gathering weights in each pass"),
    _computed_twice,
    partial(_smaller_microbatch, tokens=1, costs="speed"),
    # What the trainer gives up may be what vLLM lacks.
    *(_offloaded, _room),
    # These change the numbers of the run.
    *(_frozen_tower, _shorter_responses, _adapters, _room),
    *(3 * (_twice_the_gpus, _room)),
)
"""Everything that can be changed, by what it costs."""
