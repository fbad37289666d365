"""Evaluation of a sampler: responses to the problems of an environment, graded batch by batch."""

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

import reasonenv
from agents.cli.settings import environment_options
from agents.engines import (
    ON_ALL_RANKS,
    RolloutEngine,
    TrainEngine,
    all_gather_object,
    error_on_all_ranks,
    ranks,
)
from agents.episodes import Episodes
from agents.errors import PromptLengthError, typed_errors
from agents.evaluate.statistics import (
    LEFT_OUT,
    Evaluation,
    Row,
    correct_by,
    fault_lines,
    scored_rows,
)
from reasonenv.console import print_line
from reasonenv.datasets import INVALID, distinct_ids, listed
from reasonenv.entry_points import invalid_rows
from reasonenv.environment import LONGEST_SPLIT, NUM_GENERATED
from reasonenv.errors import DataError
from reasonenv.problem import Problems
from reasonenv.registration import find
from reasonenv.scoring import over_problems, standard_error

BATCH = 256
"""Default number of responses sampled and graded at a time."""


@dataclass(frozen=True, kw_only=True)
class EvaluationTask:
    """Problems of one environment, and the number of responses to each."""

    env: str = "Figures-v2"
    split: str | None = None
    """None for its `evaluation_split`."""
    env_options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the environment as JSON."""
    data: str | None = None
    num_problems: int | None = None
    """The first ones of the split; None for all, or 500 of a generated split."""
    num_samples: int = 1
    """Responses to each problem."""
    batch_size: int = BATCH
    """Responses sampled at a time; rounded down to whole groups of samples of a problem."""
    seed: int = 0
    """Of the responses."""


class Evaluator:
    """The environment of an evaluation task, and its responses in batches.

    `num_left_out` problems have no reference answer and are excluded, as are those that cannot be
    read: no model could solve them. One whose prompt is too long for the model counts as wrong.

    The batches are a function of the task alone, and each has its own sampling seed: an evaluation
    that is interrupted and resumed at a later batch gives the same responses.
    """

    def __init__(self, task: EvaluationTask) -> None:
        """Makes the environment of the task; raises ValueError where it cannot be made."""
        self.task = task
        options: dict[str, Any] = environment_options(task.env_options, task.data)
        self.split = task.split or find(task.env).evaluation_split(options)
        options["split"] = self.split
        if options.get("without", find(task.env).without) == INVALID:  # which would not count them
            options["without"] = ()
        sizes = range(min(task.num_samples, task.batch_size), 0, -1)
        self._group_size = next(size for size in sizes if task.num_samples % size == 0)
        # At most as many as there are problems: the environment fills all of its places.
        most = task.num_problems or task.batch_size
        self._num_places = min(task.batch_size // self._group_size, most)
        faults = invalid_rows(task.env, options)  # errors in training, left out of an evaluation
        self.num_left_out = len(faults)
        lines = [f"left out: {line}" for line in listed([fault.line for fault in faults])]
        note = "" if task.split else find(task.env).training_note(self.split)
        for line in [*lines, note] if ranks()[0] == 0 else ():
            _say_once(line)
        if faults:
            options["without"] = [*options.get("without", ()), *(fault.id for fault in faults)]
        self._envs = reasonenv.make(
            task.env,
            num_envs=self._num_places * self._group_size,
            group_size=self._group_size,
            **options,
        )
        size = len(self._envs.problems)
        is_generated = size > LONGEST_SPLIT
        limit = task.num_problems or (NUM_GENERATED if is_generated else size)
        self.num_problems = min(limit, size)
        indices = list(range(self.num_problems))
        self._batches = [
            (indices[first : first + self._num_places], repeat)
            for repeat in range(task.num_samples // self._group_size)
            for first in indices[:: self._num_places]
        ]
        """Indices of the problems of each batch, and the number of the repetition."""
        self.batch_sizes = [len(indices) * self._group_size for indices, _ in self._batches]
        """Responses of each batch."""
        if not is_generated:
            distinct_ids(self._envs.problems, self.num_problems)
        self._split_size = None if is_generated else size + self.num_left_out
        self.on_response: Callable[[], None] = lambda: None
        """Called when a response is complete."""
        self._engine: TrainEngine | None = None

    @property
    def problems(self) -> Problems:
        """Those of the split, also beyond the ones that are posed."""
        return self._envs.problems

    def rows(self, sampler: RolloutEngine, start: int = 0, stride: int = 1) -> Iterator[list[Row]]:
        """Graded responses of batch `start` and of every `stride`-th batch after it."""
        for indices, repeat in self._batches[start::stride]:
            yield self._batch(sampler, indices, repeat)

    def evaluation(self, rows: Sequence[Row]) -> Evaluation:
        """Accuracy and lengths of the responses of all batches.

        Raises:
            DataError: No problem could be loaded.
        """
        scored = scored_rows(rows)
        if not scored:
            raise DataError(f"{self.task.env}: no problem can be loaded: {rows[0]['fault']}")
        means = np.array([np.mean(correct) for correct in correct_by(scored, "id").values()])
        clusters = list({row["id"]: row.get("cluster") or (row["id"],) for row in scored}.values())
        by_kind = sorted(correct_by(scored, "kind").items())
        played = [row for row in scored if "calls" in row]
        by_calls = sorted(correct_by(played, "kind", "calls").items())
        return Evaluation(
            split=self.split,
            accuracy=float(means.mean()),
            standard_error=standard_error(means, clusters),
            interval=over_problems(means, clusters),
            num_problems=len(means),
            num_left_out=self.num_left_out + len({row["id"] for row in rows}) - len(means),
            split_size=self._split_size,
            num_samples=1 + max(row["sample"] for row in rows),
            length_mean=float(np.mean([row["length"] for row in scored])),
            truncated=float(np.mean([not row["finished"] for row in scored])),
            by={kind: float(np.mean(correct)) for kind, correct in by_kind},
            rows=tuple(rows),
            calls={kind: float(np.mean(calls)) for kind, calls in by_calls},
        )

    def take_turns(self, engine: TrainEngine | None) -> None:
        """Has ranks take the turns of episodes together, since sampling may be collective."""
        self._engine = engine if self._envs.tools is not None else None

    def close(self) -> None:
        """Ends the grading processes."""
        self._envs.close()

    def _batch(self, sampler: RolloutEngine, indices: list[int], repeat: int) -> list[Row]:
        """Rows of some problems; one that cannot be posed does not affect the others."""
        seed = (self.task.seed, repeat, indices[0])
        try:
            groups = self._rollout(sampler, indices, seed)
        except (DataError, PromptLengthError) as error:
            if ON_ALL_RANKS in getattr(error, "__notes__", ()):
                raise
            faults = {i: row for i in indices if (row := self._fault(sampler, i))}
            valid = [i for i in indices if i not in faults]
            # Ranks sample together: one without a problem samples another, and discards it.
            others = (i for i in range(self.num_problems) if not self._fault(sampler, i))
            valid = valid or list(islice(others, 1))
            if not faults or (isinstance(error, PromptLengthError) and not valid):
                raise
            groups = self._rollout(sampler, valid, seed) if valid else {}
            groups |= {i: [row] * self._group_size for i, row in faults.items()}
        first = repeat * self._group_size
        return [
            {"id": row.pop("id"), "sample": first + number, **row}
            for index in indices
            for number, row in enumerate(map(dict, groups[index]))
        ]

    def _rollout(
        self, sampler: RolloutEngine, indices: list[int], seed: tuple[int, ...]
    ) -> dict[int, list[Row]]:
        """Rows of each problem, by its index; the environment is padded where they are too few."""
        padded = (indices * math.ceil(self._num_places / len(indices)))[: self._num_places]
        observations, _ = self._envs.reset(options={"indices": padded})
        count = len(indices) * self._group_size
        prompts = {name: values[:count] for name, values in observations.items()}
        with typed_errors("sampling"):
            encoded = sampler.encode(prompts)
        episodes = Episodes(self._envs, sampler, encoded, seed, self._engine)
        while not episodes.is_over:
            with error_on_all_ranks(self._engine, "a turn"):
                with typed_errors("sampling"):
                    actions = episodes.respond(self._submit)
                episodes.step(actions)
        responses, infos = episodes.responses(), episodes.infos
        rows = [
            {
                "id": str(infos["problem_id"][i]),
                "response": responses.texts[i],
                "answer": infos["answer"][i],
                "reference": infos["reference"][i],
                "correct": bool(infos["accuracy"][i]),
                "status": str(infos["status"][i]),
                "length": int(responses.sizes[i]),
                "finished": bool(responses.finished[i]),
                **{name: int(values[i]) for name, values in episodes.counts.items()},
                **self._labels(infos["metadata"][i]),
            }
            for i in range(count)
        ]
        starts = range(0, count, self._group_size)
        return {k: rows[i : i + self._group_size] for k, i in zip(indices, starts, strict=True)}

    def _submit(self, index: int, response: str) -> None:
        self._envs.submit(index, response)
        self.on_response()

    def _fault(self, sampler: RolloutEngine, index: int) -> Row | None:
        """Row in place of a response to a problem that cannot be posed, with the reason."""
        row = {"response": "", "answer": None, "correct": False, "length": 0, "finished": True}
        try:
            problem = self._envs.problems[index]
        except DataError as error:
            names = dict.fromkeys(("status", "kind"), LEFT_OUT)
            return {"id": f"row {index}", "reference": None, **row, **names, "fault": str(error)}
        system, question = self._envs.instruction.ask(problem)
        try:
            sampler.encode({"system": [system], "question": [question], "images": [problem.images]})
        except PromptLengthError as error:
            row |= {"status": "no_answer", "fault": f"problem {problem.id!r}: {error}"}
            row |= self._labels(problem.metadata)
            return {"id": problem.id, "reference": problem.answer, **row}
        return None

    def _labels(self, metadata: Mapping[str, Any]) -> Row:
        """Kind and cluster of a problem; its kind is the first text of its metadata but its URL."""
        texts = (x for name, x in metadata.items() if isinstance(x, str) and name != "url")
        return {"kind": next(texts, "all"), "cluster": find(self.task.env).cluster_of(metadata)}


def evaluate(
    sampler: RolloutEngine,
    task: EvaluationTask,
    engine: TrainEngine | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Evaluation:
    """The accuracy of `sampler` on the first problems of a split, in the split's own order.

    Args:
        sampler: Of this rank.
        task: Equal on all ranks.
        engine: Of this rank, where ranks share the batches: every rank calls then, and all get the
            result of a single process. None to evaluate in this process alone.
        progress: Called with the number of responses so far, from 0 on, and of all.

    Raises:
        ValueError: In one line, when the environment cannot be made or a number does not fit.
    """
    rank, num_ranks = (engine.rank, engine.num_ranks) if engine else (0, 1)
    with closing(Evaluator(task)) as evaluator:
        total, count = sum(evaluator.batch_sizes), len(evaluator.batch_sizes)
        progress(0, total)
        evaluator.take_turns(engine)
        counts = itertools.count(num_ranks, num_ranks)
        evaluator.on_response = lambda: progress(min(next(counts), total), total)
        with error_on_all_ranks(engine, "the evaluation"):
            batches = list(evaluator.rows(sampler, rank, num_ranks))
            # Sampling may be collective: a rank with one batch less repeats the last one.
            if len(batches) < math.ceil(count / num_ranks):
                next(evaluator.rows(sampler, count - 1))
        numbers = range(rank, count, num_ranks)
        numbered = all_gather_object(list(zip(numbers, batches, strict=True)), engine)
        rows = [row for _, rows in sorted(numbered, key=itemgetter(0)) for row in rows]
        for line in fault_lines(rows) if rank == 0 else ():
            _say_once(line)
        return evaluator.evaluation(rows)


@cache
def _say_once(line: str) -> None:
    """Prints a line, if any, to standard error, once however often a run is evaluated."""
    if line:
        print_line(line, sys.stderr)
