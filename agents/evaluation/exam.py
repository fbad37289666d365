"""Problems of an environment, answered by a sampler and graded, a batch at a time."""

import importlib
import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import reasonenv
from agents.engines import RolloutEngine
from agents.settings import environment_options
from reasonenv.registration import find

Row = dict[str, Any]
"""A response: id and sample, response, answer, reference, correct, status, length, ..."""
BATCH = 256
"""Responses that are sampled and graded at a time unless something else is said."""
DRAWN = 100_000
"""A longer split is drawn by program and has no end worth reaching."""
OF_DRAWN = 500
"""Problems of such a split that are posed unless something else is said."""


@dataclass(frozen=True, kw_only=True)
class Exam:
    """Problems of one environment, and how often each is answered."""

    env: str = "Figures-v0"
    split: str | None = None
    """None for the environment's own; see `own_split`."""
    env_options: str = "{}"
    """Further arguments of the environment as JSON."""
    data: str | None = None
    num_problems: int | None = None
    """The first ones of the split; None for all, of a split drawn by program 500."""
    num_samples: int = 1
    """Responses to each problem."""
    batch_size: int = BATCH
    """Responses sampled at a time, or as many as whole groups of a problem's samples take."""
    seed: int = 0
    """Of the responses."""


@dataclass(frozen=True)
class Evaluation:
    """How many of an exam's problems were solved."""

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
    rows: tuple[Row, ...]
    """One for each response, those to one problem consecutive unless they fill several batches."""

    def summary(self) -> dict[str, Any]:
        """Everything but the responses."""
        return {name: value for name, value in asdict(self).items() if name != "rows"}

    def __str__(self) -> str:
        return f"{self.split} accuracy {self.accuracy:.3f} ± {self.standard_error:.3f}"


class Sitting:
    """An exam made ready: its environment, and the batches in which it is answered.

    The batches are a function of the exam alone, and each is sampled from a seed of its own: a
    sitting that is broken off and goes on at a later batch gives the same responses.
    """

    def __init__(self, exam: Exam) -> None:
        """Args: what is asked. Raises ValueError when the environment cannot be made."""
        _check(exam)
        self.exam = exam
        self.split = exam.split or own_split(exam.env)
        self._group = _largest_divisor(exam.num_samples, exam.batch_size)
        # No more places than problems: an environment poses as many as it has places.
        self._places = min(exam.batch_size // self._group, exam.num_problems or exam.batch_size)
        options: dict[str, Any] = environment_options(exam.env_options, exam.data)
        options["split"] = self.split
        num_envs = self._places * self._group
        self._envs = reasonenv.make(exam.env, num_envs=num_envs, group_size=self._group, **options)
        there = len(self._envs.problems)
        wanted = exam.num_problems or (there if there <= DRAWN else OF_DRAWN)
        self.num_problems = min(wanted, there)

    @property
    def num_responses(self) -> int:
        """Of the whole exam."""
        return self.num_problems * self.exam.num_samples

    def sizes(self) -> list[int]:
        """Responses of each batch."""
        return [len(part) * self._group for part, _ in self._parts()]

    def ask(self, sampler: RolloutEngine, start: int = 0) -> Iterator[list[Row]]:
        """The responses to each batch with their verdicts, from batch `start` on."""
        for part, repeat in list(self._parts())[start:]:
            yield self._rollout(sampler, part, repeat)

    def close(self) -> None:
        """Ends the processes that grade."""
        self._envs.close()

    def _parts(self) -> Iterator[tuple[list[int], int]]:
        """Problems of each batch by their index, and which of the repetitions it is."""
        for repeat in range(self.exam.num_samples // self._group):
            for first in range(0, self.num_problems, self._places):
                stop = min(first + self._places, self.num_problems)
                yield list(range(first, stop)), repeat

    def _rollout(self, sampler: RolloutEngine, part: list[int], repeat: int) -> list[Row]:
        """Poses the problems of a part, which may be shorter than the environment."""
        padded = (part * math.ceil(self._places / len(part)))[: self._places]
        observations, _ = self._envs.reset(options={"indices": padded})
        count = len(part) * self._group
        asked = {name: texts[:count] for name, texts in observations.items()}
        seed = (self.exam.seed, repeat, part[0])
        responses = sampler.generate(sampler.encode(asked), seed, self._envs.submit)
        unasked = [""] * (self._envs.num_envs - count)
        _, _, _, _, infos = self._envs.step((*responses.texts, *unasked))
        return [
            {
                "id": str(infos["problem_id"][i]),
                "sample": repeat * self._group + i % self._group,
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


def evaluate(sampler: RolloutEngine, exam: Exam) -> Evaluation:
    """The accuracy of `sampler` on the first problems of a split, in the split's own order.

    Raises:
        ValueError: In one line, when the environment cannot be made or a number does not fit.
    """
    with closing(Sitting(exam)) as sitting:
        return summarise(sitting, [row for rows in sitting.ask(sampler) for row in rows])


def summarise(sitting: Sitting, rows: Sequence[Row]) -> Evaluation:
    """How many problems were solved, by the responses of all batches."""
    by_kind: dict[str, list[bool]] = {}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row["correct"])
    means = np.array([np.mean(correct) for correct in by_problem(rows).values()])
    spread = float(means.std(ddof=1)) if len(means) > 1 else math.nan
    return Evaluation(
        split=sitting.split,
        accuracy=float(means.mean()),
        standard_error=spread / math.sqrt(len(means)),
        num_problems=len(means),
        num_samples=sitting.exam.num_samples,
        length_mean=float(np.mean([row["length"] for row in rows])),
        truncated=float(np.mean([not row["finished"] for row in rows])),
        by={kind: float(np.mean(correct)) for kind, correct in sorted(by_kind.items())},
        rows=tuple(rows),
    )


def by_problem(rows: Sequence[Row]) -> dict[str, list[bool]]:
    """Whether each sample is right, by the problem's id."""
    found: dict[str, list[bool]] = {}
    for row in rows:
        found.setdefault(row["id"], []).append(row["correct"])
    return found


def own_split(env: str) -> str:
    """The split that an environment is evaluated on: its first that is not for training."""
    splits = getattr(importlib.import_module(find(env).module), "SPLITS", ("test",))
    return next((split for split in splits if split != "train"), splits[0])


def _check(exam: Exam) -> None:
    for name, flag in (("num_problems", "num-problems"), ("num_samples", "samples")):
        value = getattr(exam, name)
        if value is not None and value < 1:
            raise ValueError(f"--{flag} is {value}: give at least 1")
    if exam.seed < 0:
        raise ValueError(f"--seed is {exam.seed}: give at least 0")


def _largest_divisor(number: int, limit: int) -> int:
    return next(k for k in range(min(number, limit), 0, -1) if number % k == 0)


def _kind(metadata: Any) -> str:
    """What the environment tells its problems apart by: the first word of their metadata."""
    return next((value for value in metadata.values() if isinstance(value, str)), "all")
