"""What to change where a plan does not fit: the cheapest first, each with what it saves."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

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
    setting, here = plan_now.setting, plan_now
    for words, costs, change in _known(setting):
        if here.fits:
            break
        changed = change(setting)
        if changed == setting:
            continue
        there = plan(changed)
        saves = here.peak.total - there.peak.total
        if saves < 0.05 and there.responses_at_a_time <= here.responses_at_a_time:
            continue
        setting, here = changed, there
        found.append(Change(words, costs, saves, here.fits))
    return tuple(found)


Step = tuple[str, str, Callable[[Setting], Setting]]


def _known(setting: Setting) -> Iterator[Step]:
    """Everything that can be changed, by what it costs."""
    yield from _batches(setting)
    yield from _zero(setting)
    yield from _recomputed(setting)
    yield from _offloaded(setting)
    yield from _others(setting)
    yield from _more_gpus(setting)


def _batches(setting: Setting) -> Iterator[Step]:
    """Smaller pieces: the numbers of the run stay what they are."""
    rows = setting.sampler_batch_size
    if setting.sampler == "transformers" and rows > 8:
        yield (
            f"--sampler-batch-size {max(8, rows // 4)}",
            "slower sampling",
            lambda s: replace(s, sampler_batch_size=max(8, rows // 4)),
        )
    if setting.sampler == "vllm" and not setting.vllm_sleeps:
        yield (
            "let vLLM sleep while the trainer works",
            "3 s a step",
            lambda s: replace(s, vllm_sleeps=True),
        )
    if setting.sampler == "vllm":
        room = plan(setting).room
        yield (
            f'"gpu_memory_utilization": {room} in --vllm',
            "more or fewer responses at a time",
            lambda s: replace(s, vllm_memory=room),
        )
    tokens = max(8192, setting.length)
    if setting.tokens_per_microbatch > tokens:
        yield (
            f"--tokens-per-microbatch {tokens}",
            "a little speed",
            lambda s: replace(s, tokens_per_microbatch=tokens),
        )
    elif not setting.tokens_per_microbatch and setting.microbatch_size > 1:
        size = max(1, 8192 // setting.length)
        size = size if size < setting.microbatch_size else 1
        yield (
            f"--microbatch-size {size}",
            "a little speed",
            lambda s: replace(s, microbatch_size=size),
        )


def _zero(setting: Setting) -> Iterator[Step]:
    """State shared out over more ranks."""
    if setting.num_gpus < 2:
        return
    costs = {1: "nothing", 2: "nothing", 3: "gathering weights in each pass"}
    for stage in range(setting.sharing.stage + 1, 4):
        yield (
            f"ZeRO stage {stage} (--deepspeed)",
            costs[stage],
            lambda s, stage=stage: replace(s, sharing=replace(s.sharing, stage=stage)),
        )


def _recomputed(setting: Setting) -> Iterator[Step]:
    yield (
        "--gradient-checkpointing",
        "a third of the training speed",
        lambda s: replace(s, checkpointing=True),
    )
    if setting.tokens_per_microbatch > setting.length:
        yield (
            f"--tokens-per-microbatch {setting.length}",
            "speed",
            lambda s: replace(s, tokens_per_microbatch=s.length),
        )
    yield (
        "--microbatch-size 1",
        "speed",
        lambda s: replace(s, microbatch_size=1),
    )


def _offloaded(setting: Setting) -> Iterator[Step]:
    if not setting.num_gpus:
        return
    yield (
        "offload_optimizer to the CPU (--deepspeed)",
        "seconds a step, and memory of the machine",
        lambda s: replace(s, sharing=replace(s.sharing, offload_optimizer=True)),
    )


def _others(setting: Setting) -> Iterator[Step]:
    """What changes the numbers of the run."""
    if setting.shape.tower is not None and not setting.freeze_vision:
        yield (
            "--freeze-vision",
            "another result: the vision tower stays as it is",
            lambda s: replace(s, freeze_vision=True),
        )
    shorter = setting.response_length // 2
    if shorter >= 256:
        yield (
            f"--max-response-length {shorter}",
            "another result: longer responses are cut",
            lambda s: replace(s, response_length=shorter),
        )
    if setting.num_gpus and not setting.lora_rank:
        yield (
            '--lora \'{"r": 64, "target_modules": "all-linear"}\'',
            "another result: adapters alone are trained",
            lambda s: replace(s, lora_rank=64),
        )


def _more_gpus(setting: Setting) -> Iterator[Step]:
    if not setting.num_gpus:
        return
    for factor in (2, 4, 8):
        count = setting.num_gpus * factor
        yield (
            f"{count} GPUs",
            "GPUs",
            lambda s, count=count: replace(
                s, num_gpus=count, sharing=replace(s.sharing, num_ranks=count)
            ),
        )
