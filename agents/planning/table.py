"""A plan in words and columns."""

from collections.abc import Iterator

from agents.planning.changes import changes
from agents.planning.phases import Plan
from agents.planning.setting import Setting

LABELS = {
    "weights": "weights",
    "masters": "weights in fp32",
    "gradients": "gradients",
    "moments": "moments of AdamW",
    "reference": "reference policy",
    "activations": "activations",
    "passing": "logits, or one layer",
    "images": "vision tower",
    "buckets": "buffers of ZeRO",
    "step": "gradients, copies",
    "gathered": "weights, gathered",
    "vLLM": "vLLM beside it",
    "vLLM weights": "weights of vLLM",
    "vLLM graphs": "vLLM's own",
    "KV cache": "cache of keys, values",
    "drawing": "drawing tokens",
    "context": "context, libraries",
    "fragments": "fragments",
}
"""What the table calls each part."""
HEADINGS = {"training": "forward, backward", "step": "optimizer step", "sampling": "sampling"}


def summary(setting: Setting) -> str:
    """Model, precision, engine and machine in one line."""
    shape, sharing = setting.shape, setting.sharing
    trained = f", {_count(setting.num_trained)} trained" * (setting.num_trained < shape.num_weights)
    engine = "plain PyTorch" if sharing.fused else f"DeepSpeed, ZeRO {sharing.stage}"
    engine += ", optimizer on the CPU" * sharing.offload_optimizer
    number = "bf16" if sharing.half else "fp32"
    weights = f"{shape.name}, {_count(shape.num_weights)} weights{trained}"
    return f"{weights}, {number}; {engine}, on {setting.where}"


def lines(plan: Plan) -> Iterator[str]:
    """The whole plan, line by line."""
    setting = plan.setting
    yield summary(setting)
    yield from ("", *_table(plan), "")
    yield _microbatch(setting)
    yield _cache(plan)
    if plan.host:
        yield f"memory of each node, for what is offloaded: {plan.host:.0f} GiB"
    yield ""
    yield verdict(plan)
    yield from _changes(plan)


def verdict(plan: Plan) -> str:
    """Whether it fits, and where most is needed."""
    where = HEADINGS[plan.peak.name]
    need = f"{plan.peak.total:.1f} of {plan.setting.memory:.1f} GiB, in {where}"
    return f"{plan.verdict}: {need}"


def totals(plan: Plan) -> str:
    """GiB of each part of a step, in one line."""
    found = (f"{HEADINGS[phase.name]} {phase.total:.1f}" for phase in plan.phases)
    several = "per process" if plan.setting.sharing.num_ranks > 1 else "in all"
    return f"{', '.join(found)} GiB {'per GPU' if plan.setting.num_gpus else several}"


def _table(plan: Plan) -> Iterator[str]:
    names = [name for name in LABELS if any(p.parts.get(name, 0) > 0.005 for p in plan.phases)]
    head = "GiB on each GPU" if plan.setting.num_gpus else "GiB"
    yield _row(head, [HEADINGS[phase.name] for phase in plan.phases])
    for name in names:
        cells = [phase.parts.get(name, 0.0) for phase in plan.phases]
        yield _row(LABELS[name], [f"{cell:.2f}" if cell else "" for cell in cells])
    yield _row("total", [f"{phase.total:.2f}" for phase in plan.phases])


def _row(label: str, cells: list[str]) -> str:
    return f"{label:<22}" + "".join(f"{cell:>19}" for cell in cells)


def _microbatch(setting: Setting) -> str:
    shown = f"{setting.prompt_length} + {setting.response_length} tokens"
    if setting.tokens_per_microbatch:
        what = f"{setting.microbatch_tokens:,} tokens"
    else:
        plural = "s" if setting.microbatch_size > 1 else ""
        what = f"{setting.microbatch_size} response{plural}, {setting.microbatch_tokens:,} tokens"
    pass_ = "with" if setting.checkpointing else "without"
    return f"a microbatch: {what}; longest {shown}; {pass_} gradient checkpointing"


def _cache(plan: Plan) -> str:
    setting = plan.setting
    sampler = "transformers" if setting.sampler == "transformers" else "vLLM"
    text = f"sampling by {sampler}: {plan.kv_bytes / 1024:.0f} KiB a token, "
    text += f"{plan.responses_at_a_time} responses of {setting.length:,} tokens at a time"
    if setting.sampler != "transformers":
        text += f" (gpu_memory_utilization {setting.vllm_memory:.2f})"
    return text


def _changes(plan: Plan) -> Iterator[str]:
    found = changes(plan)
    if not found:
        return
    yield ""
    yield "what to change, the cheapest first, each on top of those before it:"
    for change in found:
        mark = "  <- fits" if change.fits else ""
        yield f"  {change.words:<46} saves {change.saves:6.1f} GiB, costs {change.costs}{mark}"
    if not found[-1].fits:
        yield "even so it does not fit: choose a smaller model or larger GPUs"


def _count(number: float) -> str:
    if number < 1e6:
        return f"{number:,.0f}"
    return f"{number / 1e9:.2f} billion" if number >= 1e9 else f"{number / 1e6:.1f} million"
