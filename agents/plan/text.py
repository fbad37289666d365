"""A memory plan as text: a table, and why it does not fit."""

from collections.abc import Iterator

from agents.errors import REMEDIES
from agents.plan.memory import MemoryPlan
from agents.plan.setting import Setting, machine_text

PHASES = {"training": "forward, backward", "step": "optimizer step", "sampling": "sampling"}
LABELS = {
    "weights": "weights",
    "masters": "weights in fp32",
    "cast weights": "weights in bf16",
    "gradients": "gradients",
    "moments": "moments of AdamW",
    "reference": "reference policy",
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
    "context": "context, libraries",
    "fragments": "fragmentation",
}
"""Label of each part in the table."""
REMEDY = REMEDIES | {
    "step": "give a higher ZeRO stage or an offloaded optimizer by --deepspeed, or --lora"
}
"""What lowers the memory of each phase."""


def plan_lines(plan: MemoryPlan) -> Iterator[str]:
    """The whole plan, line by line: a row for each kind of memory, a column for each phase."""
    setting, run = plan.setting, plan.setting.run
    yield from (title(setting), "")
    rows = {
        label: [p.get(name, 0.0) for p in plan.phases.values()] for name, label in LABELS.items()
    }
    rows = {label: cells for label, cells in rows.items() if max(cells) > 0.005}
    rows["total"] = list(plan.totals.values())
    yield _row("GiB on each GPU" if setting.num_gpus else "GiB", list(PHASES.values()))
    for label, cells in rows.items():
        yield _row(label, [f"{cell:.2f}" if cell else "" for cell in cells])
    is_vllm = setting.sampler != "transformers"
    share = f" (gpu_memory_utilization {plan.vllm_share:.2f})" * is_vllm
    yield from (
        "",
        f"microbatch: {setting.microbatch_tokens:,} tokens; longest {setting.prompt_length} + "
        f"{run.max_response_length} tokens",
        f"sampling by {'vLLM' if is_vllm else 'transformers'}: {plan.kv_bytes / 1024:.0f} KiB of "
        f"KV cache a token, {plan.responses_at_a_time} responses at a time{share}",
        "",
    )
    yield from verdict_lines(plan)


def verdict_lines(plan: MemoryPlan) -> Iterator[str]:
    """Whether the run fits and, if not, the parts that take most, and what lowers them."""
    name, memory = plan.peak, plan.setting.memory
    parts = sorted(plan.phases[name].items(), key=lambda part: -part[1])[:3]
    most = "; ".join(f"{LABELS[part]} {size:.1f}" for part, size in parts)
    total = f"{plan.totals[name]:.1f} of {memory:.1f} GiB"
    if plan.verdict == "fits":
        yield f"fits: {total}, in {PHASES[name]}"
        return
    yield f"{plan.verdict}: {total}, in {PHASES[name]}; most of it {most}"
    if not plan.responses_at_a_time:
        yield f"the KV cache has no room for a response of {plan.setting.length:,} tokens"
    yield f"{REMEDY[name]}, or take more GPUs"


def _row(label: str, cells: list[str]) -> str:
    return f"{label:<22}" + "".join(f"{cell:>19}" for cell in cells)


def short_text(plan: MemoryPlan) -> str:
    """A plan in two or three lines."""
    totals = ", ".join(f"{PHASES[name]} {total:.1f}" for name, total in plan.totals.items())
    unit = f"GiB {'per GPU' if plan.setting.num_gpus else 'in all'}"
    text = f"plan: {title(plan.setting)}\n      {totals} {unit}: {plan.verdict}"
    if plan.verdict != "fits":
        text += "\n      python -m agents.plan with the same flags shows what takes it"
    return text


def title(setting: Setting) -> str:
    """Model, precision, engine and machine in one line."""
    shape, sharding = setting.shape, setting.sharding
    trained = f", {_count(setting.num_trained)} trained" * (setting.num_trained < shape.num_weights)
    engine = "plain PyTorch" if sharding.fused else f"DeepSpeed, ZeRO {sharding.stage}"
    engine += ", optimizer on the CPU" * sharding.offload_optimizer
    dtype = "bf16" if setting.size == 2 else "fp32"
    weights = f"{shape.name}, {_count(shape.num_weights)} weights{trained}"
    return f"{weights}, {dtype}; {engine}, on {machine_text(setting)}"


def _count(number: float) -> str:
    if number < 1e6:
        return f"{number:,.0f}"
    return f"{number / 1e9:.2f} billion" if number >= 1e9 else f"{number / 1e6:.1f} million"
