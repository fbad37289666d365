"""From seconds of steps to figures: medians with spread, ratios with intervals, what is possible.

Source: 6 N floating-point operations for each weight and token, forward and backward, N without the
embedding but with the head: Kaplan et al., Scaling Laws for Neural Language Models
(arXiv:2001.08361), section 2.1; to which attention adds 12 l d s / 2 a token, causal.
"""

import time
from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import Any

import numpy as np

from reasonenv.scoring.statistics import over_ratios
from throughput.sizes import Size

PHASES = ("sample", "grade", "log_prob", "train", "sync", "other")
Row = Mapping[str, float]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, quartiles, least and largest."""
    marks = {"min": 0, "q1": 25, "median": 50, "q3": 75, "max": 100}
    return {name: float(f"{np.percentile(values, mark):.4g}") for name, mark in marks.items()}


def phases(row: Row) -> dict[str, float]:
    """Seconds of each phase of a step; what none of them counts is "other"."""
    known = {name: row.get(name, 0.0) for name in PHASES if name != "other"}
    return known | {"other": max(0.0, row["step"] - sum(known.values()))}


def ratio(
    ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]
) -> dict[str, float | list[float]]:
    """Our throughput over theirs, with a 95 % interval, and that of each turn.

    The geometric mean of the ratio of medians of each pair of neighbouring turns, and its interval
    over the pairs, since steps of one turn share the machine's mood.

    Args:
        ours: Seconds of the steps, turn by turn.
        theirs: The same, as many turns.
    """
    ratios = [
        float(np.median(other) / np.median(mine)) for mine, other in zip(ours, theirs, strict=True)
    ]
    return {
        "ratio": round(geometric_mean(ratios), 3),
        "interval": [round(end, 3) for end in over_ratios(ratios)],
        "ratios": [round(ratio, 3) for ratio in ratios],
    }


def training_flops(size: Size, weights: int, prompt: int, lengths: Sequence[int]) -> float:
    """Floating-point operations that training on the responses of a step takes.

    Args:
        size: Of the model.
        weights: All of them; embedding and head are the same ones.
        prompt: Tokens of a prompt, counted for each of its responses.
        lengths: Of the responses.
    """
    tokens = np.asarray(lengths, float) + prompt
    return float(6 * weights * tokens.sum() + 6 * size.layers * size.hidden * (tokens**2).sum())


def sampling_bytes(size: Size, weights: int, prompt: int, lengths: Sequence[int]) -> float:
    """What sampling must read: all weights for each token of the longest response, keys, values."""
    width = 2 if size.dtype == "bfloat16" else 4
    entry = 2 * size.layers * size.kv_heads * (size.hidden // size.heads) * width
    cells = np.asarray(lengths, float) * (prompt + (np.asarray(lengths) + 1) / 2)
    return float(weights * width * max(lengths) + entry * cells.sum())


def rates(dtype: str, threads: int) -> dict[str, float]:
    """What this machine can do: rate of matrix products, and of copying memory."""
    import torch

    torch.set_num_threads(threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    side, items = (8192, 2**30) if device.type == "cuda" else (1536, 2**26)
    one = torch.randn(side, side, device=device, dtype=getattr(torch, dtype))
    row = torch.ones(items, device=device)
    copied = torch.empty_like(row)
    product = torch.empty_like(one)
    return {
        "flops_per_s": 2 * side**3 / _fastest(lambda: torch.mm(one, one, out=product)),
        "bytes_per_s": 8 * items / _fastest(lambda: copied.copy_(row)),
    }


def _fastest(work: Any, repeats: int = 7) -> float:
    import torch

    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def summary(turns: Sequence[dict[str, Any]], size: Size, context: dict[str, Any]) -> dict[str, Any]:
    """The figures of one side in one regime.

    Args:
        turns: As the side told them; each also has the lengths of its steps.
        size: Of the model and the rollout.
        context: `weights`, `prompt` (tokens) and what `rates` gives.
    """
    rows = [row for turn in turns for row in turn["rows"]]
    parts = [phases(row) for row in rows]
    steps = spread([row["step"] for row in rows])
    lengths = [row for turn in turns for row in turn["lengths"]]
    flops = [training_flops(size, context["weights"], context["prompt"], row) for row in lengths]
    read = [sampling_bytes(size, context["weights"], context["prompt"], row) for row in lengths]
    trained = [part["train"] + part["log_prob"] for part in parts]
    sampled = [part["sample"] for part in parts]
    found = {
        "steps": len(rows),
        "step_s": steps,
        "steps_per_s": round(1 / steps["median"], 3),
        "responses_per_s": round(size.responses / steps["median"], 2),
        "phases_s": {name: spread([part[name] for part in parts]) for name in PHASES},
        "flops_utilisation": _median(
            np.divide(flops, trained) / context["rates"]["flops_per_s"] if all(trained) else [0]
        ),
        "sampling_to_limit": _median(np.divide(sampled, read) * context["rates"]["bytes_per_s"]),
        "cpu_s_per_step": round(sum(turn["cpu_s"] for turn in turns) / len(rows), 4),
    }
    peaks = [name for name in turns[0] if name.endswith("_mib")]
    return found | {name: round(max(turn[name] for turn in turns), 1) for name in peaks}


def _median(values: Any) -> float:
    return float(f"{np.median(values):.3g}")
