"""How the cost of our step grows with one quantity at a time, each in a process of its own.

Lengths are forced as in the comparison. Long responses are few, and one step of them is timed: it
shows how cost grows, not how fast a large batch is.
"""

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from agents.storage.json_files import read_json_lines
from throughput import problems, sizes
from throughput.figures import phases
from throughput.side import BENCHMARKS, PROJECT
from throughput.sizes import SIZES

TILE = 28
"""Pixels of a token of an image, in width and in height."""
SEES = "tiny"
"""The vision-language model that is part of the package."""


@dataclass(frozen=True)
class Point:
    """One measurement: what grows, how far, and the settings of the run that differ."""

    kind: str
    value: int
    run: dict[str, Any] = field(default_factory=dict)
    steps: int = 1
    warm: int = 1
    """Steps before the first that counts."""
    ranks: int = 1


def rollout(num_prompts: int, group_size: int, length: int) -> dict[str, int]:
    """The settings of a run that say how much is sampled; one optimizer step, one forward pass."""
    return {
        "num_prompts": num_prompts,
        "group_size": group_size,
        "minibatch_size": num_prompts * group_size,
        "microbatch_size": num_prompts * group_size,
        "max_response_length": length,
    }


POINTS = (
    *(
        Point("length", length, {**rollout(1, 4, length), "microbatch_size": 1}, warm=length < 2048)
        for length in (256, 512, 1024, 2048, 4096, 8192)
    ),
    *(Point("group", size, rollout(4, size, 32), steps=3) for size in (4, 8, 16, 32)),
    *(Point("image", tokens, rollout(4, 4, 32), steps=5) for tokens in (0, 80, 320, 1280)),
    *(Point("ranks", count, rollout(8, 8, 32), steps=3, ranks=count) for count in (1, 2)),
)


def measured(folder: Path, threads: int, points: tuple[Point, ...] = POINTS) -> dict[str, Any]:
    """All points; seconds of the phases of the median step."""
    problems.write(folder / "data")
    sizes.write(folder / "model", SIZES["tiny"])
    rows = []
    for number, point in enumerate(points):
        rows.append(_measured(point, folder, folder / f"run-{number}", threads))
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return {"threads": threads, "rows": rows}


def _measured(point: Point, folder: Path, scratch: Path, threads: int) -> dict[str, Any]:
    words = settings(point, folder, scratch)
    paths = [str(BENCHMARKS), str(PROJECT), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "OMP_NUM_THREADS": str(max(1, threads // point.ranks)),
        "HF_HUB_OFFLINE": "1",
    }
    python = [sys.executable, "-m"]
    if point.ranks > 1:
        launcher = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(point.ranks)]
        python += [*launcher, "-m"]
    done = subprocess.run(
        [*python, "throughput.grown", json.dumps(words), str(point.steps + point.warm)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{point} ended:\n{done.stderr[-3000:]}")
    lines = read_json_lines(scratch / "metrics.jsonl")
    kept = sorted(lines[point.warm :], key=lambda row: row["time/step_s"])[point.steps // 2]
    row = {name.removeprefix("time/").removesuffix("_s"): value for name, value in kept.items()}
    return {
        "kind": point.kind,
        "value": point.value,
        "phases_s": phases(row | {"sample": row["rollout"]}),
        "step_s": row["step"],
        "responses_per_s": kept["throughput/responses_per_s"],
        "tokens_per_s": kept["throughput/tokens_per_s"],
        "peak_gib": kept["memory/peak_gib"],
    }


def settings(point: Point, folder: Path, scratch: Path) -> dict[str, Any]:
    """The settings of the run of a point."""
    words: dict[str, Any] = {"env": problems.ENV, "env_options": {"prompt": "plain"}}
    words |= {"data": str(folder / "data"), "model": str(folder / "model")}
    if point.kind == "image":
        words["model"] = SEES
    if point.kind == "image" and point.value:
        pictures(folder / f"images-{point.value}", point.value)
        words |= {"env": "MMK12-v0", "data": str(folder / f"images-{point.value}")}
        words["max_pixels"] = point.value * TILE**2
    if point.ranks > 1 or point.kind == "ranks":
        words["engine"] = "deepspeed"
    words |= {"output_dir": str(scratch), "num_steps": 10**6}
    words |= {"num_test_problems": 0, "save_every": 10**6, "learning_rate": 1e-6}
    return words | point.run


def pictures(folder: Path, tokens: int) -> None:
    """A data set in MMK12's format whose images take `tokens` places each."""
    import pyarrow as pa
    from pyarrow import parquet

    height = next(side for side in range(int(tokens**0.5), 0, -1) if tokens % side == 0)
    draw = np.random.default_rng(0)
    rows = []
    for number in range(64):
        noise = draw.integers(0, 256, (height * TILE, tokens // height * TILE, 3), dtype=np.uint8)
        buffer = io.BytesIO()
        Image.fromarray(noise).save(buffer, "PNG", compress_level=1)
        cell = {"bytes": buffer.getvalue(), "path": f"{number}.png"}
        row = {"id": str(number), "question": f"What is {number} + 1?", "answer": str(number + 1)}
        rows.append(row | {"subject": "math", "image": cell})
    folder.mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist(rows), folder / "train-00000-of-00001.parquet")
