"""Run directories as a run leaves them, without a model: records, metrics, groups of responses."""

import json
from typing import Any

import numpy as np

from agents.monitoring.logs import RunLog

STATUS = ("ok", "no_answer", "ok", "unparseable")


def record(folder, seed=0, **changed):
    run = {
        "env": "Figures-v2",
        "model": "tiny",
        "num_steps": 20,
        "seed": seed,
        "learning_rate": 3e-4,
    }
    settings = {"run": run | changed, "algorithm": "CPGD", "learner": {"clip_low": 0.2}}
    told = {"settings": settings, "command": "python -m agents.cpgd --seed 0 --env 'Figures-v2'"}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(told))


def metrics(step, seed=0):
    accuracy = 1 - 0.9**step + 0.01 * seed
    return {
        "reward/accuracy": accuracy,
        "reward/mean": accuracy + 0.1,
        "policy/entropy": 0.1 / step,
        "policy/ratio_max": 1.5,
        "rollout/mixed": 0.5,
        "train/grad_norm": 0.3,
        "time/rollout_s": 0.5,
        "time/train_s": 1.25,
        "time/step_s": 2.0,
        "memory/peak_gib": 1.5,
    }


def group(step, question, texts, old=False) -> dict[str, Any]:
    """A problem posed to as many responses; the first is right."""
    count = len(texts)
    image = np.full((28, 56, 3), step % 250, dtype=np.uint8)
    posed = {"system": ("Think.",) * count, "question": (question,) * count}
    infos = {
        "problem_id": [f"train/{step}"] * count,
        "accuracy": [1.0] + [0.0] * (count - 1),
        "answer": list(texts),
        "reference": ["7"] * count,
        "status": [STATUS[i % 4] for i in range(count)],
    }
    details = {
        i: {
            "finished": True,
            "advantage": 1.0 - i,
            "tokens": [text[:2], text[2:]],
            "log_ratio": [0.3, -0.1],
            "clipped": [0],
        }
        for i, text in enumerate(texts)
    }
    return {
        "observations": posed | {"images": ((image,),) * count},
        "responses": texts,
        "rewards": [1.0] + [0.0] * (count - 1),
        "infos": infos,
        "group_size": 1 if old else count,
        "groups": range(count) if old else (0,),
        "details": (lambda i: {}) if old else details.__getitem__,
    }


def write_run(
    folder, steps=20, seed=0, texts=("<think>2 + 5</think> 7", "eight", "", "x"), **changed
):
    record(folder, seed, **changed)
    with RunLog(folder, steps) as log:
        for step in range(1, steps + 1):
            log.write(step, metrics(step, seed))
            if step == 1 or step % 10 == 0:
                log.write_rollout(step, **group(step, "How many apples?", texts))
        for step in (0, steps):
            accuracy = 0.25 + step / 100
            ends = [accuracy - 0.04, accuracy + 0.04]
            told = {"split": "test", "accuracy": accuracy, "interval": ends, "num_problems": 500}
            log.write_evaluation(step, told)
    return folder
