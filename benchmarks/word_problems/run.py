r"""A pretrained model of 135 million weights learns word problems on a laptop: seeds of learners.

    python -m benchmarks.word_problems.run --model DIR --start
    python -m benchmarks.word_problems.run --model DIR --learners cpgd grpo rloo --seeds 0 1 2
    python -m benchmarks.word_problems.run --model DIR --learners cpgd grpo rloo --lora
    python -m benchmarks.word_problems.run --model DIR --learners reinforce --name control \
        -- --overlong-buffer 0

A run is `python -m agents.LEARNER --env WordProblems-v0 --seed S`, all else by default; flags after
`--` are added. It is repeated with `--resume` where its folder is there, so that a study that was
interrupted goes on. `reinforce` without the penalty for length, so that rewards are 0 and 1, is the
control: supervised learning on the model's own right answers, at the same cost. The last checkpoint
answers problems of each split, as the model at the start does with each prompt; at the end with the
limit of training, at the start with a generous one, since that model has not learned to be short.
Results go to runs.json and start.json beside this file, added to what is there.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.quickstart.families import accuracy
from reasonenv.envs import word_problems
from reasonenv.envs.word_problems import WordProblems

HERE = Path(__file__).parent
ENV = "WordProblems-v0"
SPLITS = ("test", "heldout", "heldout_phrasings")
PROMPTS = ("plain", "boxed", "cpgd")
NUM_PROBLEMS = 200
GENEROUS = 128
"""Tokens of a response that did not learn to be short."""
LORA = ["--lora", '{"r": 16, "target_modules": "all-linear"}', "--learning-rate", "1e-3"]
CURVES = (
    *("reward/accuracy", "response/length_mean", "response/truncated", "policy/entropy"),
    *("time/rollout_s", "time/train_s", "memory/peak_gib"),
)


def command(module: str, *words: str) -> None:
    """Runs a command of `agents` to its end."""
    subprocess.run([sys.executable, "-m", module, *words], check=True)


def run(learner: str, seed: int, model: str, flags: list[str], out: Path) -> dict[str, Any]:
    """One run, new or resumed: its curves, seconds, memory and accuracies at the end."""
    words = ["--env", ENV, "--model", model, "--seed", str(seed), *flags]
    resume = ["--resume"] if (out / "run.json").exists() else []
    command(f"agents.{learner}", *words, "--output-dir", str(out), *resume)
    record = json.loads((out / "run.json").read_text())
    rows = [json.loads(line) for line in (out / "metrics.jsonl").open()]
    checkpoint = out / "checkpoints" / f"step-{len(rows)}"
    limit = record["settings"]["run"]["max_response_length"]
    return {
        "learner": learner,
        "seed": seed,
        "flags": flags,
        "steps": len(rows),
        "seconds": round(sum(row["time/step_s"] for row in rows), 1),
        "curves": {name: [round(row[name], 4) for row in rows] for name in CURVES},
        "end": accuracies(str(checkpoint), limit),
        "versions": record["versions"],
        "machine": {name: record["machine"][name] for name in ("processor", "num_threads")},
    }


def accuracies(model: str, limit: int, prompt: str = "plain") -> dict[str, Any]:
    """Sampled accuracy on each split, with intervals by fact, and lengths of responses."""
    return {split: _accuracy(split, _responses(model, split, limit, prompt)) for split in SPLITS}


def _responses(model: str, split: str, limit: int, prompt: str) -> list[dict[str, Any]]:
    words = ["--env", ENV, "--model", model, "--split", split, "--num-problems", str(NUM_PROBLEMS)]
    words += ["--env-options", json.dumps({"prompt": prompt}), "--max-response-length", str(limit)]
    with tempfile.TemporaryDirectory() as out:
        command("agents.evaluate", *words, "--output-dir", out)
        return [json.loads(line) for line in (Path(out) / f"{ENV}.jsonl").open()]


def _accuracy(split: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    problems = word_problems.problems(split)
    facts = [_fact(problems, row["id"]) for row in rows]
    correct = [row["correct"] for row in rows]
    return accuracy(list(zip(facts, correct, strict=True))) | {
        "length_mean": round(sum(row["length"] for row in rows) / len(rows), 1)
    }


def _fact(problems: WordProblems, id: str) -> str:
    """The sum or product on which the answer rests."""
    metadata = problems.draw(id).metadata
    return str(word_problems.FAMILIES[metadata["family"]].steps(metadata["operands"])[-1].fact)


def add(path: Path, row: dict[str, Any], *key: str) -> None:
    """Writes a row to a file of results, instead of the one with the same key."""
    rows = json.loads(path.read_text()) if path.exists() else []
    others = [other for other in rows if any(other[name] != row[name] for name in key)]
    path.write_text(json.dumps([*others, row], indent=1) + "\n")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", default="HuggingFaceTB/SmolLM2-135M-Instruct")
    parser.add_argument("--learners", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--lora", action="store_true", help="adapters instead of all weights")
    parser.add_argument("--start", action="store_true", help="the model as it is, by prompt")
    parser.add_argument("--name", help="of the runs in tables; by default the learner's")
    parser.add_argument("--runs", type=Path, default=Path("runs/word-problems"))
    arguments, flags = parser.parse_known_args()
    if arguments.start:
        for prompt in PROMPTS:
            row = {"prompt": prompt, "limit": GENEROUS}
            row |= accuracies(arguments.model, GENEROUS, prompt)
            add(HERE / "start.json", row, "prompt")
    flags = [*(LORA if arguments.lora else []), *(word for word in flags if word != "--")]
    for seed in arguments.seeds:
        for learner in arguments.learners:
            name = arguments.name or learner + "-lora" * arguments.lora
            out = arguments.runs / f"{name}-seed{seed}"
            row = {"name": name} | run(learner, seed, arguments.model, flags, out)
            add(HERE / "runs.json", row, "name", "seed")


if __name__ == "__main__":
    main()
