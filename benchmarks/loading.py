"""What loading costs: time and memory to the first problem, and for each thousand after it.

    python benchmarks/loading.py                          a file of 15,616 rows with images
    python benchmarks/loading.py --num-rows 2000 --rows-per-group 2000

The file is made first: MMK12's columns, as many rows as it has for training, each with one of 200
images of lines and noise, of about the size of MMK12's. Problems are then asked for as training
does, in a shuffled order, by `reasonenv.make`; each measurement is a process of its own: the first,
in which `datasets` writes the rows to its cache, and another. The file has just been written, so it
lies in the operating system's cache: what a slow disk adds is not measured.

Memory is resident memory above that before the environment is made: "anonymous" cannot be taken
back by the system, "mapped" is of files, whose pages are given up whenever memory is short.
Results go to loading/loading.json. Linux only.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from provenance import provenance

HERE = Path(__file__).with_suffix("")
NUM_ROWS = 15_616
# `datasets` writes images a hundred rows to a group; others write all rows as one.
GROUPS = (100, NUM_ROWS)


def write(path: Path, num_rows: int, rows_per_group: int) -> None:
    """A file in the format of MMK12, written group by group."""
    import pyarrow as pa
    from pyarrow import parquet

    texts = [(name, pa.string()) for name in ("id", "question", "answer", "subject")]
    cell = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema([*texts, ("image", cell)])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, num_rows, rows_per_group):
            numbers = range(start, min(start + rows_per_group, num_rows))
            batches = [
                pa.RecordBatch.from_pylist(list(rows(part)), schema) for part in hundreds(numbers)
            ]
            writer.write_table(pa.Table.from_batches(batches), rows_per_group)


def hundreds(numbers: range) -> Iterator[range]:
    for start in range(0, len(numbers), 100):
        yield numbers[start : start + 100]


def rows(numbers: range) -> Iterator[dict[str, Any]]:
    for number in numbers:
        yield {
            "id": f"row-{number}",
            "question": f"What is the length of segment {number} in the figure? " * 4,
            "answer": str(number),
            "subject": "math",
            "image": {"bytes": drawing(number % 200), "path": f"{number}.png"},
        }


@lru_cache(200)
def drawing(number: int) -> bytes:
    """A PNG of lines with a noisy patch: 640 x 480, about 90 kB, as MMK12's on average."""
    rng = np.random.default_rng(number)
    image = Image.new("RGB", (640, 480), "white")
    draw = ImageDraw.Draw(image)
    for _ in range(12):
        draw.line([int(x) for x in rng.integers(0, 480, 4)], fill="black", width=2)
    patch = rng.integers(0, 256, (170, 170, 3), dtype=np.uint8)
    image.paste(Image.fromarray(patch), (int(rng.integers(400)), int(rng.integers(300))))
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def memory() -> dict[str, float]:
    """Resident memory of this process in MiB."""
    told = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    kib = {name: int(told[name].split()[0]) for name in ("RssAnon", "RssFile", "RssShmem")}
    return {"anonymous": kib["RssAnon"] / 1024, "mapped": (kib["RssFile"] + kib["RssShmem"]) / 1024}


def measure(folder: str, num_problems: int) -> dict[str, Any]:
    """One run in this process: the first problem, then `num_problems` more, and every thousand."""
    import datasets  # noqa: F401 - starting Python is not loading

    import reasonenv.entry_points

    before, began = memory(), time.perf_counter()
    envs = reasonenv.make("MMK12-v0", num_envs=1, data=folder, num_workers=1)
    made_s = time.perf_counter() - began
    envs.reset(seed=0)
    first_s = time.perf_counter() - began
    result = {
        "to_make_s": round(made_s, 3),
        "to_first_problem_s": round(first_s, 3),
        "memory_first_mib": above(before),
        "thousands": [],
    }
    for start in range(0, num_problems, 1000):
        began = time.perf_counter()
        for _ in range(min(1000, num_problems - start)):
            envs.reset()
        result["thousands"].append(
            {"s": round(time.perf_counter() - began, 2), "memory_mib": above(before)}
        )
    envs.close()
    return result


def above(before: dict[str, float]) -> dict[str, float]:
    now = memory()
    return {name: round(now[name] - before[name], 1) for name in now}


def run(folder: Path, num_problems: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", str(folder)]
    command += ["--num-problems", str(num_problems)]
    env = {**os.environ, "HF_DATASETS_CACHE": str(folder / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-rows", type=int, default=NUM_ROWS)
    parser.add_argument("--rows-per-group", type=int, nargs="+", default=GROUPS)
    parser.add_argument("--num-problems", type=int, default=3000)
    parser.add_argument("--measure", help="internal: measure this folder in this process")
    parser.add_argument("--output", type=Path, default=HERE / "loading.json")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.num_problems)))
        return
    result = {**provenance("loading.py"), "num_rows": options.num_rows, "files": []}
    for per_group in options.rows_per_group:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "train-00000-of-00001.parquet"
            write(file, options.num_rows, per_group)
            size = file.stat().st_size / 2**20
            first, again = (run(Path(folder), options.num_problems) for _ in range(2))
        result["files"].append(
            {"rows_per_group": per_group, "file_mib": round(size, 1)}
            | {"first": first, "again": again}
        )
        print(json.dumps(result["files"][-1], indent=1))
    options.output.parent.mkdir(exist_ok=True)
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
