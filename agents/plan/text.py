"""A memory plan as text: a table, and why it does not fit."""

from collections.abc import Iterator

from agents.errors import REMEDIES
from agents.plan.memory import MemoryPlan

PHASES = {"training": "forward, backward", "step": "optimizer step", "sampling": "sampling"}
LABELS = {
    "weights": "weights",
    "masters": "weights in fp32",
    "cast weights": "weights in bf16",
    "gradients": "gradients",
    "moments": "moments of AdamW",
    "reference": "reference policy",
    "teacher": "teacher",
    "activations": "activations",
    "passing": "logits, or one layer",
    "images": "vision tower",
    "buckets": "ZeRO buffers",
    "step": "gradients, copies",
    "gathered": "gathered weights",
    "vLLM": "vLLM, idle",
    "vLLM weights": "vLLM weights",
    "vLLM graphs": "vLLM activations",
    "KV cache": "KV cache",
    "drawing": "token sampling",
    "sampler weights": "weights to sample with",
    "sampler": "sampler's process",
    "context": "context, libraries",
    "fragments": "fragmentation",
}
"""Label of each part in the table."""
REMEDY = REMEDIES | {
    "step": "give a higher ZeRO stage or an offloaded optimizer by --deepspeed, or --lora"
}
"""What lowers the memory of each phase."""


def plan_lines(plan: MemoryPlan) -> Iterator[str]:
    """The whole plan: a row for each kind of memory, a column for each phase, and the verdict."""
    row = "{:<22}{:>19}{:>19}{:>19}".format
    yield from (_title(plan), "")
    yield row("GiB on each GPU" if plan.num_gpus else "GiB", *PHASES.values())
    table = {
        label: [parts.get(name, 0.0) for parts in plan.phases.values()]
        for name, label in LABELS.items()
    }
    for label, cells in (table | {"total": list(plan.totals.values())}).items():
        if max(cells) > 0.005:
            yield row(label, *(f"{cell:.2f}" if cell else "" for cell in cells))
    is_vllm = plan.sampler != "transformers"
    share = f" (gpu_memory_utilization {plan.vllm_share:.2f})" * is_vllm
    yield from (
        "",
        f"microbatch: {plan.microbatch_tokens:,} tokens; longest {plan.prompt_length} + "
        f"{plan.run.max_response_length} tokens",
        f"sampling by {'vLLM' if is_vllm else 'transformers'}: {plan.kv_bytes / 1024:.0f} KiB of "
        f"KV cache a token, {plan.responses_at_a_time} responses at a time{share}",
        "",
    )
    if (staleness := plan.run.staleness) and plan.sampler == "separate":
        yield f"copies of the weights: {plan.host_copies:.1f} GiB more on the host of rank 0"
    if staleness:
        yield (
            f"--staleness {staleness}: at best (R + T) / max(R, T) times as fast, by R = "
            "time/rollout_s and T = time/train_s of a few steps without it\n"
        )
    peak = max(plan.totals, key=plan.totals.__getitem__)
    total = f"{plan.verdict}: {plan.totals[peak]:.1f} of {plan.memory:.1f} GiB, in {PHASES[peak]}"
    if plan.verdict == "fits":
        yield total
        return
    parts = sorted(plan.phases[peak].items(), key=lambda part: -part[1])[:3]
    yield f"{total}; most of it " + "; ".join(f"{LABELS[part]} {size:.1f}" for part, size in parts)
    if not plan.responses_at_a_time:
        yield f"the KV cache has no room for a response of {plan.length:,} tokens"
    yield f"{REMEDY[peak]}, or take more GPUs"


def short_text(plan: MemoryPlan) -> str:
    """A plan in two or three lines."""
    totals = ", ".join(f"{PHASES[name]} {total:.1f}" for name, total in plan.totals.items())
    unit = f"GiB {'per GPU' if plan.num_gpus else 'in all'}"
    text = f"plan: {_title(plan)}\n      {totals} {unit}: {plan.verdict}"
    if plan.verdict != "fits":
        text += "\n      agents.plan with the same flags shows what takes it"
    return text


def machine_text(plan: MemoryPlan) -> str:
    """The machine in words."""
    if plan.num_gpus:
        return f"{plan.num_gpus} GPU{'s' * (plan.num_gpus > 1)} of {plan.memory:.0f} GiB"
    return f"one process on the CPU with {plan.memory:.0f} GiB"


def _title(plan: MemoryPlan) -> str:
    """Model, precision, engine and machine in one line."""
    shape, sharding = plan.shape, plan.sharding
    trained = f", {_count(plan.num_trained)} trained" * (plan.num_trained < shape.num_weights)
    engine = "plain PyTorch" if sharding.fused else f"DeepSpeed, ZeRO {sharding.stage}"
    engine += ", optimizer on the CPU" * sharding.offload_optimizer
    dtype = "bf16" if plan.size == 2 else "fp32"
    weights = f"{shape.name}, {_count(shape.num_weights)} weights{trained}"
    return f"{weights}, {dtype}; {engine}, on {machine_text(plan)}"


def _count(number: float) -> str:
    if number < 1e6:
        return f"{number:,.0f}"
    return f"{number / 1e9:.2f} billion" if number >= 1e9 else f"{number / 1e6:.1f} million"
