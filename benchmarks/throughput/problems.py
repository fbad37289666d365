"""Sums in words as a local copy of GSM8K: both sides are asked the same, in the same order."""

import json
import random
from pathlib import Path
from typing import Any

import reasonenv

ENV = "GSM8K-v0"
NUM_PROBLEMS = 4096


def write(folder: Path, num_words: int = 0) -> None:
    """The file of the data set; each question has `num_words` words before it."""
    draw = random.Random(0)
    rows = []
    for _ in range(NUM_PROBLEMS):
        one, other = draw.randrange(10, 1000), draw.randrange(10, 1000)
        question = "so " * num_words + f"What is {one} + {other}?"
        rows.append({"question": question, "answer": f"It is so.\n#### {one + other}"})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def posed(folder: Path, prompt: str) -> list[dict[str, Any]]:
    """One pass through the problems as our environment walks it, in the form that TRL reads."""
    envs = reasonenv.make(ENV, num_envs=NUM_PROBLEMS, data=folder, prompt=prompt, num_workers=1)
    observations, infos = envs.reset(seed=0)
    answers = {str(problem.id): problem.answer for problem in envs.problems}
    envs.close()
    rows = []
    for system, question, number in zip(
        observations["system"], observations["question"], infos["problem_id"], strict=True
    ):
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": question})
        rows.append({"prompt": messages, "solution": f"\\boxed{{{answers[str(number)]}}}"})
    return rows
