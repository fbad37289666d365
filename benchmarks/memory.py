"""Memory and speed of training: with and without padding, with all logits at once and in chunks.

    python benchmarks/memory.py              a few minutes on one core
    python benchmarks/memory.py --quick      fewer sizes
    python benchmarks/memory.py --picture    draws memory.png from memory.json
    python benchmarks/memory.py --taught     with a teacher and without, to memory/taught.json

A measurement is a forward and a backward pass of `Policy` in a process of its own: peak memory
above that of the model at rest, and response tokens a second. On a CPU the peak is of resident
memory (Linux only) and the seconds are those of the processor, in one thread, so that they hardly
depend on what else the machine does; on a GPU both are the device's. "Padded" is a batch with a
prompt for each response, "whole" are all logits at once through PyTorch's own functions. Then the
step of the quickstart's model: 128 responses in groups of eight to problems of Figures-v2, old
log-probabilities, gradient and optimizer. Results go to memory/memory.json.
"""

import argparse
import ctypes
import json
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import Qwen2Config, Qwen2ForCausalLM, __version__

import usage
from agents.distillation import kl_to_teacher
from agents.engines import model as policies
from agents.engines.chat import Chat
from agents.engines.frozen_models import Distillation, Teacher
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.sampling import Sampling
from agents.rollout import Prompt, Responses
from provenance import provenance

HERE = Path(__file__).with_suffix("")
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
WAYS = ("padded whole", "padded chunked", "packed whole", "packed chunked")
TAUGHT = "packed chunked taught"
"""With the divergence over the vocabulary from the policy after another prompt."""
BASE = {"vocabulary": 32_000, "group": 4, "prompt": 64, "length": 256, "responses": 4}
SHAPE = (28, 1536, 8960, 12, 2) if CUDA else (2, 128, 384, 4, 2)
"""Layers, width, inner width, heads, key heads: of 1.5 billion weights, or of a tiny model."""


def whole(head: Any, hidden: Tensor, tokens: Tensor, policy: Callable) -> tuple[Tensor, Tensor]:
    """What `head.log_prob` gives, by PyTorch's own functions from all logits."""
    every = policy(head(hidden)).log_softmax(-1)
    with torch.no_grad():
        entropy = torch.special.entr(every.exp()).sum(-1)
    return every.gather(-1, tokens[:, None])[:, 0], entropy


def take(policy: Policy, way: str) -> None:
    """Makes a policy go one of `WAYS`."""
    padding, logits, *_ = way.split()
    policy.packs = padding == "packed"
    if logits == "whole":
        policies.log_prob = whole


def random_policy(vocabulary: int) -> Policy:
    layers, width, inner, heads, key_heads = SHAPE
    config = Qwen2Config(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        tie_word_embeddings=True,
        dtype=torch.bfloat16 if CUDA else torch.float32,
    )
    with DEVICE:
        return Policy(Qwen2ForCausalLM._from_config(config)).ready()


def random_responses(size: dict[str, Any]) -> Responses:
    """Responses of one length, or of log-normal ones of the same mean, at most four times it."""
    generator = torch.Generator().manual_seed(0)
    count, mean = size["responses"], size["length"]
    lengths = torch.full((count,), mean)
    if size.get("long_tailed"):
        drawn = torch.randn(count, generator=generator).exp()
        lengths = (mean * drawn / drawn.mean()).long().clamp(1, 4 * mean)
    return responses_to(
        [
            prompt
            for start in range(0, count, size["group"])
            for prompt in [Prompt(tuple(range(start, start + size["prompt"])))]
            * min(size["group"], count - start)
        ],
        lengths,
        size["vocabulary"],
    )


def responses_to(prompts: list[Prompt], lengths: Tensor, vocabulary: int) -> Responses:
    generator = torch.Generator().manual_seed(0)
    mask = torch.arange(int(lengths.max())) < lengths[:, None]
    # The last half of a vocabulary: the tokens that stand for images are among the first.
    tokens = torch.randint(vocabulary // 2, vocabulary, mask.shape, generator=generator)
    return Responses(
        prompts=tuple(prompts),
        tokens=tokens * mask,
        mask=mask,
        texts=("",) * len(mask),
        sampler_log_prob=torch.zeros(mask.shape),
        finished=torch.ones(len(mask), dtype=torch.bool),
    )


def figures_step(way: str) -> tuple[Callable[[], None], int]:
    """A training step of the tiny model, and its response tokens."""
    import reasonenv
    from benchmarks.tiny import model as tiny_model

    with tempfile.TemporaryDirectory() as folder:
        tiny_model.save_untrained(
            Path(folder), ["What is the sum of the numbers? How many are there?"], seed=0
        )
        model, chat = load_model(folder, DEVICE, torch.float32)
    policy = Policy(model).ready()
    take(policy, way)
    responses = figures_responses(reasonenv, chat)
    optimizer = torch.optim.AdamW(policy.parameters(), 1e-4, fused=True)

    def step() -> None:
        sampling = Sampling(1.0, chat.banned)
        with torch.no_grad():
            policy(responses, sampling)
        policy(responses, sampling)[0].where(responses.mask.to(DEVICE), 0.0).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step, int(responses.mask.sum())


def figures_responses(reasonenv: Any, chat: Chat) -> Responses:
    """Of 5 to 45 tokens, 25 on average: as long as the quickstart's."""
    envs = reasonenv.make("Figures-v2", num_envs=128, group_size=8, num_workers=1)
    prompts = chat.encode(envs.reset(seed=0)[0])
    envs.close()
    lengths = torch.randint(5, 46, (128,), generator=torch.Generator().manual_seed(0))
    return responses_to(list(prompts), lengths, len(chat.tokenizer))


def random_step(way: str, size: dict[str, Any]) -> tuple[Callable[[], None], int]:
    policy, responses = random_policy(size["vocabulary"]), random_responses(size)
    take(policy, way)

    distillation = Distillation(Teacher(), kl_to_teacher) if way == TAUGHT else None

    def step() -> None:
        values = policy(responses, Sampling(), distillation=distillation)
        sum(x.sum() for x in values if x.requires_grad).backward()
        policy.zero_grad()

    return step, int(responses.mask.sum())


def measure(way: str, size: dict[str, Any], repeats: int) -> dict[str, Any]:
    """Peak memory of the first pass and the median speed of the next ones, in this process."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    step, tokens = random_step(way, size) if size else figures_step(way)
    before = at_rest()
    step()
    result = {"way": way, **size, "peak_mib": round(peak() - before, 1), "tokens": tokens}
    seconds = sorted(timed(step) for _ in range(repeats))
    if seconds:
        middle = seconds[repeats // 2]
        result |= {"seconds": round(middle, 4), "tokens_per_s": round(tokens / middle)}
    return result


def at_rest() -> float:
    """MiB now; from here on the peak counts anew."""
    if CUDA:
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated() / 2**20
    Path("/proc/self/clear_refs").write_text("5")  # see proc(5): the peak becomes what is resident
    return usage.peak_mib([os.getpid()])


def peak() -> float:
    return torch.cuda.max_memory_allocated() / 2**20 if CUDA else usage.peak_mib([os.getpid()])


def timed(step: Callable[[], None]) -> float:
    if not CUDA:
        began = time.process_time()
        step()
        return time.process_time() - began
    torch.cuda.synchronize()
    began = time.perf_counter()
    step()
    torch.cuda.synchronize()
    return time.perf_counter() - began


def run(way: str, size: dict[str, Any], repeats: int = 0) -> dict[str, Any]:
    """The same in a process of its own, which has imported what it needs and done nothing yet."""
    context = get_context("spawn" if CUDA else "fork")
    with ProcessPoolExecutor(1, context) as pool:
        found = pool.submit(measure, way, size, repeats).result()
    print(json.dumps(found), flush=True)
    return found


def measured(quick: bool) -> dict[str, Any]:
    """All tables; what is compared is measured one right after the other."""
    longest = 8192 if CUDA else 2048
    lengths = [longest >> by for by in ((3, 1) if quick else (3, 2, 1, 0))]
    sizes = [1_000, 32_000] if quick else [1_000, 8_000, 32_000, 152_000]
    groups = [8] if quick else [4, 8, 16, 32]
    batch = {"responses": 32, "prompt": 128, "length": 128, "vocabulary": 1_000}
    return {
        "by_length": [run(way, BASE | {"length": x}) for x in lengths for way in WAYS],
        "by_vocabulary": [run(way, BASE | {"vocabulary": x}) for x in sizes for way in WAYS],
        "speed": [
            run(way, batch | {"group": group, "long_tailed": tailed}, 3)
            for tailed in (False, True)
            for group in groups
            for way in ("padded chunked", "packed chunked")
        ],
        "figures_step": [run(way, {}, 3 if quick else 7) for way in (WAYS[0], WAYS[-1])],
    }


def taught(quick: bool) -> list[dict[str, Any]]:
    """Peaks without and with a teacher, of memory that is in use: what is freed is given back."""
    ctypes.CDLL(None).mallopt(-3, 2**16)  # M_MMAP_THRESHOLD
    sizes = [BASE | {"length": x, "vocabulary": 152_000} for x in (256,) * quick or (256, 1024)]
    return [run(way, size) for size in sizes for way in (WAYS[-1], TAUGHT)]


def picture(path: Path) -> None:
    """Memory over length and vocabulary, and tokens a second by group size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    result = json.loads(path.read_text())
    colors = dict(zip(WAYS, ("#c44e52", "#dd9b3a", "#8fb3d9", "#1f4e79"), strict=True))
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    columns = (
        ("by_length", "length", "tokens of each of 4 responses, vocabulary of 32,000"),
        ("by_vocabulary", "vocabulary", "vocabulary, 4 responses of 256 tokens"),
    )
    for axis, (table, column, name) in zip(axes, columns, strict=False):
        for way in WAYS:
            rows = [row for row in result[table] if row["way"] == way]
            x, y = [row[column] for row in rows], [row["peak_mib"] for row in rows]
            axis.plot(x, y, "o-", color=colors[way], label=way)
        axis.set(xscale="log", ylabel="peak memory, MiB", xlabel=name, ylim=(0, None))
        axis.set_xticks(x, [f"{value:,}" for value in x], minor=False)
        axis.minorticks_off()
    axes[0].legend()
    for way in ("padded chunked", "packed chunked"):
        for tailed, style in ((False, "o-"), (True, "s--")):
            rows = [r for r in result["speed"] if (r["way"], r["long_tailed"]) == (way, tailed)]
            label = f"{way.split()[0]}, {'long-tailed' if tailed else 'equal'} lengths"
            rates, x = ([row[name] for row in rows] for name in ("tokens_per_s", "group"))
            axes[2].plot(x, rates, style, color=colors[way], label=label)
    axes[2].set(xlabel="responses to a prompt", ylabel="response tokens / s", xscale="log")
    axes[2].set_xticks(x, x, minor=False)
    axes[2].minorticks_off()
    axes[2].set_ylim(0, 1.6 * axes[2].get_ylim()[1])
    axes[2].legend(loc="upper left", fontsize="small")
    figure.savefig(path.with_suffix(".png"), dpi=150)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    parser.add_argument("--picture", action="store_true", help="draw NAME.png from NAME.json")
    parser.add_argument("--name", default="memory")
    parser.add_argument("--taught", action="store_true", help="with a teacher, to taught.json")
    options = parser.parse_args()
    path = HERE / f"{'taught' if options.taught else options.name}.json"
    if not options.picture:
        device = torch.cuda.get_device_name() if CUDA else "cpu"
        result = {**provenance("memory.py"), "device": device}
        result["versions"] |= {"torch": torch.__version__, "transformers": __version__}
        rows = {"taught": taught(options.quick)} if options.taught else measured(options.quick)
        result |= rows
        HERE.mkdir(exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if not options.taught:
        picture(path)


if __name__ == "__main__":
    main()
