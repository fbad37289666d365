"""Does PAPO read the image more? Accuracy with images that are masked, before and after training.

    python -m benchmarks.recent.masked

PAPO and GRPO are trained as in `benchmarks/recent/figures.py`, three seeds each. The first model
and the last one of each run then answer 400 test problems, with images as they are and with 60 %
of the patches of 14 x 14 pixels black, as PAPO's second context has them. A model that reads the
image more loses more by the mask. One thread; what is done is not run again.
"""

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

import reasonenv
from agents.engines.load import load_model
from agents.engines.model import Policy
from agents.engines.pretrained import TINY
from agents.engines.sampling import Sampling
from agents.engines.transformers import TransformersSampler
from agents.storage.checkpoints import latest
from agents.views import AnsweredGroup, masked_image
from benchmarks.grid.study import tasks
from benchmarks.recent.figures import STUDY

RESULTS = Path(__file__).with_name("masked.json")
NUM_PROBLEMS = 400
MODELS = ("start", "GRPO", "PAPO")


def masked(observations: dict[str, Any]) -> dict[str, Any]:
    """The observations of problems, each with random patches black."""
    parts = zip(observations["question"], observations["images"], strict=True)
    groups = (
        AnsweredGroup({"question": question, "images": images}, ("",), (0.0,), {}, (number,))
        for number, (question, images) in enumerate(parts)
    )
    views = (masked_image()(group)[0] for group in groups)
    return observations | {"images": tuple(view["images"] for view in views if view)}


def accuracy(folder: Path, seed: int) -> dict[str, float]:
    """Share of test problems that a model solves, by a sampled response each."""
    model, chat = load_model(str(folder), torch.device("cpu"), torch.float32)
    sampler = TransformersSampler(Policy(model), chat, Sampling(1.0, chat.banned), 48, 128)
    shares = {}
    for name, view in (("plain", dict), ("masked", masked)):
        envs = reasonenv.make("Figures-v2", num_envs=NUM_PROBLEMS, split="test")
        observations, _ = envs.reset(seed=0)
        responses = sampler.generate(sampler.encode(view(observations)), seed=(seed,))
        *_, infos = envs.step(responses.texts)
        shares[name] = float(infos["accuracy"].mean())
        envs.close()
    return shares


def trained(words: Sequence[str], folder: Path) -> Path:
    """The last checkpoint of a run."""
    subprocess.run([sys.executable, "-m", *words, "--output-dir", str(folder)], check=True)
    checkpoint = latest(folder)
    assert checkpoint is not None
    return checkpoint


def table_of(records: Sequence[dict[str, Any]]) -> str:
    """Means over seeds with 95 % intervals; of one model, that of its problems."""
    lines = ["| model | images as they are | masked | lost by the mask |", "|---" * 4 + "|"]
    for model in MODELS:
        runs = [record for record in records if record["model"] == model]
        columns = [[run[name] for run in runs] for name in ("plain", "masked")]
        columns.append([run["plain"] - run["masked"] for run in runs])
        lines.append(f"| {model} | " + " | ".join(map(interval, columns)) + " |")
    return "\n".join(lines)


def interval(values: Sequence[float]) -> str:
    """Mean and, of three values, Student's interval."""
    if len(values) == 1:
        return f"{values[0]:.3f}"
    half = 4.303 * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return f"{np.mean(values):.3f} ± {half:.3f}"


def main() -> None:
    """Runs what is missing and prints the table."""
    records = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    kept = {(record["model"], record["seed"]) for record in records}
    jobs = [("start", 0, ())]
    jobs += [(t.name, t.seed, t.words) for t in tasks(STUDY, STUDY.seeds) if t.name in MODELS]
    torch.set_num_threads(1)
    for name, seed, words in jobs:
        if (name, seed) in kept:
            continue
        with TemporaryDirectory() as scratch:
            folder = trained(words, Path(scratch) / "run") if words else TINY
            records.append({"model": name, "seed": seed} | accuracy(folder, seed))
        print(records[-1], flush=True)
        RESULTS.write_text(json.dumps(records, indent=1) + "\n")
    print(table_of(records))


if __name__ == "__main__":
    main()
