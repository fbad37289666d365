"""Three steps of CPGD on MMK12 with a Qwen2.5-VL of random weights: a command for a machine's GPUs.

Usage: python tests/gpu/mmk12.py FOLDER [tiny|small|3b] [FOLDER_OF_MMK12] [flags of agents.cpgd]

Without a folder of the data set, rows in its format are made. On GPUs, images go through vLLM and
DeepSpeed trains; `torchrun` before it takes several ranks once the model is written.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from helpers import hub_rows, vllm_gpu

from agents.cpgd import CPGD
from agents.run import main
from agents.storage.json_files import read_json_lines

FLAGS = {
    "--num-steps": 3,
    "--num-prompts": 8,
    "--group-size": 8,
    "--minibatch-size": 64,
    "--tokens-per-microbatch": 8192,
    "--max-response-length": 64,
    "--num-test-problems": 0,
}


def rows(count: int) -> list[dict]:
    """In the format of MMK12, with an image of one colour each."""
    return [
        {
            "id": f"made-{k}",
            "question": "<image>\nHow bright is this square?",
            "answer": str(k),
            "subject": "math",
            "image": hub_rows.cell(k, size=(280, 252)),
        }
        for k in range(count)
    ]


def train(folder: Path, shape: str, data: str | None, words: list[str]) -> list[dict]:
    """Trains in `folder`, and gives the metrics of each step; a model in it stays."""
    model, run = folder / "model", folder / "run"
    if not model.exists():
        vllm_gpu.write(model, vllm_gpu.SHAPES[shape])
    data = data or hub_rows.hub(folder / "mmk12", "train", rows(64))
    flags = {"--env": "MMK12-v0", "--model": model, "--data": data, "--output-dir": run}
    arguments = [str(word) for pair in (flags | FLAGS).items() for word in pair]
    main(CPGD, [*arguments, *words])
    return read_json_lines(run / "metrics.jsonl")


if __name__ == "__main__":
    folder, *rest = sys.argv[1:]
    shape = rest.pop(0) if rest and rest[0] in vllm_gpu.SHAPES else "3b"
    data = rest.pop(0) if rest and not rest[0].startswith("-") else None
    for row in train(Path(folder), shape, data, rest):
        print(json.dumps({k: row[k] for k in sorted(row) if k.startswith(("time/", "memory/"))}))
        print(json.dumps({k: row[k] for k in sorted(row) if k.startswith("sampler/")}))
