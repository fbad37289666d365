"""Problems of an environment, answered by a sampler and graded, a batch at a time."""

import importlib
import math
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import islice
from operator import itemgetter
from typing import Any

import reasonenv
from agents.cli.settings import environment_options
from agents.engines import RolloutEngine, TrainEngine
from agents.engines.build import ranks
from agents.evaluation.summary import LEFT_OUT, Evaluation, Row, summarise
from agents.training.distributed import all_gather_object
from reasonenv.datasets.selection import held_out
from reasonenv.entry_points import HELD_OUT, all_problems, evaluation_split
from reasonenv.registration import find

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
    """None for its `evaluation_split`."""
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


class Sitting:
    """An exam made ready: its environment, and the batches in which it is answered.

    `num_left_out` problems have no answer, and are no part of it.

    The batches are a function of the exam alone, and each is sampled from a seed of its own: a
    sitting that is broken off and goes on at a later batch gives the same responses.
    """

    def __init__(self, exam: Exam) -> None:
        """Args: what is asked. Raises ValueError when the environment cannot be made."""
        _check(exam)
        self.exam = exam
        self.split = exam.split or evaluation_split(exam.env)
        self._group = _largest_divisor(exam.num_samples, exam.batch_size)
        # No more places than problems: an environment poses as many as it has places.
        self._places = min(exam.batch_size // self._group, exam.num_problems or exam.batch_size)
        options: dict[str, Any] = environment_options(exam.env_options, exam.data)
        options["split"] = self.split
        faults = _faults(exam, self.split)  # they stop training, but no evaluation of the others
        self.num_left_out = len(faults)
        if faults:
            if ranks()[0] == 0:
                for line in faults.values():
                    _say_once(f"left out: {line}")
            options["without"] = [*options.get("without", ()), *faults]
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

    def ask(self, sampler: RolloutEngine, start: int = 0, every: int = 1) -> Iterator[list[Row]]:
        """The responses to a batch with their verdicts: to batch `start`, and `every` so many."""
        for part, repeat in list(self._parts())[start::every]:
            yield self._batch(sampler, part, repeat)

    def close(self) -> None:
        """Ends the processes that grade."""
        self._envs.close()

    def _parts(self) -> Iterator[tuple[list[int], int]]:
        """Problems of each batch by their index, and which of the repetitions it is."""
        for repeat in range(self.exam.num_samples // self._group):
            for first in range(0, self.num_problems, self._places):
                stop = min(first + self._places, self.num_problems)
                yield list(range(first, stop)), repeat

    def _batch(self, sampler: RolloutEngine, part: list[int], repeat: int) -> list[Row]:
        """Rows of a part of the problems; one that cannot be posed does not stop the others."""
        seed = (self.exam.seed, repeat, part[0])
        try:
            answered = self._rollout(sampler, part, seed)
        except ValueError:
            faults = {index: fault for index in part if (fault := self._fault(index))}
            if not faults:
                raise
            sound = [index for index in part if index not in faults] or self._another()
            answered = self._rollout(sampler, sound, seed) if sound else {}
            answered |= {
                index: [_left_out(index, fault)] * self._group for index, fault in faults.items()
            }
        first = repeat * self._group
        return [
            {"id": row.pop("id"), "sample": first + number, **row}
            for index in part
            for number, row in enumerate(map(dict, answered[index]))
        ]

    def _rollout(
        self, sampler: RolloutEngine, part: list[int], seed: tuple[int, ...]
    ) -> dict[int, list[Row]]:
        """Rows of problems that can be posed; they may be fewer than the environment's places."""
        padded = (part * math.ceil(self._places / len(part)))[: self._places]
        observations, _ = self._envs.reset(options={"indices": padded})
        count = len(part) * self._group
        asked = {name: texts[:count] for name, texts in observations.items()}
        responses = sampler.generate(sampler.encode(asked), seed, self._envs.submit)
        unasked = [""] * (self._envs.num_envs - count)
        _, _, _, _, infos = self._envs.step((*responses.texts, *unasked))
        rows = [
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
        groups = range(0, count, self._group)
        return {k: rows[i : i + self._group] for k, i in zip(part, groups, strict=True)}

    def _another(self) -> list[int]:
        """A problem to ask where none of a batch can be posed, for ranks that sample together.

        Its answer is no part of the exam. Empty where no problem of the exam can be posed.
        """
        sound = (index for index in range(self.num_problems) if not self._fault(index))
        return list(islice(sound, 1))

    def _fault(self, index: int) -> str:
        """Why a problem cannot be posed; empty when it can."""
        try:
            self._envs.problems[index]
        except ValueError as error:
            return str(error)
        return ""


def evaluate(sampler: RolloutEngine, exam: Exam, engine: TrainEngine | None = None) -> Evaluation:
    """The accuracy of `sampler` on the first problems of a split, in the split's own order.

    Args:
        sampler: Of this rank.
        exam: What is asked, the same on all ranks.
        engine: Of this rank, where ranks share the batches: every rank calls then, and is told
            what one would have found. None where this process asks alone.

    Raises:
        ValueError: In one line, when the environment cannot be made or a number does not fit.
    """
    with closing(Sitting(exam)) as sitting:
        if engine is None:
            rows = [row for batch in sitting.ask(sampler) for row in batch]
        else:
            rows = _shared(sitting, sampler, engine)
        return summarise(exam.env, sitting.split, rows, sitting.num_left_out)


def _shared(sitting: Sitting, sampler: RolloutEngine, engine: TrainEngine) -> list[Row]:
    """Rows of all batches, each of which one rank has asked.

    Ranks may have to sample together, so each asks as often: the last batch once more where a rank
    has one less.
    """
    count, rank, num_ranks = len(sitting.sizes()), engine.rank, engine.num_ranks
    mine = list(sitting.ask(sampler, rank, num_ranks))
    if len(mine) < math.ceil(count / num_ranks):
        next(sitting.ask(sampler, count - 1))
    numbered = all_gather_object(
        list(zip(range(rank, count, num_ranks), mine, strict=True)), engine
    )
    return [row for _, rows in sorted(numbered, key=itemgetter(0)) for row in rows]


def _faults(exam: Exam, split: str) -> dict[str, str]:
    """What is wrong with the rows of a data set that are no problems, by id."""
    if not hasattr(importlib.import_module(find(exam.env).module), "SOURCE"):
        return {}
    options = environment_options(exam.env_options, exam.data)
    problems: Any = all_problems(
        exam.env, None if split == HELD_OUT else split, options.get("data")
    )
    known, holdout = options.get("without", ()), options.get("holdout")
    is_asked = None if holdout is None else held_out(holdout, split == HELD_OUT)
    return {
        fault.id: fault.line
        for fault in problems.faults().values()
        if fault.id not in known and (is_asked is None or is_asked(fault.id))
    }


@cache
def _say_once(line: str) -> None:
    """Shows a line on standard error, however often a run is evaluated."""
    print(line, file=sys.stderr)


def _left_out(index: int, fault: str) -> Row:
    """Stands for a response to a problem that could not be posed."""
    none = {"response": "", "answer": None, "reference": None, "correct": False}
    rest = {"length": 0, "finished": True, "kind": LEFT_OUT, "fault": fault}
    return {"id": f"row {index}", **none, "status": LEFT_OUT, **rest}


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
