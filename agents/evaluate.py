"""Accuracy of a model on a split of an environment: python -m agents.evaluate --help."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

import reasonenv
from agents.engines import RolloutEngine

BATCH = 256
"""Responses that are sampled and graded at a time."""


@dataclass(frozen=True)
class Evaluation:
    """How many of a split's problems a model solves."""

    split: str
    accuracy: float
    """Mean over problems of the mean over samples, in [0, 1]."""
    standard_error: float
    """Of `accuracy`, over problems."""
    num_problems: int
    num_samples: int
    """Responses to each problem."""
    length_mean: float
    """Tokens per response."""
    truncated: float
    """Part of the responses that the length limit cut."""
    by: dict[str, float]
    """Accuracy by family, subject or whatever the environment tells its problems apart by."""
    rows: tuple[dict[str, Any], ...]
    """One for each response: problem, response, answer, reference, correct, status."""

    def summary(self) -> dict[str, Any]:
        """Everything but the responses."""
        return {name: value for name, value in asdict(self).items() if name != "rows"}

    def __str__(self) -> str:
        return f"{self.split} accuracy {self.accuracy:.3f} ± {self.standard_error:.3f}"


def evaluate(
    env: str,
    split: str,
    sampler: RolloutEngine,
    num_problems: int,
    *,
    num_samples: int = 1,
    seed: int = 0,
    options: dict[str, Any] | None = None,
    progress: bool = False,
) -> Evaluation:
    """The accuracy of `sampler` on the first `num_problems` problems of a split.

    Args:
        env: Name of the environment.
        split: Of its data.
        sampler: Gives the responses.
        num_problems: At most as many as the split has; the first ones in its own order.
        num_samples: Responses to each problem.
        seed: Of the responses.
        options: Further arguments of the environment, such as `data` or `level`.
        progress: Whether to show a progress bar.
    """
    group = min(BATCH, num_samples)
    prompts = BATCH // group
    envs = reasonenv.make(
        env, num_envs=prompts * group, group_size=group, split=split, **(options or {})
    )
    try:
        num_problems = min(num_problems, len(envs.problems))
        rows: list[dict[str, Any]] = []
        bar = tqdm(total=num_problems * num_samples, desc=split, disable=not progress, leave=False)
        for part, repeat in _parts(num_problems, num_samples, prompts, group):
            rows += _rollout(envs, sampler, part, (seed, repeat, part[0]))
            bar.update(len(part) * group)
        bar.close()
    finally:
        envs.close()
    return _summarise(split, rows, num_samples)


def _parts(
    problems: int, samples: int, prompts: int, group: int
) -> Iterator[tuple[list[int], int]]:
    """Indices of problems, a batch at a time, and which of the repetitions it is."""
    if samples % group:
        raise ValueError(f"num_samples {samples} must be at most {BATCH} or a multiple of it")
    for repeat in range(samples // group):
        for start in range(0, problems, prompts):
            yield list(range(start, min(start + prompts, problems))), repeat


def _rollout(
    envs: Any, sampler: RolloutEngine, part: list[int], seed: tuple[int, ...]
) -> list[dict[str, Any]]:
    """Poses the problems of a part, samples, grades; a part may be shorter than the environment."""
    places = envs.num_envs // envs.group_size
    padded = (part * math.ceil(places / len(part)))[:places]
    observations, _ = envs.reset(options={"indices": padded})
    count = len(part) * envs.group_size
    asked = {name: texts[:count] for name, texts in observations.items()}
    responses = sampler.generate(sampler.encode(asked), seed, envs.submit)
    _, _, _, _, infos = envs.step((*responses.texts, *[""] * (envs.num_envs - count)))
    return [
        {
            "id": str(infos["problem_id"][i]),
            "response": responses.texts[i],
            "answer": infos["answer"][i],
            "reference": infos["reference"][i],
            "correct": bool(infos["accuracy"][i]),
            "status": str(infos["status"][i]),
            "length": int(responses.lengths[i]),
            "finished": bool(responses.finished[i]),
            "kind": _kind(infos["metadata"][i]),
        }
        for i in range(count)
    ]


def _kind(metadata: Any) -> str:
    """What the environment tells its problems apart by: the first word of their metadata."""
    return next((value for value in metadata.values() if isinstance(value, str)), "all")


def _summarise(split: str, rows: list[dict[str, Any]], num_samples: int) -> Evaluation:
    by_problem: dict[str, list[bool]] = {}
    by_kind: dict[str, list[bool]] = {}
    for row in rows:
        by_problem.setdefault(row["id"], []).append(row["correct"])
        by_kind.setdefault(row["kind"], []).append(row["correct"])
    means = np.array([np.mean(correct) for correct in by_problem.values()])
    spread = float(means.std(ddof=1)) if len(means) > 1 else math.nan
    return Evaluation(
        split=split,
        accuracy=float(means.mean()),
        standard_error=spread / math.sqrt(len(means)),
        num_problems=len(means),
        num_samples=num_samples,
        length_mean=float(np.mean([row["length"] for row in rows])),
        truncated=float(np.mean([not row["finished"] for row in rows])),
        by={kind: float(np.mean(correct)) for kind, correct in sorted(by_kind.items())},
        rows=tuple(rows),
    )
