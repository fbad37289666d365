"""A memory plan as text: table, verdict and suggested changes."""

from collections.abc import Iterator

from agents.planning.changes import suggest_changes
from agents.planning.phases import Plan
from agents.planning.setting import Setting

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
HEADINGS = {"training": "forward, backward", "step": "optimizer step", "sampling": "sampling"}


def plan_lines(plan: Plan) -> Iterator[str]:
    """The whole plan, line by line."""
    setting, peak = plan.setting, plan.peak
    yield from (plan_title(setting), "", *_table(plan), "", _microbatch(setting), _cache(plan))
    if plan.host:
        yield f"offloaded to the memory of each node: {plan.host:.0f} GiB"
    total, heading = f"{peak.total:.1f} of {setting.memory:.1f} GiB", HEADINGS[peak.name]
    yield from ("", f"{plan.verdict}: {total}, in {heading}")
    changes = suggest_changes(plan)
    if changes:
        yield from ("", "suggested changes, the cheapest first, each on top of those before it:")
    for change in changes:
        mark = "  <- fits" if change.fits else ""
        yield f"  {change.words:<46} saves {change.saves:6.1f} GiB, costs {change.costs}{mark}"
    if changes and not changes[-1].fits:
        yield "still too large: choose a smaller model or larger GPUs"


def plan_title(setting: Setting) -> str:
    """Model, precision, engine and machine in one line."""
    shape, sharding = setting.shape, setting.sharding
    trained = f", {_count(setting.num_trained)} trained" * (setting.num_trained < shape.num_weights)
    engine = "plain PyTorch" if sharding.fused else f"DeepSpeed, ZeRO {sharding.stage}"
    engine += ", optimizer on the CPU" * sharding.offload_optimizer
    dtype = "bf16" if setting.size == 2 else "fp32"
    weights = f"{shape.name}, {_count(shape.num_weights)} weights{trained}"
    return f"{weights}, {dtype}; {engine}, on {machine_text(setting)}"


def machine_text(setting: Setting) -> str:
    """The machine in words."""
    if setting.num_gpus:
        return f"{setting.num_gpus} GPU{'s' * (setting.num_gpus > 1)} of {setting.memory:.0f} GiB"
    return f"one process on the CPU with {setting.memory:.0f} GiB"


def totals(plan: Plan) -> str:
    """GiB of each phase, in one line."""
    texts = (f"{HEADINGS[phase.name]} {phase.total:.1f}" for phase in plan.phases)
    return f"{', '.join(texts)} GiB {'per GPU' if plan.setting.num_gpus else 'in all'}"


def _table(plan: Plan) -> Iterator[str]:
    unit = "GiB on each GPU" if plan.setting.num_gpus else "GiB"
    yield _row(unit, [HEADINGS[phase.name] for phase in plan.phases])
    for name, label in LABELS.items():
        cells = [phase.parts.get(name, 0.0) for phase in plan.phases]
        if max(cells) > 0.005:
            yield _row(label, [f"{cell:.2f}" if cell else "" for cell in cells])
    yield _row("total", [f"{phase.total:.2f}" for phase in plan.phases])


def _row(label: str, cells: list[str]) -> str:
    return f"{label:<22}" + "".join(f"{cell:>19}" for cell in cells)


def _microbatch(setting: Setting) -> str:
    run, size = setting.run, f"{setting.microbatch_tokens:,} tokens"
    if not run.tokens_per_microbatch:
        size = f"{run.microbatch_size} response{'s' * (run.microbatch_size > 1)}, {size}"
    longest = f"{setting.prompt_length} + {run.max_response_length} tokens"
    pass_ = "with" if run.gradient_checkpointing else "without"
    return f"microbatch: {size}; longest {longest}; {pass_} gradient checkpointing"


def _cache(plan: Plan) -> str:
    setting = plan.setting
    is_vllm = setting.sampler != "transformers"
    text = f"sampling by {'vLLM' if is_vllm else 'transformers'}: "
    text += f"{plan.kv_bytes / 1024:.0f} KiB of KV cache a token, "
    text += f"{plan.responses_at_a_time} responses of {setting.length:,} tokens at a time"
    return text + f" (gpu_memory_utilization {plan.vllm_share:.2f})" * is_vllm


def _count(number: float) -> str:
    if number < 1e6:
        return f"{number:,.0f}"
    return f"{number / 1e9:.2f} billion" if number >= 1e9 else f"{number / 1e6:.1f} million"
